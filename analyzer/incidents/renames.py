"""A job with another name is the same job: what it did before counts."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from gauntlet.analyzer.incidents.history import History, Run


def renamed_jobs(history: History) -> Mapping[str, str]:
    """Find jobs that took another key: new key to old.

    A job was renamed where it ran for the first time after another of its group and queue had
    run for the last time, where no other job of them came or went at that moment, and where the
    tests that are known of both agree. Where that is not so, a new job is a new job.
    """
    runs: dict[str, list[Run]] = defaultdict(list)
    for run in history.runs:
        runs[run.job_key].append(run)
    if len(runs) < 2:
        return {}
    position = history.mainline.positions
    built = sorted({position[run.sha] for run in history.runs})
    came: dict[tuple[str, str, int], list[str]] = defaultdict(list)
    went: dict[tuple[str, str, int], list[str]] = defaultdict(list)
    for key, found in runs.items():
        first, last = position[found[0].sha], position[found[-1].sha]
        place = (found[0].group_key, found[0].queue)
        if first > built[0]:
            came[(*place, _before(built, first))].append(key)
        if last < built[-1]:
            went[(*place, last)].append(key)
    return {
        new[0]: old[0]
        for place, new in came.items()
        if len(new) == 1
        and len(old := went.get(place, [])) == 1
        and _same_tests(runs[new[0]], runs[old[0]])
    }


def with_old_names(history: History) -> tuple[History, Mapping[str, str]]:
    """Give every run of a renamed job its newest key; return the renames as well."""
    renames = renamed_jobs(history)
    if not renames:
        return history, renames
    newest = {old: new for new, old in renames.items()}
    runs = tuple(replace(run, job_key=_follow(newest, run.job_key)) for run in history.runs)
    return replace(history, runs=runs), renames


def _follow(newest: Mapping[str, str], key: str) -> str:
    while key in newest:
        key = newest[key]
    return key


def _before(built: Sequence[int], position: int) -> int:
    """The newest built commit before a position."""
    return max(each for each in built if each < position)


def _same_tests(new: Iterable[Run], old: Iterable[Run]) -> bool:
    """Whether tests seen in both agree; where either has no report, nothing speaks against it."""
    tests = [{test for run in runs for test in (*run.failing, *run.passing)} for runs in (new, old)]
    return not all(tests) or bool(tests[0] & tests[1])
