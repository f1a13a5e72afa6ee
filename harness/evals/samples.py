"""What an accuracy task came to: one sample per question, infrastructure apart from answers."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from gauntlet.harness.context import Measurement
from gauntlet.harness.validity import judge_failures
from gauntlet.warehouse.rows.measurement import (
    Direction,
    EvalSampleRow,
    MetricRow,
    RepetitionStatus,
)

ItemT = TypeVar("ItemT")

# A handful of lost requests leaves an accuracy; more leave a sample that somebody else chose.
MOST_ERROR_SHARE = 0.02
# Above this share of cut answers, a score says more about the limit than about the model.
NOTED_TRUNCATED_SHARE = 0.05
# Longest text of a column; the artifact has all of it.
TEXT_LIMIT = 16_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One question, asked once. ``score`` is 0 to 1, or None where nothing could be judged.

    ``repeat`` counts the times that the same question was asked before. ``empty`` says what was
    missing altogether: an answer's text, or a call where one was due.
    """

    item_id: str
    status: Literal["scored", "unparsable", "error"]
    score: float | None
    answer: str
    expected: str
    error: str = ""
    filter: str = ""
    repeat: int = 0
    question: str = ""
    response: str = ""
    finish_reason: str | None = None
    output_tokens: int | None = None
    empty: Literal["", "answer", "call"] = ""


def pair_items(items: Sequence[ItemT], *, count: int, pairs: int, pair: int) -> list[ItemT]:
    """The part of the first ``count`` items that pair number ``pair`` of ``pairs`` asks."""
    return list(items[count * pair // pairs : count * (pair + 1) // pairs])


def judge_samples(samples: Sequence[Sample]) -> tuple[RepetitionStatus, tuple[str, ...]]:
    """Decide whether the samples give an accuracy, and say why not."""
    errors = [sample.error for sample in samples if sample.status == "error"]
    return judge_failures(errors, len(samples), most_share=MOST_ERROR_SHARE)


def is_truncated(sample: Sample, max_tokens: int | None) -> bool:
    """Whether the answer was cut: the server says so, or it is as long as it may be."""
    if sample.finish_reason == "length":
        return True
    if max_tokens is None or sample.output_tokens is None:
        return False
    return sample.output_tokens >= max_tokens


def truncation_note(samples: Sequence[Sample], max_tokens: int | None) -> str | None:
    """Say how many answers were cut, where it is enough to explain a low score."""
    judged = [sample for sample in samples if sample.status != "error"]
    cut = sum(is_truncated(sample, max_tokens) for sample in judged)
    if not judged or cut <= NOTED_TRUNCATED_SHARE * len(judged):
        return None
    limit = "" if max_tokens is None else f" at {max_tokens} tokens"
    return (
        f"{cut} of {len(judged)} answers were cut{limit}: "
        "a low score is more often a truncated answer"
    )


def mean(values: Iterable[float]) -> float | None:
    """Arithmetic mean, None of nothing."""
    found = list(values)
    return math.fsum(found) / len(found) if found else None


def clustered_stderr(samples: Sequence[Sample]) -> float | None:
    """Standard error of the mean score, with the repeats of one question as one cluster.

    Asking a question again adds nothing that is known of other questions. None for fewer than two
    questions, and for equal scores: 0 would claim a certainty (Miller 2024, arXiv:2411.00640).
    """
    clusters: dict[str, list[float]] = defaultdict(list)
    for sample in samples:
        if sample.score is not None:
            clusters[sample.item_id].append(sample.score)
    count = sum(map(len, clusters.values()))
    if len(clusters) < 2:
        return None
    centre = math.fsum(score for scores in clusters.values() for score in scores) / count
    spread = math.fsum(
        math.fsum(score - centre for score in scores) ** 2 for scores in clusters.values()
    )
    error = math.sqrt(spread * len(clusters) / (len(clusters) - 1)) / count
    return error if error > 1e-12 else None


def sample_rows(
    measurement: Measurement, task: str, samples: Sequence[Sample]
) -> tuple[EvalSampleRow, ...]:
    """Make the warehouse rows of the samples; a question asked again gets ``#2``, ``#3``."""
    return tuple(
        EvalSampleRow(
            **measurement.key(task),
            task=task,
            item_id=f"{sample.item_id}#{sample.repeat + 1}" if sample.repeat else sample.item_id,
            status=sample.status,
            score=sample.score,
            answer=sample.answer[:TEXT_LIMIT],
            expected=sample.expected[:TEXT_LIMIT],
            error=sample.error[:TEXT_LIMIT],
            filter=sample.filter,
            question=sample.question[:TEXT_LIMIT],
            response=sample.response[:TEXT_LIMIT],
            finish_reason=sample.finish_reason,
            output_tokens=sample.output_tokens,
        )
        for sample in samples
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Value:
    metric: str
    value: float | None
    n: int
    direction: Direction
    unit: str = "share"
    statistic: str = "mean"


def accuracy_rows(
    measurement: Measurement,
    task: str,
    samples: Sequence[Sample],
    *,
    max_tokens: int | None = None,
    with_accuracy: bool = True,
) -> tuple[MetricRow, ...]:
    """Accuracy over judged answers, and what apart from wrong answers lowers it.

    Unparsable, empty and truncated answers count as they were scored, and once more in a share of
    their own. ``with_accuracy`` is False where the scores are none of the model's.
    """
    values = [*_accuracies(samples, max_tokens), *_shares(samples, max_tokens)]
    return tuple(
        MetricRow(
            **measurement.key(task),
            workload=task,
            metric=each.metric,
            statistic=each.statistic,
            value=None if each.metric.startswith("accuracy") and not with_accuracy else each.value,
            unit=each.unit,
            direction=each.direction,
            n=each.n,
        )
        for each in values
    )


def _accuracies(samples: Sequence[Sample], max_tokens: int | None) -> Iterable[_Value]:
    judged = [sample for sample in samples if sample.score is not None]
    yield _accuracy("accuracy", judged)
    whole = [sample for sample in judged if not is_truncated(sample, max_tokens)]
    yield _accuracy("accuracy_not_truncated", whole)
    repeats = sorted({sample.repeat for sample in samples})
    for repeat in repeats if len(repeats) > 1 else ():
        one = [sample for sample in judged if sample.repeat == repeat]
        yield _accuracy("accuracy", one, statistic=f"repeat-{repeat + 1}")


def _accuracy(metric: str, judged: Sequence[Sample], statistic: str = "mean") -> _Value:
    value = mean(sample.score for sample in judged if sample.score is not None)
    return _Value(
        metric=metric, value=value, n=len(judged), direction="higher", statistic=statistic
    )


def _shares(samples: Sequence[Sample], max_tokens: int | None) -> Iterable[_Value]:
    answered = [sample for sample in samples if sample.status != "error"]
    flags = {
        "truncated_share": [is_truncated(sample, max_tokens) for sample in answered],
        "empty_share": [bool(sample.empty) for sample in answered],
        "unparsable_share": [sample.status == "unparsable" for sample in answered],
        "error_share": [sample.status == "error" for sample in samples],
    }
    for metric, found in flags.items():
        yield _Value(metric=metric, value=mean(found), n=len(found), direction="lower")
    tokens = [sample.output_tokens for sample in answered if sample.output_tokens is not None]
    yield _Value(
        metric="mean_output_tokens",
        value=mean(tokens),
        n=len(tokens),
        direction="lower",
        unit="tokens",
    )
