"""The case of an incident: its commits, what is known of each, and where to look first."""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from gauntlet.analyzer.culprits.expect import expected_runs
from gauntlet.analyzer.culprits.history import read_range, short
from gauntlet.analyzer.culprits.imports import import_closure
from gauntlet.analyzer.culprits.investigation import Case, Investigation
from gauntlet.analyzer.culprits.journal import Header
from gauntlet.analyzer.culprits.model import Commit, Seen
from gauntlet.analyzer.culprits.prior import Clues, Weighed, revert_history, weigh
from gauntlet.analyzer.culprits.run import Budget
from gauntlet.analyzer.culprits.seen import Told, told_of
from gauntlet.analyzer.culprits.ways import Way
from gauntlet.analyzer.incidents.history import History
from gauntlet.analyzer.incidents.incident import Incident
from gauntlet.core.errors import UsageError
from gauntlet.core.git import git


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSettings:
    """Where a search keeps its journal, what it may use, and what helps it to look.

    ``allowance`` bounds the runs that are made now; ``lags`` tell how far before the first failure
    earlier culprits stood. Without a ``repository`` nothing is known of imports.
    """

    folder: Path
    repository: Path | None = None
    budget: Budget = field(default_factory=Budget)
    allowance: Budget = field(default_factory=Budget)
    lags: Sequence[int] = ()
    tell: Callable[[str], None] = lambda _line: None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a search would do."""

    told: Told
    case: Case
    prior: tuple[Weighed, ...]
    header: Header

    def plain(self) -> dict[str, object]:
        """As JSON."""
        search, target = Investigation(self.case).track.search, self.told.target
        return {
            "job": target.job,
            "tests": list(target.tests),
            "good": self.case.good.sha,
            "suspects": [
                {"sha": commit.sha, "probability": one.share, "reasons": list(one.reasons)}
                for commit, one in zip(self.case.commits, self.prior, strict=True)
            ],
            "seen": {
                sha: {"failed": seen.failed, "passed": seen.passed}
                for sha, seen in sorted(self.case.seen.items())
            },
            "first_probes": [self.case.at(place).sha for place in search.next_probes(1)],
            "expected_runs": expected_runs(self.case),
        }


def plan_search(
    incident: Incident, history: History, way: Way, settings: SearchSettings
) -> Plan | str:
    """Make a case of an incident; where none can be made, say why. Runs nothing."""
    told = told_of(incident, history, whole_job=way.whole_job)
    target = told.target
    good = _good(incident, history, settings.repository)
    if good is None:
        return f"the commit before {short(incident.suspects[0].sha)} is not known"
    commits = _detailed(_suspects(incident, told), good, settings.repository)
    before = told.seen().get(good.sha, Seen())
    if way.whole_job and before.failed and not before.passed:
        return (
            f"{target.job} fails at {short(good.sha)} for another reason too, so that runs of the"
            " whole job cannot tell: search with a command that runs the tests alone"
        )
    if refused := way.refusal(target, (good.sha, commits[-1].sha)):
        return refused
    try:
        rates = told.rates()
    except ValueError as error:
        return str(error)
    prior = tuple(weigh(commits, _clues(incident, told, settings)))
    case = Case(
        good=good,
        commits=commits,
        prior=tuple(one.share for one in prior),
        rates=rates,
        at_once=way.at_once,
        without=way.without,
        prove=way.same_queue,
    )
    return Plan(
        told=told,
        case=replace(case, seen=seen_of(told, case, "")),
        prior=prior,
        header=header_of(incident, told, way),
    )


def header_of(incident: Incident, told: Told, way: Way) -> Header:
    """An incident's range may move; runs of the same thing at a commit stay what they are."""
    return Header(good="", bad="", incident=incident.incident_id, command=way.words(told.target))


def seen_of(told: Told, case: Case, journal: str) -> Mapping[str, Seen]:
    """What is known of the range; a run of ours that came back through the warehouse is one."""
    seen = told.seen(without=journal)
    shas = [case.good.sha, *(commit.sha for commit in case.commits)]
    return {sha: seen[sha] for sha in shas if sha in seen}


def _good(incident: Incident, history: History, repository: Path | None) -> Commit | None:
    """The commit before the first suspect: where it passed, or where it did not exist yet."""
    place = history.mainline.positions[incident.suspects[0].sha]
    if place:
        return history.mainline.commits[place - 1]
    if repository is None:
        return None
    try:
        parent = git(repository, "rev-parse", "--verify", f"{incident.suspects[0].sha}^1")
    except UsageError:
        return None
    return Commit(sha=parent.strip())


def _suspects(incident: Incident, told: Told) -> tuple[Commit, ...]:
    """The incident's own, and later ones where its first failure alone may be a flake."""
    mainline = told.history.mainline
    first_bad = mainline.positions[incident.first_bad]
    if told.target.born_red:
        return incident.suspects
    last = max(first_bad, told.until(first_bad))
    return (*incident.suspects, *mainline.between(first_bad, last))


def _detailed(
    commits: tuple[Commit, ...], good: Commit, repository: Path | None
) -> tuple[Commit, ...]:
    """The suspects, with what the repository knows of them beyond the warehouse."""
    if repository is None:
        return commits
    try:
        known = {c.sha: c for c in read_range(repository, good.sha, commits[-1].sha).commits}
    except UsageError:
        return commits
    return tuple(
        replace(commit, lines_changed=known[commit.sha].lines_changed)
        if commit.sha in known
        else commit
        for commit in commits
    )


def _clues(incident: Incident, told: Told, settings: SearchSettings) -> Clues:
    commits = told.history.mainline.commits
    undone = {commit.reverts for commit in commits if commit.reverts}
    tests = told.target.tests or incident.tests
    file = tests[0].partition("::")[0] if tests else ""
    imports: Mapping[str, int] = {}
    if settings.repository is not None and file.endswith(".py"):
        with contextlib.suppress(UsageError):
            imports = import_closure(settings.repository, incident.first_bad, file)
    return Clues(
        test_file=file,
        imports=imports,
        text=f"{incident.line} {incident.signature}",
        lags=settings.lags,
        reverted=frozenset(
            commit.sha
            for commit in incident.suspects
            if any(commit.sha.startswith(sha) for sha in undone)
        ),
        taken_back=revert_history(commits),
    )
