"""What a comparison of frontiers says: verdicts, and the points of a chart."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TypedDict

from gauntlet.analyzer.frontier.points import FrontierPoint
from gauntlet.analyzer.measured import Side
from gauntlet.analyzer.verdict import PlainVerdict, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownPoint:
    """One point of one side, the geometric mean of its ``n`` valid repetitions."""

    side: Side
    point: str
    interactivity: float
    throughput_per_gpu: float
    n: int
    on_frontier: bool
    dominated_by_other_side: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BandReport:
    """One sweep at one length of prompts and answers.

    ``per_gpu``: whether throughput is divided by GPUs; else it is the whole system's.
    """

    workload: str
    band: str
    per_gpu: bool
    points: tuple[ShownPoint, ...]
    repetitions: tuple[FrontierPoint, ...]
    verdicts: tuple[Verdict, ...]


class PlainBand(TypedDict):
    """A band as JSON."""

    workload: str
    band: str
    per_gpu: bool
    verdicts: list[PlainVerdict]
    points: list[dict[str, object]]
    repetitions: list[dict[str, object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontierReport:
    """All bands, in the order of their names."""

    bands: tuple[BandReport, ...]

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Verdicts of all bands."""
        return tuple(verdict for band in self.bands for verdict in band.verdicts)

    def plain(self) -> list[PlainBand]:
        """As JSON."""
        return [
            PlainBand(
                workload=band.workload,
                band=band.band,
                per_gpu=band.per_gpu,
                verdicts=[verdict.plain() for verdict in band.verdicts],
                points=[asdict(point) for point in band.points],
                repetitions=[_plain(point) for point in band.repetitions],
            )
            for band in self.bands
        ]

    def lines(self) -> list[str]:
        """As a table for people."""
        return [line for band in self.bands for line in (*_table(band), "")][:-1]


def _plain(point: FrontierPoint) -> dict[str, object]:
    return {**asdict(point), "unit": point.unit._asdict()}


def _table(band: BandReport) -> list[str]:
    unit = "tok/s/GPU" if band.per_gpu else "tok/s"
    rows = [("side", "point", "tok/s/user", unit, "n", "")]
    rows += [
        (
            point.side,
            point.point or "-",
            f"{point.interactivity:.1f}",
            f"{point.throughput_per_gpu:.1f}",
            str(point.n),
            _remarks(point),
        )
        for point in band.points
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [f"{band.workload}, {band.band or 'lengths not known'} (input x output tokens)"]
    lines += [_row(row, widths) for row in rows] if band.points else []
    return [*lines, *(f"  {v.outcome:14}  {v.subject}  {v.reason}" for v in band.verdicts)]


def _row(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = [
        f"{cell:{'<' if column in (0, 1, 5) else '>'}{widths[column]}}"
        for column, cell in enumerate(row)
    ]
    return f"  {'  '.join(cells)}".rstrip()


def _remarks(point: ShownPoint) -> str:
    remarks = ["on the frontier" if point.on_frontier else "dominated by its own side"]
    if point.dominated_by_other_side:
        remarks.append("dominated by the other side")
    return ", ".join(remarks)
