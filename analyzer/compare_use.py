"""What ``analyze compare`` does: which comparison was asked for, and making it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gauntlet.analyzer.compare import compare_run, verdict_rows
from gauntlet.analyzer.comparison.compare import Comparison, compare_measured
from gauntlet.analyzer.comparison.effects import Noise
from gauntlet.analyzer.comparison.looks import Budget
from gauntlet.analyzer.comparison.margins import Margins, load_margins
from gauntlet.analyzer.comparison.objectives import Spot
from gauntlet.analyzer.measured import Measured, Statistic
from gauntlet.analyzer.selection import load_sides
from gauntlet.analyzer.selection.selector import parse_selector
from gauntlet.analyzer.selection.sides import load_stored_sides
from gauntlet.analyzer.session_noise import noise_of_sessions
from gauntlet.core.clock import utc_now
from gauntlet.core.errors import UsageError
from gauntlet.warehouse.batch import decision_batch
from gauntlet.warehouse.delivery import deliver
from gauntlet.warehouse.store import Store, open_store

_FORMS = "give one RUN_ID, two selectors A B, or --baseline SEL --candidate SEL"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A run with two sides, or two selectors."""

    run_id: str | None = None
    baseline: str = ""
    candidate: str = ""

    @classmethod
    def of(cls, sides: Sequence[str], baseline: str | None, candidate: str | None) -> "Asked":
        """Read what was given. Raises UsageError where it is neither the one nor the other."""
        named = {"--baseline": baseline, "--candidate": candidate}
        given = [name for name, value in named.items() if value is not None]
        if len(given) == 1:
            missing = next(name for name in named if name not in given)
            raise UsageError(f"{given[0]} without {missing}", hint=_FORMS)
        if baseline is not None and candidate is not None:
            if sides:
                msg = f"{' '.join(sides)!r} beside --baseline and --candidate"
                raise UsageError(msg, hint=_FORMS)
            return cls(baseline=baseline, candidate=candidate)
        match sides:
            case [run_id]:
                return cls(run_id=run_id.removeprefix("run:"))
            case [first, second]:
                return cls(baseline=first, candidate=second)
            case _:
                what = f"{len(sides)} arguments" if sides else "nothing to compare"
                raise UsageError(what, hint=_FORMS)

    def refuse_with_run(self, **given: object) -> None:
        """Refuse options that mean nothing for a run. Raises UsageError."""
        names = {"rate": "false-alarm-rate"}
        unused = [f"--{names.get(name, name)}" for name, value in given.items() if value]
        if unused:
            msg = f"{', '.join(unused)} with the run {self.run_id!r}"
            hint = f"a run is judged by its recipe; of two selectors: {_FORMS}"
            raise UsageError(msg, hint=hint)


def compare_run_and_record(location: str, run_id: str, *, record: bool) -> Comparison:
    """Judge the sides of a run by its recipe; ``record`` keeps the verdicts as decisions.

    Raises UsageError where there is no such run.
    """
    with open_store(location) as store:
        verdicts = compare_run(store, run_id)
    if record:
        now = utc_now()
        rows = verdict_rows(run_id, verdicts, now)
        deliver(location, [decision_batch(run_id, "verdicts", rows, now)])
    return Comparison.of(verdicts)


def compare_selected(
    asked: Asked,
    *,
    location: str,
    where: Sequence[str],
    telemetry: Path | None,
    margins: Path | None,
    false_alarm_rate: float,
) -> Comparison:
    """Judge two selections of loads by a margins file.

    Raises UsageError for selectors that name nothing and margins that cannot be read.
    """
    by = load_margins(margins)
    measured = load_sides(
        asked.baseline, asked.candidate, location=location, telemetry=telemetry, where=where
    )
    return compare_measured(
        measured,
        margins=by,
        budget=Budget(false_alarm_rate=false_alarm_rate),
        history=_history(asked, location, measured, by),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredComparison:
    """Both sides as they are stored, and what the comparison of them says."""

    measured: tuple[Measured, ...]
    comparison: Comparison


def compare_stored(store: Store, baseline: str, candidate: str) -> StoredComparison:
    """Judge two selections of an open store by the shipped margins.

    Raises UsageError for selectors that name nothing of the warehouse.
    """
    by = load_margins()
    measured = load_stored_sides(store, baseline, candidate)
    comparison = compare_measured(
        measured, margins=by, budget=Budget(), history=_noise(store, measured, by)
    )
    return StoredComparison(measured=tuple(measured), comparison=comparison)


def _history(
    asked: Asked, location: str, measured: Sequence[Measured], margins: Margins
) -> dict[tuple[Spot, Statistic], Noise]:
    """Noise between sessions that the warehouse knows of; of result files it knows none."""
    kinds = {parse_selector(text).kind for text in (asked.baseline, asked.candidate)}
    if kinds == {"files"}:
        return {}
    with open_store(location) as store:
        return _noise(store, measured, margins)


def _noise(
    store: Store, measured: Sequence[Measured], margins: Margins
) -> dict[tuple[Spot, Statistic], Noise]:
    known = [key for each in measured for key in each.values if margins.of(key) is not None]
    return noise_of_sessions(store, measured, list(dict.fromkeys(known)), until=utc_now().date())
