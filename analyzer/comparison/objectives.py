"""Which statistics of which places are judged, by which margin."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from gauntlet.analyzer.comparison.margins import Margin, Margins
from gauntlet.analyzer.measured import Measured, Place, Statistic
from gauntlet.perf_eval.judgement import LoadObjective


class Spot(NamedTuple):
    """A place without its accelerator: sides on two accelerators are seen, not overlooked."""

    recipe: str
    workload: str
    point: str
    model: str

    @classmethod
    def of(cls, place: Place) -> "Spot":
        """The spot of a place."""
        return cls(place.recipe, place.workload, place.point, place.model)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unjudged:
    """A statistic that was measured and is not judged, and why."""

    subject: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """One statistic at one spot; ``label`` names the spot, ``summary`` the group it belongs to.

    ``noise_percent`` is None where nothing is assumed about sessions.
    """

    spot: Spot
    label: str
    summary: str
    statistic: Statistic
    margin_percent: float
    blocking: bool
    noise_percent: float | None
    higher_is_better: bool
    unit: str

    @property
    def subject(self) -> str:
        """What its verdict is about."""
        return f"load/{self.label}/{self.statistic.metric}/{self.statistic.statistic}"


def labels_of(spots: Iterable[Spot]) -> dict[Spot, str]:
    """``WORKLOAD[@POINT]`` of each spot, behind recipe and model where there are several."""
    known = sorted(set(spots))
    recipes, models = {spot.recipe for spot in known}, {spot.model for spot in known}
    labels = {}
    for spot in known:
        before = [spot.recipe] * (len(recipes) > 1) + [spot.model] * (len(models) > 1)
        name = ":".join([*(part.replace("/", "_") for part in before), spot.workload])
        labels[spot] = f"{name}@{spot.point}" if spot.point else name
    return labels


def objectives_by_margin(
    measured: Sequence[Measured], margins: Margins
) -> tuple[list[Objective], list[Unjudged]]:
    """Every statistic that was measured and has a margin; the others are listed, not dropped."""
    by_spot: dict[Spot, set[Statistic]] = {}
    for each in measured:
        by_spot.setdefault(Spot.of(each.place), set()).update(each.values)
    labels = labels_of(by_spot)
    objectives = [
        _objective(spot, labels[spot], statistic, margins, margin)
        for spot, statistics in sorted(by_spot.items())
        for statistic in sorted(statistics)
        if (margin := margins.of(statistic)) is not None
    ]
    seen = set().union(*by_spot.values()) if by_spot else set()
    unjudged = [
        Unjudged(subject="/".join(statistic), reason="no margin says what would matter")
        for statistic in sorted(seen)
        if margins.of(statistic) is None
    ]
    return objectives, unjudged


def _objective(
    spot: Spot, label: str, statistic: Statistic, margins: Margins, margin: Margin
) -> Objective:
    metric = margins.metrics[statistic.metric]
    return Objective(
        spot=spot,
        label=label,
        summary="summary",
        statistic=statistic,
        margin_percent=margin.margin_percent,
        blocking=margin.blocking,
        noise_percent=margin.noise_percent,
        higher_is_better=metric.direction == "higher",
        unit=metric.unit,
    )


def objectives_by_recipe(
    wanted: Sequence[LoadObjective], measured: Sequence[Measured], margins: Margins
) -> tuple[list[Objective], list[Unjudged]]:
    """What a recipe judges, at every point that its workload was measured at.

    A workload that was not measured keeps its objectives. A metric whose direction no margin
    tells is listed as not judged.
    """
    spots = sorted({Spot.of(each.place) for each in measured})
    labels = labels_of(spots)
    objectives, unjudged = [], []
    for each in wanted:
        metric = margins.metrics.get(each.metric)
        statistic = Statistic(each.metric, each.statistic)
        if metric is None:
            reason = "no margin says which way is good"
            unjudged.append(
                Unjudged(subject=f"{each.workload}/{'/'.join(statistic)}", reason=reason)
            )
            continue
        known = margins.of(statistic)
        of_workload = [spot for spot in spots if spot.workload == each.workload]
        objectives += [
            Objective(
                spot=spot,
                label=labels.get(spot, each.workload),
                summary=f"summary/{each.workload}",
                statistic=statistic,
                margin_percent=each.margin_percent,
                blocking=each.blocking,
                noise_percent=None if known is None else known.noise_percent,
                higher_is_better=metric.direction == "higher",
                unit=metric.unit,
            )
            for spot in of_workload or [Spot("", each.workload, "", "")]
        ]
    return objectives, unjudged
