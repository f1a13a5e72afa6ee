"""Check how jobs hang together: keys are unique, dependencies exist and form no cycle."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from gauntlet.core.errors import Problem, nearest
from gauntlet.pipelines.definitions.job import BrokenJob, Job
from gauntlet.pipelines.definitions.keys import MAX_KEY, key_fault, safe_key

# How the problems that are found here begin.
DANGLING = "no job has this key"
CIRCULAR = "circular"
TAKEN = "the key is already used"


def check_graph(
    jobs: Sequence[Job], broken: Sequence[BrokenJob]
) -> tuple[list[Job], list[BrokenJob]]:
    """Move jobs with a repeated key, an unknown or a circular dependency to the broken ones."""
    jobs, bad = _unique(jobs, broken)
    known = {job.key for job in jobs} | {job.key for job in bad}
    circular = find_cycles({job.key: job.depends_on for job in jobs})
    sound = []
    for job in jobs:
        problems = [
            Problem(
                file=job.file,
                line=job.line,
                key=f"{job.key}.depends_on",
                message=DANGLING,
                value=repr(dependency),
                nearest=nearest(dependency, known),
            )
            for dependency in job.depends_on
            if dependency not in known
        ]
        if job.key in circular:
            path = " -> ".join(circular[job.key])
            key = f"{job.key}.depends_on"
            problems.append(
                Problem(file=job.file, line=job.line, key=key, message=f"{CIRCULAR}: {path}")
            )
        if problems:
            bad.append(_broken(job, problems))
        else:
            sound.append(job)
    return sound, bad


def _unique(jobs: Sequence[Job], broken: Sequence[BrokenJob]) -> tuple[list[Job], list[BrokenJob]]:
    """Give every broken job a key of its own; the second user of a key becomes broken."""
    seen: Counter[str] = Counter()
    taken = {job.key for job in jobs} | {item.key for item in broken}
    sound, bad = [], []
    first: dict[str, str] = {}
    for job in jobs:
        fault = key_fault(job.key)
        if fault:
            problem = Problem(
                file=job.file, line=job.line, key="key", message=fault, value=repr(job.key)
            )
            safe = safe_key(job.key, job.file)
            bad.append(_broken(replace(job, key=_free(safe, taken)), [problem]))
            continue
        seen[job.key] += 1
        if seen[job.key] == 1:
            sound.append(job)
            first[job.key] = job.file
            continue
        message = f"{TAKEN} in {first[job.key]}"
        problem = Problem(
            file=job.file, line=job.line, key="key", message=message, value=repr(job.key)
        )
        bad.append(_broken(replace(job, key=_free(job.key, taken)), [problem]))
    for item in broken:
        seen[item.key] += 1
        bad.append(item if seen[item.key] == 1 else replace(item, key=_free(item.key, taken)))
    return sound, bad


def _free(key: str, taken: set[str]) -> str:
    """Return ``key``, or the first numbered form of it that nobody has, and take it."""
    free, number = key, 1
    while free in taken:
        number += 1
        free = f"{key[: MAX_KEY - 10]}-{number}"
    taken.add(free)
    return free


def _broken(job: Job, problems: Iterable[Problem]) -> BrokenJob:
    return BrokenJob(
        key=job.key,
        label=job.label,
        group=job.group,
        file=job.file,
        problems=tuple(problems),
        line=job.line,
    )


def find_cycles(edges: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Return, for every key on a cycle, one cycle that it is on. Iterative: chains can be long."""
    done: set[str] = set()
    found: dict[str, tuple[str, ...]] = {}
    for root in edges:
        path: list[str] = []
        place: dict[str, int] = {}
        stack = [(root, iter(edges[root]))] if root not in done else []
        if stack:
            place[root] = 0
            path.append(root)
        while stack:
            key, following = stack[-1]
            step = next(following, None)
            if step is None:
                stack.pop()
                path.pop()
                del place[key]
                done.add(key)
            elif step in place:
                cycle = tuple(path[place[step] :])
                for member in cycle:
                    found.setdefault(member, (*cycle, step))
            elif step in edges and step not in done:
                place[step] = len(path)
                path.append(step)
                stack.append((step, iter(edges[step])))
    return found
