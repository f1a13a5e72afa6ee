"""A score of 0 where there never was one: the harness is looked at before the model is."""

import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from gauntlet.harness.evals.samples import Sample

# Below this probability, a model as good as its history does not get every question wrong.
_CHANCE = 0.05
_SHOWN = 10
_SHOWN_TEXT = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspicion:
    """Why a score is not believed, and the first samples as evidence."""

    reason: str
    samples: tuple[Sample, ...]

    def as_json(self) -> str:
        """Evidence as one JSON document, whole texts."""
        document = {"reason": self.reason, "samples": [asdict(each) for each in self.samples]}
        return json.dumps(document, ensure_ascii=False, indent=1) + "\n"

    def as_text(self) -> str:
        """Evidence for people, long texts shortened."""
        return "\n".join([self.reason, *(_text_of(sample) for sample in self.samples)]) + "\n"


def suspect_harness(
    score: float | None, history_scores: Sequence[float], samples: Sequence[Sample]
) -> Suspicion | None:
    """Doubt a score that the same series makes incredible; None where there is nothing to doubt.

    ``history_scores`` are earlier scores (0 to 1) of the same series. Suspect is a score of
    exactly 0, unless the history is so low, or the questions so few, that chance explains it; and
    answers of which not one could be parsed. Stop strings, templates and answer filters do that.
    """
    known = statistics.median(history_scores) if history_scores else 0.0
    answered = [sample for sample in samples if sample.status != "error"]
    if not known or not answered:
        return None
    earlier = f"the median of {len(history_scores)} earlier scores is {known:.3g}"
    if all(sample.status == "unparsable" for sample in answered):
        said = f"none of {len(answered)} answers could be parsed, and {earlier}"
    elif score == 0.0 and (1.0 - min(known, 1.0)) ** len(answered) < _CHANCE:
        said = f"the score is exactly 0 over {len(answered)} answers, and {earlier}"
    else:
        return None
    return Suspicion(reason=f"suspect harness: {said}", samples=tuple(answered[:_SHOWN]))


def _text_of(sample: Sample) -> str:
    fields = (
        ("question", sample.question),
        ("response", sample.response),
        ("extracted", sample.answer),
        ("expected", sample.expected),
        ("finish reason", sample.finish_reason or "not told"),
    )
    lines = [f"--- {sample.item_id}"]
    lines += [f"{name}: {text[:_SHOWN_TEXT]}" for name, text in fields]
    return "\n".join(lines)
