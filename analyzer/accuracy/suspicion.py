"""When a score is not believed: the harness or an adapter failed, not the model."""

from collections.abc import Sequence
from dataclasses import dataclass

from gauntlet.analyzer.accuracy.pairing import Pairing
from gauntlet.analyzer.accuracy.samples import Answer, AnswerSet

_MOST_LOST_SHARE = 0.05
# A side that gets nothing right where the other is above this, or where chance cannot explain it.
_NORMAL_SCORE = 0.5
_CHANCE = 0.001
_SHOWN = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspicion:
    """Why nothing is judged, with the first answers of the side at fault as evidence."""

    reason: str
    samples: tuple[Answer, ...]


def adapter_error(sides: Sequence[tuple[str, AnswerSet]]) -> Suspicion | None:
    """One kind of error on every row of a side: what reads the answers failed."""
    for name, side in sides:
        kinds = {answer.error if answer.status != "scored" else "" for answer in side.answers}
        if side.answers and len(kinds) == 1 and (kind := kinds.pop()):
            reason = f"adapter error: each of the {name}'s {len(side.answers)} rows has {kind}"
            return Suspicion(reason=reason, samples=side.answers[:_SHOWN])
    return None


def too_many_lost(pairing: Pairing) -> Suspicion | None:
    """Too many questions without a score: what is left was chosen by the failures."""
    if pairing.lost_share <= _MOST_LOST_SHARE:
        return None
    before, after = pairing.unscored_before, pairing.unscored_after
    reason = (
        f"{pairing.lost} of {pairing.asked} questions have no score"
        f" (baseline {len(before)}, candidate {len(after)});"
        f" more than {_MOST_LOST_SHARE:.0%} is no measurement"
    )
    return Suspicion(reason=reason, samples=(*before, *after)[:_SHOWN])


def suspect_harness(pairing: Pairing) -> Suspicion | None:
    """Nothing right on one side although the other is good, or nothing that could be parsed.

    A stop string taken apart into letters, a chat template or an answer filter does that.
    """
    n = len(pairing.pairs)
    before = [pair.baseline for pair in pairing.pairs]
    after = [pair.candidate for pair in pairing.pairs]
    scores = [sum(p.before for p in pairing.pairs) / n, sum(p.after for p in pairing.pairs) / n]
    named = (("baseline", before, scores), ("candidate", after, scores[::-1]))
    for name, answers, (own, other) in named:
        if all(answer.status == "unparsable" for answer in answers):
            said = f"none of the {name}'s {n} answers could be parsed"
        elif own == 0 and (other > _NORMAL_SCORE or (1 - min(other, 1.0)) ** n < _CHANCE):
            said = f"the {name} scores exactly 0 over {n} questions, the other side {other:.3g}"
        else:
            continue
        return Suspicion(reason=f"suspect harness: {said}", samples=tuple(answers[:_SHOWN]))
    return None
