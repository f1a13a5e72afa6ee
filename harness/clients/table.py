"""Comparisons as text for people and as plain data for programs."""

from collections.abc import Iterator, Sequence
from statistics import median

from gauntlet.harness.clients.compare import (
    ClientRun,
    by_client,
    differences,
    error_percent,
    medians,
)

# Heading, width, decimals, metric, statistic.
_COLUMNS = (
    ("TTFT mean", 10, 2, "ttft_ms", "mean"),
    ("p50", 9, 2, "ttft_ms", "p50"),
    ("p99", 9, 2, "ttft_ms", "p99"),
    ("TPOT mean", 10, 3, "tpot_ms", "mean"),
    ("ITL p99", 8, 2, "itl_ms", "p99"),
    ("req/s", 9, 2, "requests_per_s", "mean"),
    ("tok/s", 9, 0, "output_tokens_per_s", "mean"),
)
_ERRORS = (
    ("mean %", 8, "ttft_ms", "mean"),
    ("p99 %", 8, "ttft_ms", "p99"),
    ("ITL p99 %", 10, "itl_ms", "p99"),
)
_NAME = 9


def render(runs: Sequence[ClientRun]) -> str:
    """One table for each load: medians over the valid repetitions, times in ms."""
    points = sorted({run.point for run in runs})
    return "\n\n".join(_point([run for run in runs if run.point == point]) for point in points)


def _point(runs: Sequence[ClientRun]) -> str:
    truth = any(run.truth is not None for run in runs)
    load = runs[0].load
    title = f"{load.label}, {load.requests} requests of {load.input_tokens} + "
    title += f"{load.output_tokens} tokens; times in ms"
    title += "; errors against what the server did" if truth else ""
    lines = [title, _heading(truth=truth)]
    lines += [_row(name, own, truth=truth) for name, own in by_client(runs).items()]
    return "\n".join([*lines, differences(runs)])


def _heading(*, truth: bool) -> str:
    cells = [f"{'client':{_NAME}}", *(f"{name:>{width}}" for name, width, *_ in _COLUMNS)]
    cells += [f"{name:>{width}}" for name, width, *_ in _ERRORS] if truth else []
    return "".join([*cells, f"{'CPU s':>8}", f"{'RSS MiB':>9}", "  status"])


def _row(name: str, runs: Sequence[ClientRun], *, truth: bool) -> str:
    cells = [f"{name:{_NAME}}"]
    for _, width, decimals, metric, statistic in _COLUMNS:
        cells.append(_cell(medians(runs, metric, statistic), width, decimals))
    for _, width, metric, statistic in _ERRORS if truth else ():
        found = [e for run in runs if (e := error_percent(run, metric, statistic)) is not None]
        cells.append(_cell(median(found) if found else None, width, 1))
    used = [run.result.usage for run in runs if run.result.usage is not None]
    cells.append(_cell(median(each.cpu_s for each in used) if used else None, 8, 2))
    cells.append(_cell(median(e.peak_rss_kib / 1024 for e in used) if used else None, 9, 0))
    return "".join([*cells, f"  {status_of(runs)}"])


def _cell(value: float | None, width: int, decimals: int) -> str:
    return f"{'-' if value is None else f'{value:.{decimals}f}':>{width}}"


def status_of(runs: Sequence[ClientRun]) -> str:
    """What became of a client's runs, with every reason once."""
    if all(run.result.status == "not installed" for run in runs):
        return runs[0].result.reasons[0]
    bad = [run.result for run in runs if run.result.status == "invalid"]
    if not bad:
        return "ok"
    reasons = dict.fromkeys(reason for result in bad for reason in result.reasons)
    which = "invalid" if len(bad) == len(runs) else f"invalid {len(bad)} of {len(runs)}"
    return f"{which}: {'; '.join(reasons)}"


def as_data(runs: Sequence[ClientRun]) -> Iterator[dict[str, object]]:
    """One plain object for each run."""
    for run in runs:
        result, load = run.result, run.load
        values = result.report.values if result.report else ()
        found = {(v.metric, v.statistic) for v in values if v.window == "full"}
        yield {
            "client": result.client,
            "version": result.version,
            "status": result.status,
            "reasons": list(result.reasons),
            "concurrency": load.concurrency,
            "rate": load.rate,
            "requests": load.requests,
            "input_tokens": load.input_tokens,
            "output_tokens": load.output_tokens,
            "seed": load.seed,
            "repetition": run.repetition,
            "completed": result.report.completed if result.report else None,
            "failed": result.report.failed if result.report else None,
            "duration_s": result.report.duration_s if result.report else None,
            "values": {
                f"{metric}.{statistic}": result.value(metric, statistic)
                for metric, statistic in sorted(found)
            },
            "cpu_s": result.usage.cpu_s if result.usage else None,
            "peak_rss_kib": result.usage.peak_rss_kib if result.usage else None,
            "seconds": result.seconds,
            "returncode": result.returncode,
            "argv": list(result.argv),
            "truth": _truth(run),
        }


def _truth(run: ClientRun) -> dict[str, object] | None:
    if run.truth is None:
        return None
    return {
        "requests": run.truth.requests,
        "chunks": run.truth.chunks,
        "ttft_ms": run.truth.ttft_ms,
        "itl_ms": run.truth.itl_ms,
        "late_ms": run.truth.late_ms,
    }
