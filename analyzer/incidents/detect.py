"""From a history to incidents. Pure: equal histories give equal incidents."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from gauntlet.analyzer.culprits.model import Commit
from gauntlet.analyzer.incidents.columns import columns_of, signature_of
from gauntlet.analyzer.incidents.environment import Environment, differences, last_pair
from gauntlet.analyzer.incidents.evidence import Evidence, count, evidence_of, next_step
from gauntlet.analyzer.incidents.grouping import Group, group_streaks
from gauntlet.analyzer.incidents.history import History, Mainline, Run
from gauntlet.analyzer.incidents.incident import Difference, Incident, Kind
from gauntlet.analyzer.incidents.renames import with_old_names
from gauntlet.analyzer.incidents.streaks import Streak, find_streak


def detect(
    history: History, environments: Mapping[str, Environment] | None = None
) -> list[Incident]:
    """List what is broken at the end of a history, gravest first.

    One incident per cause, not per job, shard or test. ``environments`` are those of job attempts
    by id, where they were recorded.
    """
    history, renames = with_old_names(history)
    found = [
        _incident(history.mainline, group, renames, environments or {})
        for group in group_streaks(_streaks(history))
    ]
    return sorted(found, key=lambda i: (i.status != "confirmed", -len(i.jobs), i.incident_id))


def new_id(signature: str, first_bad: str) -> str:
    """Name an incident by what it shows and where it was first seen."""
    digest = hashlib.sha256(f"{signature}\0{first_bad}".encode()).hexdigest()
    return f"inc-{digest[:10]}"


def _streaks(history: History) -> Iterable[Streak]:
    runs: dict[str, list[Run]] = defaultdict(list)
    for run in history.runs:
        runs[run.job_key].append(run)
    for key, found in sorted(runs.items()):
        for column in columns_of(history.mainline, key, found):
            if (streak := find_streak(column)) is not None:
                yield streak


def _incident(
    mainline: Mainline,
    group: Group,
    renames: Mapping[str, str],
    environments: Mapping[str, Environment],
) -> Incident:
    runs = sorted(chain(*(streak.failures for streak in group.streaks)), key=lambda run: run.at)
    evidence = evidence_of(group)
    turned = any(streak.turned_bad for streak in group.streaks)
    kind: Kind = "environment" if turned else "commits"
    suspects = () if turned else _suspects(mainline, group)
    changed = _changed(group, environments) if turned else ()
    signature = Counter(map(signature_of, runs)).most_common(1)[0][0]
    first_bad = mainline.commits[group.first_bad].sha
    last_good = None if group.last_good is None else mainline.commits[group.last_good].sha
    unknown = _untold(mainline, group, suspects)
    return Incident(
        incident_id=new_id(signature, first_bad),
        kind=kind,
        status="confirmed" if evidence.enough else "suspected",
        signature=signature,
        failure_class=_class(runs, kind, changed, sure=evidence.enough),
        jobs=tuple(sorted(group.jobs)),
        tests=tuple(sorted(group.tests)),
        first_bad=first_bad,
        last_good=last_good,
        suspects=suspects,
        unknown=unknown,
        failures=evidence.failures,
        passes=evidence.passes,
        opened_at=runs[0].at,
        last_seen_at=runs[-1].at,
        line=runs[-1].line,
        url=runs[-1].url,
        next_step=next_step(kind, evidence, suspects, first_bad, last_good, changed=bool(changed)),
        reasons=tuple(_reasons(group, evidence, suspects, unknown, renames)),
        differences=changed,
        queues=tuple(sorted({run.queue for run in runs if run.queue})),
        hosts=tuple(sorted({run.host for run in runs if run.host})),
    )


def _suspects(mainline: Mainline, group: Group) -> tuple[Commit, ...]:
    """Commits after the last good one, or after the last at which what fails did not exist."""
    start = group.last_good if group.last_good is not None else group.absent_until
    return () if start is None else mainline.between(start, group.first_bad)


def _untold(mainline: Mainline, group: Group, suspects: Sequence[Commit]) -> int:
    """How many suspects no run has told anything of."""
    cells = chain(*(streak.column.cells for streak in group.streaks))
    told = {cell.position for cell in cells if cell.says != "nothing"}
    return sum(mainline.positions[commit.sha] not in told for commit in suspects)


def _class(runs: Iterable[Run], kind: Kind, changed: Sequence[Difference], *, sure: bool) -> str:
    """The class of most failures; what broke without a commit is a dependency's doing.

    It is where a package changed, and where nobody recorded what did and it is no chance.
    """
    packages = any(each.kind == "package" for each in changed)
    if kind == "environment" and (packages or (sure and not changed)):
        return "dependency"
    return Counter(run.failure_class or "unknown" for run in runs).most_common(1)[0][0]


def _changed(group: Group, environments: Mapping[str, Environment]) -> tuple[Difference, ...]:
    cells = [cell for streak in group.streaks for cell in streak.turned_bad]
    good = [run.job_id for cell in cells for run in cell.good]
    bad = [run.job_id for cell in cells for run in cell.bad]
    pair = last_pair(environments, good, bad)
    return differences(*pair) if pair else ()


def _reasons(
    group: Group,
    evidence: Evidence,
    suspects: Sequence[Commit],
    unknown: int,
    renames: Mapping[str, str],
) -> Iterable[str]:
    if evidence.intermittent:
        yield f"{evidence}: one pass does not clear a commit"
    elif group.absent_until is None:
        yield f"{evidence}; chance alone: {evidence.chance:.2g}"
    else:
        yield "it failed from its first run: the commit that added it is the suspect"
    turned = {cell.bad[0].sha[:10] for streak in group.streaks for cell in streak.turned_bad}
    if turned:
        yield f"passed, and failed later without a change: {', '.join(sorted(turned))}"
    if unknown:
        yield f"{unknown} of {count(len(suspects), 'suspect')} did not run it"
    for new, old in sorted(renames.items()):
        if new in group.jobs:
            yield f"{new} was called {old} before"
