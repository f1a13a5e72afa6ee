"""What an accuracy task came to: one sample per question, infrastructure apart from answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from gauntlet.harness.context import Measurement
from gauntlet.harness.validity import judge_failures
from gauntlet.warehouse.rows.measurement import EvalSampleRow, MetricRow, RepetitionStatus

ItemT = TypeVar("ItemT")

# A handful of lost requests leaves an accuracy; more leave a sample that somebody else chose.
MOST_ERROR_SHARE = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One question, asked once. ``score`` is 1 or 0, or None where nothing could be judged."""

    item_id: str
    status: Literal["scored", "unparsable", "error"]
    score: float | None
    answer: str
    expected: str
    error: str = ""


def pair_items(items: Sequence[ItemT], *, count: int, pairs: int, pair: int) -> list[ItemT]:
    """The part of the first ``count`` items that pair number ``pair`` of ``pairs`` asks."""
    return list(items[count * pair // pairs : count * (pair + 1) // pairs])


def judge_samples(samples: Sequence[Sample]) -> tuple[RepetitionStatus, tuple[str, ...]]:
    """Decide whether the samples give an accuracy, and say why not."""
    errors = [sample.error for sample in samples if sample.status == "error"]
    return judge_failures(errors, len(samples), most_share=MOST_ERROR_SHARE)


def sample_rows(
    measurement: Measurement, task: str, samples: Sequence[Sample]
) -> tuple[EvalSampleRow, ...]:
    """Make the warehouse rows of the samples."""
    return tuple(
        EvalSampleRow(
            **measurement.key(task),
            task=task,
            item_id=sample.item_id,
            status=sample.status,
            score=sample.score,
            answer=sample.answer,
            expected=sample.expected,
            error=sample.error,
        )
        for sample in samples
    )


def accuracy_rows(
    measurement: Measurement, task: str, samples: Sequence[Sample]
) -> tuple[MetricRow, ...]:
    """Accuracy over judged answers, and the share that could not be parsed (counted as wrong)."""
    judged = [sample for sample in samples if sample.score is not None]
    unparsable = sum(sample.status == "unparsable" for sample in judged)
    total = sum(sample.score or 0.0 for sample in judged)
    values = (
        ("accuracy", total / len(judged) if judged else None, "higher"),
        ("unparsable_share", unparsable / len(judged) if judged else None, "lower"),
    )
    return tuple(
        MetricRow(
            **measurement.key(task),
            workload=task,
            metric=name,
            statistic="mean",
            value=value,
            unit="share",
            direction="higher" if direction == "higher" else "lower",
            n=len(judged),
        )
        for name, value, direction in values
    )
