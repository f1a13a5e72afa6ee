"""Judge a candidate's answers against the baseline's. Pure; docs/significance.md says why."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from statistics import fmean

from scipy import stats

from gauntlet.analyzer.accuracy import reasons
from gauntlet.analyzer.accuracy.comparability import differences, unknown
from gauntlet.analyzer.accuracy.floor import Floor, discordance_floor
from gauntlet.analyzer.accuracy.outcome import AccuracyVerdict, Details, Rerun, Table, Truncation
from gauntlet.analyzer.accuracy.paired import (
    Drop,
    by_eye,
    by_stratum,
    detectable_drop,
    estimate_drop,
)
from gauntlet.analyzer.accuracy.pairing import Pair, Pairing, pair_answers
from gauntlet.analyzer.accuracy.samples import AnswerSet
from gauntlet.analyzer.accuracy.sequential import Look, Sequential, in_random_order
from gauntlet.analyzer.accuracy.stratified import Stratum, estimate_strata
from gauntlet.analyzer.accuracy.suspicion import (
    Suspicion,
    adapter_error,
    suspect_harness,
    too_many_lost,
)
from gauntlet.analyzer.verdict import Outcome, Verdict, by_equivalence
from gauntlet.core.errors import UsageError

# One seed for everybody: the order in which questions are looked at must not be chosen afterwards.
ORDER_SEED = 20_240_607
_RERUN_REPEATS = 3

Weights = str | Mapping[str, float]
Found = tuple[Drop, tuple[Stratum, ...]]
Estimator = Callable[[Sequence[Pair]], Found]


def judge_accuracy(
    baseline: AnswerSet,
    candidate: AnswerSet,
    *,
    margin: float = 0.02,
    alpha: float = 0.05,
    blocking: bool = True,
    baseline_again: AnswerSet | None = None,
    weights: Weights | None = None,
) -> AccuracyVerdict:
    """Decide whether the candidate's score fell.

    ``margin`` is the drop that would matter, as a share of the questions; ``alpha`` the one-sided
    level of each claim. ``baseline_again`` are the baseline's answers to the same questions, asked
    once more. With ``weights`` (``size``, ``equal`` or a number by category) categories are paired
    each by itself.

    Raises UsageError for shares out of range and for questions that do not match.
    """
    if not 0 < margin < 1 or not 0 < alpha < 0.5:
        raise UsageError(
            f"margin {margin:g} and alpha {alpha:g} are shares: above 0, below 1 and 0.5",
            hint="0.02 is two percentage points",
        )
    blank = Verdict(
        subject=baseline.subject,
        outcome="missing",
        blocking=blocking,
        reason="",
        margin=100 * margin,
        unit="points",
        value_unit="%",
        higher_is_better=True,
    )
    refused = _refused(baseline, candidate, blank, alpha)
    if refused is not None:
        return refused
    pairing = pair_answers(baseline, candidate)
    suspicion = too_many_lost(pairing) or suspect_harness(pairing)
    if suspicion is not None:
        return _invalid(blank, suspicion, alpha)
    floor = _floor(baseline, baseline_again, pairing, alpha)
    estimate = partial(_estimate, alpha=alpha, weights=weights)
    return _judged(blank, baseline, candidate, pairing, estimate, floor, margin, alpha)


def decide(drop: Drop, margin: float, alpha: float) -> Outcome:
    """Turn a drop into an outcome."""
    return by_equivalence(
        loss=drop.effect,
        upper=drop.upper,
        margin=margin,
        loss_shown=drop.p_drop < alpha,
        gain_shown=drop.p_gain < alpha,
    )


def near_threshold(drop: Drop, margin: float, alpha: float) -> bool:
    """Whether one standard error less would not have been called worse."""
    z = float(stats.norm.ppf(1 - alpha))
    return drop.effect - drop.error < max(margin / 2, z * drop.error)


def _refused(
    baseline: AnswerSet, candidate: AnswerSet, blank: Verdict, alpha: float
) -> AccuracyVerdict | None:
    """What stands before any comparison: nothing there, something else changed, not believed."""
    sides = (("baseline", baseline), ("candidate", candidate))
    for name, side in sides:
        if not side.answers:
            why = "; ".join(side.refused) or "it holds no answer"
            reason = f"no answers of the {name}: {side.source}: {why}"
            outcome: Outcome = "invalid" if side.refused else "missing"
            return AccuracyVerdict(
                verdict=replace(blank, outcome=outcome, reason=reason),
                details=Details(alpha=alpha),
            )
    changed = differences(baseline, candidate)
    if changed:
        verdict = replace(blank, outcome="config-changed", reason=reasons.changed(changed))
        return AccuracyVerdict(verdict=verdict, details=Details(alpha=alpha, differences=changed))
    suspicion = adapter_error(sides)
    for name, side in sides:
        if suspicion is None and side.refused:
            reason = f"{name}: {'; '.join(side.refused)}"
            suspicion = Suspicion(reason=reason, samples=side.answers[:10])
    return None if suspicion is None else _invalid(blank, suspicion, alpha)


def _invalid(blank: Verdict, suspicion: Suspicion, alpha: float) -> AccuracyVerdict:
    return AccuracyVerdict(
        verdict=replace(blank, outcome="invalid", reason=suspicion.reason),
        details=Details(alpha=alpha, samples=suspicion.samples),
    )


def _floor(
    baseline: AnswerSet, again: AnswerSet | None, pairing: Pairing, alpha: float
) -> Floor | None:
    if again is None:
        return None
    changed = differences(baseline, again)
    if changed:
        said = ", ".join(map(str, changed))
        raise UsageError(f"{again.source} is not the baseline asked again: {said}")
    return discordance_floor(pair_answers(baseline, again), pairing, alpha)


def _estimate(pairs: Sequence[Pair], alpha: float, weights: Weights | None) -> Found:
    if weights is None:
        return estimate_drop(pairs, alpha), ()
    return estimate_strata(pairs, alpha, weights)


def _judged(
    blank: Verdict,
    baseline: AnswerSet,
    candidate: AnswerSet,
    pairing: Pairing,
    estimate: Estimator,
    floor: Floor | None,
    margin: float,
    alpha: float,
) -> AccuracyVerdict:
    pairs = pairing.pairs
    drop, strata = estimate(pairs)
    # Scores that are weighed by category have no error by eye.
    shown = None if strata else by_eye(pairs, alpha)
    quantiles = float(stats.norm.ppf(1 - alpha) + stats.norm.ppf(0.8))
    outcome = decide(drop, margin, alpha)
    asked_again = 2 * drop.units <= drop.n
    rerun = None
    if outcome == "worse" and near_threshold(drop, margin, alpha) and not asked_again:
        tasks = tuple(dict.fromkeys(each.name for each in strata)) or (baseline.task,)
        rerun = Rerun(tasks=tasks, repeats=_RERUN_REPEATS)
    details = Details(
        alpha=alpha,
        drop=drop,
        table=_table(pairs),
        by_eye=shown,
        detectable_80=detectable_drop(drop, alpha, 0.8),
        detectable_90=detectable_drop(drop, alpha, 0.9),
        detectable_by_eye_80=None if shown is None else shown.error * quantiles,
        answers_changed=sum(pair.baseline.answer != pair.candidate.answer for pair in pairs),
        floor=floor,
        strata=strata,
        truncation=_truncation(pairs, drop, outcome, margin, alpha, estimate),
        unscored_baseline=len(pairing.unscored_before),
        unscored_candidate=len(pairing.unscored_after),
        sequential=None if strata else _stopped(pairs, drop, margin, alpha),
        rerun=rerun,
        notes=_notes(baseline, candidate),
    )
    before, after = _scores(pairs, strata)
    verdict = replace(
        blank,
        outcome=outcome,
        effect=-100 * drop.effect + 0.0,  # no minus before zero
        lower=-100 * drop.upper + 0.0,
        upper=-100 * drop.lower + 0.0,
        p_value=drop.p_drop,
        adjusted_p=drop.p_drop,
        detectable=100 * detectable_drop(drop, alpha, 0.9),
        n=drop.n,
        method=drop.method,
        baseline=100 * before,
        candidate=100 * after,
    )
    return AccuracyVerdict(
        verdict=replace(verdict, reason=reasons.judged(verdict, details)), details=details
    )


def _table(pairs: Sequence[Pair]) -> Table | None:
    """Counts of right and wrong; None for graded scores."""
    if any(score not in {0.0, 1.0} for pair in pairs for score in (pair.before, pair.after)):
        return None
    cells = [(pair.before == 1, pair.after == 1) for pair in pairs]
    return Table(
        both_right=cells.count((True, True)),
        only_baseline=cells.count((True, False)),
        only_candidate=cells.count((False, True)),
        both_wrong=cells.count((False, False)),
    )


def _scores(pairs: Sequence[Pair], strata: Sequence[Stratum]) -> tuple[float, float]:
    """Both scores, weighed as the drop is."""
    if not strata:
        return fmean(pair.before for pair in pairs), fmean(pair.after for pair in pairs)
    groups = by_stratum(pairs)
    weights = [(each.weight, groups[each.name]) for each in strata]
    return (
        sum(weight * fmean(pair.before for pair in group) for weight, group in weights),
        sum(weight * fmean(pair.after for pair in group) for weight, group in weights),
    )


def _truncation(
    pairs: Sequence[Pair],
    drop: Drop,
    outcome: Outcome,
    margin: float,
    alpha: float,
    estimate: Estimator,
) -> Truncation | None:
    known = [pair for pair in pairs if pair.cut is not None]
    if not known:
        return None
    whole = [pair for pair in pairs if not pair.cut]
    without = estimate(whole)[0] if whole else None
    outcome_without = None if without is None else decide(without, margin, alpha)
    vanished = without is None or (outcome_without != "worse" and without.effect <= drop.effect / 2)
    return Truncation(
        baseline_share=sum(bool(pair.baseline.truncated) for pair in known) / len(known),
        candidate_share=sum(bool(pair.candidate.truncated) for pair in known) / len(known),
        without=without,
        outcome_without=outcome_without,
        about_length=outcome == "worse" and vanished,
    )


def _stopped(pairs: Sequence[Pair], drop: Drop, margin: float, alpha: float) -> Look | None:
    """Where a session that looks after each question would have stopped; None with clusters."""
    if drop.units < drop.n or any(abs(pair.drop) > 1 for pair in pairs):
        return None
    session = Sequential(margin=margin, alpha=alpha)
    ordered = sorted(pairs, key=lambda pair: pair.baseline.item_id)
    for pair in in_random_order(ordered, ORDER_SEED):
        look = session.add(pair.drop)
        if look.decision != "open":
            return look
    return session.finish()


def _notes(baseline: AnswerSet, candidate: AnswerSet) -> tuple[str, ...]:
    notes = [f"baseline: {note}" for note in baseline.notes]
    notes += [f"candidate: {note}" for note in candidate.notes]
    only_one = unknown(baseline, candidate)
    if only_one:
        notes.append(f"only one side records {', '.join(only_one)}")
    models = (baseline.model, candidate.model)
    if all(models) and models[0] != models[1]:
        notes.append(f"the model's name differs: {models[0]}, {models[1]}")
    return tuple(notes)
