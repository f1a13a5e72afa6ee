"""What a run says of each repetition: one plain object, for people and for programs."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace

from gauntlet.perf_eval.goals import Objective
from gauntlet.warehouse.rows.base import Row
from gauntlet.warehouse.rows.measurement import MetricRow, RepetitionRow

Metrics = dict[str, dict[str, float | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RepetitionReport:
    """One repetition as it is printed.

    ``metrics`` maps a metric to its statistics (units are in the names); ``steady`` are those of
    the window without ramp-up and drain. None: not measured. ``missed`` are the recipe's
    objectives that a valid repetition did not keep.
    """

    run_id: str
    repetition_id: str
    recipe: str
    workload: str
    point: str
    side: str
    repetition: int
    status: str
    reasons: tuple[str, ...]
    completed: int
    failed: int
    started_at: str
    seconds: float
    metrics: Metrics = field(default_factory=dict)
    steady: Metrics = field(default_factory=dict)
    missed: tuple[str, ...] = ()
    artifact: str | None = None
    resumed: bool = False

    def as_data(self) -> dict[str, object]:
        """Plain data for JSON."""
        return asdict(self)


def report_of(
    repetition: RepetitionRow, rows: Sequence[Row], objectives: Sequence[Objective] = ()
) -> RepetitionReport:
    """Report a repetition from its rows."""
    metrics = [row for row in rows if isinstance(row, MetricRow)]
    report = RepetitionReport(
        run_id=repetition.run_id,
        repetition_id=repetition.repetition_id,
        recipe=repetition.recipe,
        workload=repetition.workload,
        point=repetition.point,
        side=repetition.side,
        repetition=repetition.pair,
        status=repetition.status,
        reasons=repetition.reasons,
        completed=repetition.completed,
        failed=repetition.failed,
        started_at=repetition.started_at.isoformat(),
        seconds=round((repetition.ended_at - repetition.started_at).total_seconds(), 3),
        metrics=_by_metric(metrics, "full"),
        steady=_by_metric(metrics, "steady"),
        artifact=repetition.artifact,
    )
    if report.status != "valid":
        return report
    return replace(report, missed=tuple(missed(report, objectives)))


def missed(report: RepetitionReport, objectives: Sequence[Objective]) -> Iterator[str]:
    """The objectives of a workload that a repetition did not keep; absent figures miss them."""
    for each in objectives:
        if each.workload != report.workload:
            continue
        value = report.metrics.get(each.metric, {}).get(each.statistic)
        sign, limit = (">=", each.at_least) if each.at_most is None else ("<=", each.at_most)
        if value is None or limit is None:
            yield f"{each.metric} {each.statistic} {sign} {limit}: not measured"
        elif (value < limit) if sign == ">=" else (value > limit):
            yield f"{each.metric} {each.statistic} {sign} {limit:g}: {value:.4g}"


def _by_metric(rows: Sequence[MetricRow], window: str) -> Metrics:
    found: Metrics = {}
    for row in rows:
        if row.window == window:
            found.setdefault(row.metric, {})[row.statistic] = row.value
    return found


_COLUMNS = (
    ("TTFT mean", "ttft_ms", "mean"),
    ("p99", "ttft_ms", "p99"),
    ("TPOT p50", "tpot_ms", "p50"),
    ("E2E p50", "e2e_ms", "p50"),
    ("tok/s", "output_tokens_per_s", "total"),
    ("accuracy", "accuracy", "mean"),
)
HEADINGS = ("workload", "side", "rep", "status", *(heading for heading, _, _ in _COLUMNS))


def table_row(report: RepetitionReport) -> Iterator[str]:
    """Cells of one line of the table, as :data:`HEADINGS` says; latencies in ms."""
    yield f"{report.workload} {report.point}".strip()
    yield report.side
    yield str(report.repetition + 1)
    yield report.status
    for _, metric, statistic in _COLUMNS:
        value = report.metrics.get(metric, {}).get(statistic)
        yield "" if value is None else f"{value:.4g}" if value < 1000 else f"{value:,.0f}"
