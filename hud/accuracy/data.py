"""What the analyzer says of two evals."""

from gauntlet.analyzer.accuracy.judge import judge_accuracy
from gauntlet.analyzer.accuracy.outcome import AccuracyVerdict
from gauntlet.analyzer.accuracy.samples import AnswerSet
from gauntlet.analyzer.accuracy.stored import stored_repetition
from gauntlet.warehouse.store import Store


def judged(
    store: Store, *, task: str, answer_filter: str, before: str, after: str
) -> AccuracyVerdict:
    """Judge the later of two repetitions against the earlier one, on one task.

    Raises UsageError where there is no such repetition, or where their questions do not match.
    """
    sides = [_side(store, each, task, answer_filter) for each in (before, after)]
    return judge_accuracy(*sides)


def _side(store: Store, repetition_id: str, task: str, answer_filter: str) -> AnswerSet:
    sets = stored_repetition(store, repetition_id, answer_filter=answer_filter)
    # Where no answer is kept there is one set, of the workload, with the reasons.
    return next((each for each in sets if each.task == task), sets[0])
