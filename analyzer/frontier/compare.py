"""Two sides' repetitions to frontiers, band by band, with verdicts and the points of a chart."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from gauntlet.analyzer.frontier.chart import shown_points
from gauntlet.analyzer.frontier.comparable import (
    SIDES,
    common_points,
    gpus_by_side,
    what_is_left_out,
    why_unusable,
)
from gauntlet.analyzer.frontier.judge import Noted, Rule, blank, decide_noted, findings_of
from gauntlet.analyzer.frontier.layout import sides_of
from gauntlet.analyzer.frontier.points import (
    FrontierPoint,
    Unit,
    frontier_point,
    gpus_of,
    units_of,
)
from gauntlet.analyzer.frontier.report import BandReport, FrontierReport
from gauntlet.analyzer.frontier.resample import LEAST_FOR_BOOTSTRAP, Sides
from gauntlet.analyzer.frontier.sweeps import Sweep, by_sweep, subjects_of, workload_of
from gauntlet.analyzer.measured import Measured

_UNKNOWN_GPUS = "GPUs not known, taken as the same on both sides"


def compare_frontiers(
    measured: Sequence[Measured], rule: Rule | None = None, *, across: bool = False
) -> FrontierReport:
    """Compare both sides' sweeps per length band.

    ``across``: the sides are different configurations on purpose, so that neither recipes nor
    fingerprints nor points need to agree; each side's whole frontier counts.
    """
    rule = rule or Rule()
    units = units_of(measured)
    sweeps = by_sweep(measured, across=across)
    subjects = subjects_of(sweeps)
    built = [
        _band(some, sweep, subjects[sweep], units, rule, across=across)
        for sweep, some in sweeps.items()
    ]
    noted = [each for _, found in built for each in found]
    decided = {verdict.subject: verdict for verdict in decide_noted(noted, rule)}
    bands = []
    for band, found in built:
        judged = (decided[each.finding.subject] for each in found)
        bands.append(replace(band, verdicts=(*band.verdicts, *judged)))
    return FrontierReport(bands=tuple(bands))


def _band(
    measured: Sequence[Measured],
    sweep: Sweep,
    subject: str,
    units: Mapping[str, Unit],
    rule: Rule,
    *,
    across: bool,
) -> tuple[BandReport, list[Noted]]:
    """One band's points, and what there is to decide about it."""
    gpus = gpus_by_side(measured)
    per_gpu = all(None not in counts for counts in gpus.values())
    points = _points(measured, sweep.band, units, per_gpu=per_gpu)
    report = BandReport(
        workload=workload_of(sweep),
        band=sweep.band,
        per_gpu=per_gpu,
        points=shown_points(points),
        repetitions=tuple(points),
        verdicts=(),
    )
    usable = points if across else common_points(points)
    blocked = why_unusable(measured, points, usable, across=across)
    if blocked is not None:
        verdict = blank(f"{subject}/hypervolume", blocked.outcome, blocked.reason, rule)
        return replace(report, verdicts=(verdict,)), []
    sides = sides_of(usable, across=across)
    notes = [*what_is_left_out(points, usable), *_notes(sides, usable, rule)]
    if not per_gpu:
        notes.append(_UNKNOWN_GPUS)
    return report, findings_of(subject, sides, rule, "; ".join(notes))


def _points(
    measured: Sequence[Measured], band: str, units: Mapping[str, Unit], *, per_gpu: bool
) -> list[FrontierPoint]:
    found = []
    for each in measured:
        gpus = (gpus_of(each) or 1) if per_gpu else 1
        point = frontier_point(each, band=band, unit=units[each.repetition_id], gpus=gpus)
        if point is not None and each.status == "valid":
            found.append(point)
    return found


def _notes(sides: Sides, usable: Sequence[FrontierPoint], rule: Rule) -> list[str]:
    notes = []
    if sides.paired:
        units = [{point.unit for point in usable if point.side == side} for side in SIDES]
        alone = len(units[0] ^ units[1])
        if alone:
            notes.append(f"{alone} of {len(units[0] | units[1])} pairs have one side only")
    else:
        noise = f"{rule.noise_percent:g} % between sessions assumed"
        notes.append(f"the sides were not interleaved, {noise}")
    if min(len(each.interactivity) for each in (sides.baseline, sides.candidate)) < (
        LEAST_FOR_BOOTSTRAP
    ):
        notes.append(f"fewer than {LEAST_FOR_BOOTSTRAP} {'pairs' if sides.paired else 'a side'}")
    return notes
