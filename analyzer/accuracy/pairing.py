"""The same questions answered by both builds, side by side; anything else is refused."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from gauntlet.analyzer.accuracy.samples import Answer, AnswerSet
from gauntlet.core.errors import UsageError

_IDS_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One question with the score of both sides."""

    baseline: Answer
    candidate: Answer
    before: float
    after: float

    @property
    def drop(self) -> float:
        """What the candidate lost on this question; negative where it gained."""
        return self.before - self.after

    @property
    def cluster(self) -> str:
        """The question that repeats share; that of the baseline, which has the same ids."""
        return self.baseline.cluster or self.baseline.item_id

    @property
    def stratum(self) -> str:
        """The category of the question."""
        return self.baseline.stratum

    @property
    def cut(self) -> bool | None:
        """Whether either answer was cut at the token limit; None where neither side says so."""
        marks = [self.baseline.truncated, self.candidate.truncated]
        known = [mark for mark in marks if mark is not None]
        return any(known) if known else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """Pairs in the baseline's order, and the answers without a score, which are in no pair."""

    pairs: tuple[Pair, ...]
    asked: int
    unscored_before: tuple[Answer, ...] = ()
    unscored_after: tuple[Answer, ...] = ()

    @property
    def lost(self) -> int:
        """Questions that were left out because a side has no score."""
        return self.asked - len(self.pairs)

    @property
    def lost_share(self) -> float:
        """Share of the questions that were left out."""
        return self.lost / self.asked if self.asked else 0.0


def pair_answers(baseline: AnswerSet, candidate: AnswerSet) -> Pairing:
    """Match answers by id.

    Raises UsageError where an id stands twice or a score is not between 0 and 1, where the sides
    were asked different questions, and where one id means different questions. Dropping what does
    not match would let the failures of one side choose the questions.
    """
    before, after = _by_id(baseline), _by_id(candidate)
    _same_ids(baseline, candidate, before.keys(), after.keys())
    other = [key for key, answer in before.items() if _another_question(answer, after[key])]
    if other:
        raise UsageError(
            f"unpaired: {len(other)} of {len(before)} ids mean different questions in"
            f" {baseline.source} and {candidate.source}: {_shown(other)}",
            hint="measure both sides with the same data and the same order of choices",
        )
    pairs = [
        Pair(baseline=answer, candidate=after[key], before=answer.score, after=score)
        for key, answer in before.items()
        if answer.score is not None and (score := after[key].score) is not None
    ]
    return Pairing(
        pairs=tuple(pairs),
        asked=len(before),
        unscored_before=tuple(answer for answer in before.values() if answer.score is None),
        unscored_after=tuple(answer for answer in after.values() if answer.score is None),
    )


def _by_id(side: AnswerSet) -> dict[str, Answer]:
    counts = Counter(answer.item_id for answer in side.answers)
    twice = [key for key, count in counts.items() if count > 1]
    if twice:
        raise UsageError(f"{side.source}: {len(twice)} ids stand twice: {_shown(twice)}")
    for answer in side.answers:
        # NaN is in no range, so this refuses it too.
        if answer.score is not None and not 0 <= answer.score <= 1:
            raise UsageError(
                f"{side.source}: {answer.item_id}: {side.metric} is {answer.score:g}",
                hint="a score between 0 and 1 is needed, higher being better",
            )
    return {answer.item_id: answer for answer in side.answers}


def _same_ids(
    baseline: AnswerSet,
    candidate: AnswerSet,
    before: Collection[str],
    after: Collection[str],
) -> None:
    only_before = [key for key in before if key not in after]
    only_after = [key for key in after if key not in before]
    if not only_before and not only_after:
        return
    said = [
        f"{len(ids)} only in {side.source} ({_shown(ids)})"
        for side, ids in ((baseline, only_before), (candidate, only_after))
        if ids
    ]
    raise UsageError(
        f"unpaired: {len(before)} questions against {len(after)}; {'; '.join(said)}",
        hint="ask both builds the same questions: same data, same limit, same repeats",
    )


def _another_question(before: Answer, after: Answer) -> bool:
    kinds = [each.question_digest.partition(":")[0] for each in (before, after)]
    if all(kinds) and kinds[0] == kinds[1]:
        return before.question_digest != after.question_digest
    return bool(before.question and after.question) and before.question != after.question


def _shown(ids: Sequence[str]) -> str:
    more = ", …" if len(ids) > _IDS_SHOWN else ""
    return ", ".join(ids[:_IDS_SHOWN]) + more
