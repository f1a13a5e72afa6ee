"""What differs beside the engine: then a change of the score is a dependency's, not the build's."""

from collections.abc import Mapping
from dataclasses import dataclass

from gauntlet.analyzer.accuracy.samples import AnswerSet


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One thing that the sides were not asked alike with."""

    what: str
    baseline: str
    candidate: str

    def __str__(self) -> str:
        return f"{self.what} {self.baseline} → {self.candidate}"


def differences(baseline: AnswerSet, candidate: AnswerSet) -> tuple[Difference, ...]:
    """Everything recorded by both sides that differs: harness, task, shots, settings, prompts.

    The model's name is none of it: two builds, or two quantisations, may serve under two names.
    Equal fingerprints vouch for the settings; where they differ and nothing else tells why, that
    is a difference of its own.
    """
    before, after = _asked_with(baseline), _asked_with(candidate)
    known = bool(baseline.fingerprint and candidate.fingerprint)
    alike = known and baseline.fingerprint == candidate.fingerprint
    if not alike:
        before, after = {**before, **baseline.settings}, {**after, **candidate.settings}
    found = [
        Difference(what=what, baseline=before[what], candidate=after[what])
        for what in before
        if what in after and before[what] != after[what]
    ]
    reworded = _reworded(baseline, candidate)
    if reworded is not None:
        found.append(reworded)
    unexplained = not found and baseline.model == candidate.model
    if known and not alike and unexplained:
        prints = (baseline.fingerprint, candidate.fingerprint)
        found.append(Difference(what="fingerprint", baseline=prints[0], candidate=prints[1]))
    return tuple(found)


def unknown(baseline: AnswerSet, candidate: AnswerSet) -> tuple[str, ...]:
    """What only one side records, so that nobody can tell whether it is the same."""
    before, after = _asked_with(baseline), _asked_with(candidate)
    return tuple(sorted(before.keys() ^ after.keys()))


def _asked_with(side: AnswerSet) -> Mapping[str, str]:
    columns = {
        "task": side.task if side.task_known else "",
        "metric": side.metric,
        "filter": side.filter,
        "harness": side.harness,
        "harness version": side.harness_version,
        "task version": side.task_version,
        "shots": "" if side.fewshot is None else str(side.fewshot),
        "data": side.dataset_digest,
    }
    return {key: value for key, value in columns.items() if value}


def _reworded(baseline: AnswerSet, candidate: AnswerSet) -> Difference | None:
    """Whether questions of one id were sent in other words, by template, examples or system text.

    An id that means another question altogether is not comparable at all: pairing refuses it.
    """
    sent = {answer.item_id: answer for answer in candidate.answers}
    changed = [
        (answer, other)
        for answer in baseline.answers
        if (other := sent.get(answer.item_id)) is not None
        and answer.question_digest == other.question_digest
        and answer.prompt_digest
        and other.prompt_digest
        and answer.prompt_digest != other.prompt_digest
    ]
    if not changed:
        return None
    before, after = changed[0]
    return Difference(
        what=f"prompt of {len(changed)} of {len(baseline.answers)} questions,"
        f" first {before.item_id},",
        baseline=before.prompt_digest[:12],
        candidate=after.prompt_digest[:12],
    )
