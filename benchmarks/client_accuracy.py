"""How far from the truth is each load client, and what does it cost?

    python benchmarks/client_accuracy.py [--runs 5] [--streams 1 64 256 1000] [--open 256 1000]
        [--vllm-rs PATH] [--engine-venv DIR] [--aiperf-venv DIR] [--guidellm-venv DIR] [--json OUT]

A server whose timing is known (50 ms to the first of 64 tokens, 10 ms between tokens) has one core
to itself, each client in turn another. The truth is what the server did in that very run, by its
own stamps; errors are medians over the runs. Closed loops start all their streams at once, because
most clients know no other way; open loops send at equal gaps at the rate that keeps as many
streams in flight. A client that is not installed is named with the way to get it.

Needs gcc (or cc, clang) and this project's base dependencies. With two cores nothing else may run.
"""

import argparse
import json
import os
import platform
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import httpx

from gauntlet.harness.clients.catalog import NAMES, Places, clients_of
from gauntlet.harness.clients.compare import ClientRun, error_percent
from gauntlet.harness.clients.own import OwnClient
from gauntlet.harness.clients.port import ClientLoad, LoadClient
from gauntlet.harness.clients.run import run_client
from gauntlet.harness.clients.table import as_data
from gauntlet.harness.clients.tokenizer import write_word_tokenizer
from gauntlet.harness.load.known_timing import KnownTiming

