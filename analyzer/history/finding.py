"""A finding: something that happened to a series, in numbers and in one sentence."""

from dataclasses import dataclass
from datetime import date
from typing import Literal, TypedDict

from gauntlet.analyzer.history.commits import CommitRange, PlainRange
from gauntlet.analyzer.history.series import Difference
from gauntlet.analyzer.measured import Place, Statistic

FindingKind = Literal[
    "regression",
    "provisional",
    "missing",
    "invalid",
    "config-changed",
    "drift",
    "variance",
    "improvement",
    "recovery",
    "outlier",
    "not-reproduced",
    "stale",
]
KINDS: tuple[FindingKind, ...] = (
    "regression", "provisional", "missing", "invalid", "config-changed", "drift", "variance",
    "stale", "improvement", "recovery", "not-reproduced", "outlier",
)  # fmt: skip
"""In the order in which an engineer reads them."""


class PlainFinding(TypedDict):
    """A finding as JSON; percentages are against the level before, positive where it rose."""

    kind: FindingKind
    subject: str
    reason: str
    blocking: bool
    minor: bool
    open: bool
    recipe: str
    workload: str
    point: str
    model: str
    accelerator: str
    series_id: str
    metric: str
    statistic: str
    night: str
    index: int | None
    effect: float | None
    interval: tuple[float, float] | None
    unit: str
    loss: float | None
    margin: float | None
    n: tuple[int, int] | None
    before: float | None
    after: float | None
    value_unit: str
    p: float | None
    adjusted_p: float | None
    method: str
    commits: PlainRange | None
    differences: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One finding.

    ``subject`` is its identity from night to night. ``blocking``: it is a loss that counts, beyond
    the margin and beyond chance; ``minor``: it is within either. ``open``: it still holds (nothing
    took it back, the configuration is in use). ``index`` counts the nights of its segment;
    ``effect`` with its interval is the new level against the old one in ``unit``, positive where
    the value rose; ``loss`` is the same, positive where it is worse, None where neither way is
    (variance, configuration).
    """

    kind: FindingKind
    subject: str
    reason: str
    night: date
    place: Place
    series_id: str
    statistic: Statistic
    blocking: bool = False
    minor: bool = False
    open: bool = True
    index: int | None = None
    effect: float | None = None
    lower: float | None = None
    upper: float | None = None
    unit: str = "%"
    loss: float | None = None
    margin: float | None = None
    n_before: int = 0
    n_after: int = 0
    before: float | None = None
    after: float | None = None
    value_unit: str = ""
    p_value: float | None = None
    adjusted_p: float | None = None
    method: str = ""
    commits: CommitRange | None = None
    differences: tuple[Difference, ...] = ()
    noise_percent: float | None = None
    parent_index: int | None = None

    def rank(self) -> tuple[bool, int, bool, float, str]:
        """Sort key: what still holds first, then by kind, what blocks, and by size."""
        size = abs(self.effect or 0.0)
        return not self.open, KINDS.index(self.kind), not self.blocking, -size, self.subject

    def plain(self) -> PlainFinding:
        """As JSON."""
        interval = None
        if self.lower is not None and self.upper is not None:
            interval = (self.lower, self.upper)
        return PlainFinding(
            kind=self.kind,
            subject=self.subject,
            reason=self.reason,
            blocking=self.blocking,
            minor=self.minor,
            open=self.open,
            recipe=self.place.recipe,
            workload=self.place.workload,
            point=self.place.point,
            model=self.place.model,
            accelerator=self.place.accelerator,
            series_id=self.series_id,
            metric=self.statistic.metric,
            statistic=self.statistic.statistic,
            night=self.night.isoformat(),
            index=self.index,
            effect=self.effect,
            interval=interval,
            unit=self.unit,
            loss=self.loss,
            margin=self.margin,
            n=(self.n_before, self.n_after) if self.n_before else None,
            before=self.before,
            after=self.after,
            value_unit=self.value_unit,
            p=self.p_value,
            adjusted_p=self.adjusted_p,
            method=self.method,
            commits=None if self.commits is None else self.commits.plain(),
            differences=[str(each) for each in self.differences],
        )
