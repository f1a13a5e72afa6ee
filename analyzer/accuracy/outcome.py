"""What a judgement of accuracy says, beside the verdict: everything it rests on."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass

from gauntlet.analyzer.accuracy.comparability import Difference
from gauntlet.analyzer.accuracy.floor import Floor
from gauntlet.analyzer.accuracy.paired import ByEye, Drop
from gauntlet.analyzer.accuracy.samples import Answer
from gauntlet.analyzer.accuracy.sequential import Look
from gauntlet.analyzer.accuracy.stratified import Stratum
from gauntlet.analyzer.verdict import Outcome, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Right and wrong answers of both sides: how many questions fell where."""

    both_right: int
    only_baseline: int
    only_candidate: int
    both_wrong: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Truncation:
    """Answers cut at the token limit, as shares, and the drop over questions with no cut answer.

    ``without`` is None where no question is left.
    """

    baseline_share: float
    candidate_share: float
    without: Drop | None
    outcome_without: Outcome | None
    about_length: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Rerun:
    """What to measure again before anybody is accused: the verdict is near its threshold."""

    tasks: tuple[str, ...]
    repeats: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Details:
    """What the verdict rests on; None and empty where there is none."""

    alpha: float
    drop: Drop | None = None
    table: Table | None = None
    by_eye: ByEye | None = None
    detectable_80: float | None = None
    detectable_90: float | None = None
    detectable_by_eye_80: float | None = None
    answers_changed: int | None = None
    floor: Floor | None = None
    strata: tuple[Stratum, ...] = ()
    truncation: Truncation | None = None
    unscored_baseline: int = 0
    unscored_candidate: int = 0
    sequential: Look | None = None
    rerun: Rerun | None = None
    differences: tuple[Difference, ...] = ()
    samples: tuple[Answer, ...] = ()
    notes: tuple[str, ...] = ()

    def plain(self) -> dict[str, object]:
        """As JSON. Effects in points, positive where the score rose; shares as they are."""
        return {
            "alpha": self.alpha,
            "p_drop": self.drop.p_drop if self.drop else None,
            "p_gain": self.drop.p_gain if self.drop else None,
            "p_two_sided": self.drop.p_two_sided if self.drop else None,
            "losses": self.drop.losses if self.drop else None,
            "gains": self.drop.gains if self.drop else None,
            "clusters": self.drop.units if self.drop else None,
            "table": asdict(self.table) if self.table else None,
            "unpaired": None if self.by_eye is None else _change(self.by_eye),
            "detectable": {
                "power_80": points(self.detectable_80),
                "power_90": points(self.detectable_90),
                "unpaired_power_80": points(self.detectable_by_eye_80),
            },
            "answers_changed": self.answers_changed,
            "floor": asdict(self.floor) if self.floor else None,
            "strata": [_stratum(each) for each in self.strata],
            "truncation": _truncation(self.truncation),
            "unscored": {"baseline": self.unscored_baseline, "candidate": self.unscored_candidate},
            "sequential": asdict(self.sequential) if self.sequential else None,
            "rerun": asdict(self.rerun) if self.rerun else None,
            "differences": [asdict(each) for each in self.differences],
            "samples": [asdict(each) for each in self.samples],
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class AccuracyVerdict:
    """The verdict on one task, and its details."""

    verdict: Verdict
    details: Details

    def plain(self) -> dict[str, object]:
        """As JSON: the verdict's keys, and ``details``."""
        return {**self.verdict.plain(), "details": self.details.plain()}


def points(share: float | None) -> float | None:
    """A share of questions in percentage points."""
    return None if share is None else 100 * share


def _change(drop: Drop | ByEye) -> dict[str, object]:
    return {
        "effect": -100 * drop.effect + 0.0,  # no minus before zero
        "interval": [-100 * drop.upper + 0.0, -100 * drop.lower + 0.0],
    }


def _stratum(stratum: Stratum) -> dict[str, object]:
    drop = stratum.drop
    counts = {"n": drop.n, "losses": drop.losses, "gains": drop.gains}
    return {"name": stratum.name, "weight": stratum.weight, **counts, **_change(drop)}


def _truncation(found: Truncation | None) -> Mapping[str, object] | None:
    if found is None:
        return None
    without = found.without
    return {
        "baseline_share": found.baseline_share,
        "candidate_share": found.candidate_share,
        "about_length": found.about_length,
        "without": None
        if without is None
        else {"verdict": found.outcome_without, "n": without.n, **_change(without)},
    }


def sentence(parts: Iterable[str]) -> str:
    """One sentence of several parts, without the empty ones."""
    return "; ".join(part for part in parts if part)