TTFT_MS, ITL_MS = 50.0, 10.0
LEAST_REQUESTS = 12
# Above this, at up to LATE_STREAMS streams, the server was no reference in that run.
LATE_MS, LATE_STREAMS = 1.0, 256
POLL_S = 0.002
COLUMNS = (
    ("TTFT %", 8, 2), ("p99 %", 8, 2), ("ITL p99 %", 10, 2), ("chunks/s", 10, 0),
    ("us/chunk", 9, 1), ("RSS MiB", 8, 0), ("start s", 8, 2),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """A row of the table: a client and the cores it may use."""

    label: str
    client: LoadClient
    cores: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """One run of a single request: seconds to it, and CPU seconds of all that is no load."""

    seconds: float | None
    cpu_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One measured run."""

    label: str
    streams: int
    kind: str
    run: ClientRun

    @property
    def late(self) -> bool:
        """Whether the server itself was late, where it has no reason to be."""
        truth = self.run.truth
        if truth is None or truth.late_ms is None or self.streams > LATE_STREAMS:
            return False
        return truth.late_ms["p99"] > LATE_MS


def load_of(url: str, tokenizer: Path, options: argparse.Namespace, **how: object) -> ClientLoad:
    return ClientLoad(
        base_url=url,
        model="known-timing",
        input_tokens=32,
        output_tokens=options.tokens,
        tokenizer=tokenizer,
        stagger_s=options.stagger,
        **how,
    )


def shape(kind: str, streams: int, options: argparse.Namespace) -> dict[str, object]:
    """Closed with ``streams``, or open at the rate that keeps as many in flight."""
    count = max(LEAST_REQUESTS, options.waves * streams)
    if kind == "closed":
        return {"concurrency": streams, "requests": count}
    seconds = (TTFT_MS + ITL_MS * (options.tokens - 1)) / 1e3
    return {"rate": streams / seconds, "requests": count}


def first_request(url: str, ended: threading.Event, found: list[float]) -> None:
    """Note when the server gets its first request."""
    with httpx.Client(base_url=url, timeout=5.0, trust_env=False) as client:
        while not ended.wait(POLL_S):
            if client.get("/stats").json()["requests"]:
                found.append(time.monotonic())
                return


def measure_start(
    contender: Contender, server: KnownTiming, load: ClientLoad, folder: Path, limit_s: float
) -> Start:
    """Run one request; the polling for it is no burden on a server that does nothing else."""
    server.reset()
    ended, found = threading.Event(), []
    watcher = threading.Thread(target=first_request, args=(server.base_url, ended, found))
    watcher.start()
    began = time.monotonic()
    result = run_client(contender.client, load, folder, limit_s=limit_s, cores=contender.cores)
    ended.set()
    watcher.join()
    return Start(
        seconds=found[0] - began if found else None,
        cpu_s=result.usage.cpu_s if result.usage and result.status == "ok" else None,
    )


def measure(
    contender: Contender, server: KnownTiming, load: ClientLoad, folder: Path, limit_s: float
) -> ClientRun:
    server.reset()
    result = run_client(contender.client, load, folder, limit_s=limit_s, cores=contender.cores)
    return ClientRun(load=load, point=0, repetition=0, result=result, truth=server.truth())


def contenders(options: argparse.Namespace, allowed: list[int]) -> tuple[list[Contender], list]:
    """Installed clients as rows, and what is missing with the way to get it."""
    places = Places(
        engine_venv=options.engine_venv,
        vllm_rs=options.vllm_rs,
        aiperf_venv=options.aiperf_venv,
        guidellm_venv=options.guidellm_venv,
        workers=1,
    )
    core = (options.client_core,)
    rows, missing = [], []
    for client in clients_of((), places):
        if options.client and client.name not in options.client:
            continue
        if (how := client.available()) is not None:
            missing.append((client.name, how))
            continue
        rows.append(Contender(label=client.name, client=client, cores=core))
        spare = [c for c in allowed if c not in {options.server_core, options.client_core}]
        if client.name == "own" and spare:
            two = Contender(label="own, 2 workers", client=OwnClient(2), cores=(*core, spare[0]))
            rows.append(two)
    return rows, missing


def figures(samples: list[Sample], starts: list[Start]) -> list[float | None]:
    """The columns of one row; medians over its valid runs, None where nothing is known."""
    good = [sample.run for sample in samples if sample.run.result.status == "ok"]

    def middle(values: list[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return median(known) if known else None

    idle_s = [start.cpu_s for start in starts if start.cpu_s is not None]

    def cost_us(run: ClientRun) -> float | None:
        """CPU of a chunk; None where it is lost in what the starts differ among themselves."""
        if not idle_s:
            return None
        more = run.result.usage.cpu_s - median(idle_s)
        return 1e6 * more / run.truth.chunks if more > max(idle_s) - min(idle_s) else None

    return [
        middle([error_percent(run, "ttft_ms", "mean") for run in good]),
        middle([error_percent(run, "ttft_ms", "p99") for run in good]),
        middle([error_percent(run, "itl_ms", "p99") for run in good]),
        middle([run.truth.chunks / run.result.report.duration_s for run in good]),
        middle([cost_us(run) for run in good if run.result.usage is not None]),
        middle([run.result.usage.peak_rss_kib / 1024 for run in good if run.result.usage]),
        middle([start.seconds for start in starts]),
    ]


def alone(samples: list[Sample]) -> str:
    """What our own client cost while it loaded, before it judged the answers."""
    found = []
    for sample in samples:
        report, truth = sample.run.result.report, sample.run.truth
        if report is not None and truth is not None and "load_cpu_s" in report.settings:
            cpu = 1e6 * float(report.settings["load_cpu_s"]) / truth.chunks
            found.append((cpu, int(report.settings["load_rss_kib"]) / 1024))
    if not found:
        return ""
    cpu, rss = (median(values) for values in zip(*found, strict=True))
    return f" (loading alone {cpu:.1f} us, {rss:.0f} MiB)"


def note(samples: list[Sample]) -> str:
    """What is to be known of the runs behind a row."""
    texts = []
    bad = [sample.run.result for sample in samples if sample.run.result.status != "ok"]
    if bad:
        texts.append(f"invalid {len(bad)} of {len(samples)}: {bad[0].reasons[0]}")
    late = sum(sample.late for sample in samples)
    if late:
        texts.append(f"* server late in {late} of {len(samples)}")
    return "  ".join(texts)


def targets(kind: str, streams: int) -> str:
    mean, p99 = ("<=1", "<=5") if streams <= 256 else ("<=4", "<=20")
    itl = "<=5" if streams <= 256 else "-"
    # Chunks a second and their cost are those of a client with much to do. An open loop sends its
    # last request when a closed one is done, so its rate over six waves is a seventh lower.
    rate = ">=90000" if streams >= 1000 and kind == "closed" else "-"
    cost = "<=12" if streams >= 256 else "-"
    wanted = (mean, p99, itl, rate, cost, "<=150", "<=0.5")
    widths = (width for _, width, _ in COLUMNS)
    return f"{'wanted':16}" + "".join(f"{t:>{w}}" for t, w in zip(wanted, widths, strict=True))


def show(samples: list[Sample], starts: dict[str, list[Start]]) -> None:
    for kind, streams in dict.fromkeys((sample.kind, sample.streams) for sample in samples):
        here = [s for s in samples if (s.kind, s.streams) == (kind, streams)]
        print(f"\n{kind}, {streams} streams, {here[0].run.load.requests} requests")
        print(f"{'client':16}" + "".join(f"{name:>{width}}" for name, width, _ in COLUMNS))
        for label in dict.fromkeys(sample.label for sample in here):
            row = [sample for sample in here if sample.label == label]
            cells = [
                f"{'-' if value is None else f'{value:.{decimals}f}':>{width}}"
                for value, (_, width, decimals) in zip(
                    figures(row, starts[label]), COLUMNS, strict=True
                )
            ]
            print(f"{label:16}{''.join(cells)}  {note(row)}{alone(row)}".rstrip())
        print(targets(kind, streams))


def as_json(
    options: argparse.Namespace, samples: list[Sample], starts: dict[str, list[Start]]
) -> dict[str, object]:
    return {
        "machine": {
            "platform": platform.platform(),
            "cores": os.cpu_count(),
            "python": platform.python_version(),
        },
        "settings": {name: str(value) for name, value in vars(options).items()},
        "starts": {
            label: [{"seconds": each.seconds, "cpu_s": each.cpu_s} for each in found]
            for label, found in starts.items()
        },
        "runs": [
            {
                "label": sample.label,
                "kind": sample.kind,
                "streams": sample.streams,
                "server_late": sample.late,
                **next(as_data([sample.run])),
                "settings": dict(sample.run.result.report.settings)
                if sample.run.result.report
                else {},
            }
            for sample in samples
        ],
    }


def run_all(
    rows: list[Contender], options: argparse.Namespace, folder: Path
) -> tuple[list[Sample], dict[str, list[Start]]]:
    """Every row on every load, ``runs`` times, rows in turn."""
    tokenizer = write_word_tokenizer(folder / "words")
    loads = [("closed", n) for n in options.streams] + [("open", n) for n in options.open]
    samples: list[Sample] = []
    starts: dict[str, list[Start]] = {row.label: [] for row in rows}
    limit_s = options.time_limit
    with KnownTiming(
        workdir=folder,
        ttft_ms=TTFT_MS,
        itl_ms=ITL_MS,
        tokens=options.tokens,
        busy=True,
        core=options.server_core,
    ) as server:
        for number in range(options.runs):
            one = load_of(
                server.base_url, tokenizer, options, concurrency=1, requests=1, seed=number
            )
            for row in rows:
                starts[row.label].append(measure_start(row, server, one, folder / "one", limit_s))
            for kind, streams in loads:
                how = shape(kind, streams, options)
                load = load_of(server.base_url, tokenizer, options, seed=number, **how)
                for row in rows:
                    run = measure(row, server, load, folder / "run", limit_s)
                    sample = Sample(label=row.label, streams=streams, kind=kind, run=run)
                    samples.append(sample)
                    print(
                        f"run {number + 1}: {kind} {streams}: {row.label} {run.result.status}"
                        f" {'; '.join(run.result.reasons)}",
                        file=sys.stderr,
                    )
    return samples, starts


def main() -> None:
    allowed = sorted(os.sched_getaffinity(0))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--streams", type=int, nargs="*", default=[1, 64, 256, 1000])
    parser.add_argument("--open", type=int, nargs="*", default=[256, 1000])
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--waves", type=int, default=6, help="requests for each stream")
    parser.add_argument("--stagger", type=float, default=0.0, help="s, where a client can do it")
    parser.add_argument("--server-core", type=int, default=allowed[-1])
    parser.add_argument("--client-core", type=int, default=allowed[0])
    parser.add_argument("--time-limit", type=float, default=300.0, help="s for each run")
    parser.add_argument("--client", nargs="*", choices=NAMES, help="only these")
    for name in ("--vllm-rs", "--engine-venv", "--aiperf-venv", "--guidellm-venv"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--json", type=Path, help="all figures of all runs")
    options = parser.parse_args()
    rows, missing = contenders(options, allowed)
    with tempfile.TemporaryDirectory(prefix="client-accuracy-") as folder:
        samples, starts = run_all(rows, options, Path(folder))
    if options.server_core == options.client_core:
        print("server and client shared one core: these figures say little")
    versions = {sample.run.result.client: sample.run.result.version for sample in samples}
    print(", ".join(f"{name} {version}" for name, version in versions.items()), end="")
    print(f"; medians of {options.runs} runs; errors in % of what the server did")
    show(samples, starts)
    for name, how in missing:
        print(f"\n{name}: {how}")
    if options.json:
        options.json.write_text(json.dumps(as_json(options, samples, starts), indent=1))


if __name__ == "__main__":
    main()
