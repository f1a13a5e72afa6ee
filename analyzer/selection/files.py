"""Result files of load generators as measured repetitions, without a warehouse.

They are read and refused by the same rules as in ``gauntlet ingest bench``.
"""

import glob
import gzip
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from gauntlet.analyzer.measured import Measured, Place, Side, Statistic
from gauntlet.analyzer.selection.selector import Selector
from gauntlet.analyzer.selection.telemetry import Look, Window, judge_window
from gauntlet.core.clock import utc_now
from gauntlet.core.errors import UsageError
from gauntlet.warehouse.results.bench_report import BenchReport, TurnMark
from gauntlet.warehouse.results.bench_rows import BenchRows, bench_rows
from gauntlet.warehouse.results.identity import Identity, UnreadableResultError

SUFFIXES = (".json", ".json.gz")
# Turns of a block that send the same prompts.
_TURNS_OF_A_PAIR = 2


def load_files(selector: Selector, side: Side, looks: Sequence[Look] | None) -> list[Measured]:
    """Read the files that a selector names; a file given twice counts once.

    Raises UsageError where nothing is there and UnreadableResultError for a file of no known kind.
    """
    now = utc_now()
    identity = Identity(
        recipe=selector.filters.get("recipe", ""),
        accelerator=selector.filters.get("accelerator"),
    )
    found: dict[str, Measured] = {}
    for path in paths_of(selector.value, selector.text):
        rows = bench_rows(_plain(path), file=str(path), identity=identity, zone=UTC, now=now)
        measured = _measured(rows, path, side, selector.gpus)
        if looks is not None and measured.status == "valid":
            measured = _judged(measured, rows, looks)
        found[measured.repetition_id] = measured
    return list(found.values())


def paths_of(value: str, text: str) -> list[Path]:
    """Files of a comma-separated list of files, folders (their result files) and globs.

    Raises UsageError where one of them names nothing.
    """
    found: list[Path] = []
    for name in [value] if Path(value).exists() else value.split(","):
        path = Path(name.strip())
        if path.is_dir():
            some = [each for each in path.iterdir() if each.name.endswith(SUFFIXES)]
        elif path.exists():
            some = [path]
        else:
            some = [Path(each) for each in glob.glob(str(path), recursive=True)]  # noqa: PTH207
        if not some:
            what = (
                f"no file that ends in {' or '.join(SUFFIXES)}" if path.is_dir() else "no such file"
            )
            hint = "a run of the warehouse is written run:ID, see docs/reference/selectors.md"
            raise UsageError(f"{text!r}: {path}: {what}", hint=hint)
        found += sorted(some)
    return list(dict.fromkeys(found))


def _plain(path: Path) -> bytes:
    try:
        data = path.read_bytes()
        return gzip.decompress(data) if path.suffix == ".gz" else data
    except (OSError, EOFError) as error:
        raise UnreadableResultError(f"{path}: {error}", hint="was the file cut off?") from error


def _measured(rows: BenchRows, path: Path, side: Side, gpus: int | None) -> Measured:
    row, report = rows.repetition, rows.report
    session, pair, position = _turn(report.turn, path)
    whole = [metric for metric in rows.metrics if metric.window == "full"]
    return Measured(
        repetition_id=row.repetition_id,
        place=Place(
            recipe=row.recipe,
            workload=row.workload,
            point=row.point,
            model=row.model,
            accelerator=row.accelerator or "",
        ),
        side=side,
        session=session,
        pair=pair,
        position=position,
        status=row.status,
        reasons=row.reasons,
        config_fp=row.config_fp,
        settings={**row.settings, **_told(report, gpus), "file": str(path)},
        started_at=row.started_at.isoformat(),
        completed=row.completed,
        failed=row.failed,
        values={statistic_of(each.metric, each.statistic): each.value for each in whole},
    )


def statistic_of(metric: str, statistic: str) -> Statistic:
    """Name a statistic as our own client does: a rate over a whole run is its ``total``."""
    whole = metric.endswith("_per_s") and statistic == "mean"
    return Statistic(metric, "total" if whole else statistic)


def _turn(mark: TurnMark | None, path: Path) -> tuple[str, int, int]:
    """Session, pair and position; no session where files say nothing of turns.

    A block that was begun, cut and repeated is in a folder twice. Its files start with other words
    than ``blockN-``, and those words make another session of them.
    """
    if mark is None:
        return "", 0, 0
    session = str(path.parent)
    begin, found, _ = path.name.partition(f"-{mark.order}{mark.variant}-")
    if found and begin != f"block{mark.block}":
        session += f"/{begin}"
    return session, 2 * mark.block + mark.order // _TURNS_OF_A_PAIR, mark.order


def _told(report: BenchReport, gpus: int | None) -> dict[str, str]:
    told = {}
    if report.completed and report.input_tokens and report.output_tokens:
        told["input_tokens"] = f"{report.input_tokens / report.completed:.0f}"
        told["output_tokens"] = f"{report.output_tokens / report.completed:.0f}"
    if gpus is not None:
        told["gpus"] = str(gpus)
    if report.turn is not None:
        told["server"] = report.turn.variant
    return told


def _judged(measured: Measured, rows: BenchRows, looks: Sequence[Look]) -> Measured:
    row, report = rows.repetition, rows.report
    if report.started_at is None or report.duration_s is None:
        note = "telemetry: the file does not say when it was measured"
        return replace(measured, reasons=(*measured.reasons, note))
    window = Window(
        start=_seconds(row.started_at),
        end=_seconds(row.ended_at),
        server=report.turn.variant if report.turn else "",
        prompt_tokens=report.input_tokens,
    )
    said = judge_window(window, looks)
    if said.refused:
        return replace(measured, status="invalid", reasons=(*measured.reasons, *said.refused))
    return replace(measured, reasons=(*measured.reasons, *said.notes))


def _seconds(instant: datetime) -> float:
    return instant.timestamp()
