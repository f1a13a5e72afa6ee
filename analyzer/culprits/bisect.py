"""The use case of ``gauntlet bisect``: a command, a repository, two commits; who broke it?"""

import contextlib
import shlex
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from gauntlet.analyzer.culprits.answer import Answer, answer
from gauntlet.analyzer.culprits.expect import expected_runs
from gauntlet.analyzer.culprits.folders import owned, remove_left, slots_folder, state_folder
from gauntlet.analyzer.culprits.harness import MeasuringWorktrees
from gauntlet.analyzer.culprits.history import Range, read_range, short
from gauntlet.analyzer.culprits.imports import import_closure
from gauntlet.analyzer.culprits.investigation import Case, Investigation
from gauntlet.analyzer.culprits.journal import Header, Journal
from gauntlet.analyzer.culprits.metric import Levels
from gauntlet.analyzer.culprits.model import Prober
from gauntlet.analyzer.culprits.prior import Clues, Weighed, weigh
from gauntlet.analyzer.culprits.rates import Rates
from gauntlet.analyzer.culprits.reverted import Reverter
from gauntlet.analyzer.culprits.run import Budget, Drive
from gauntlet.analyzer.culprits.seen import Target
from gauntlet.analyzer.culprits.ways import Way
from gauntlet.analyzer.culprits.worktrees import Command, Worktrees
from gauntlet.core.errors import UsageError
from gauntlet.core.git import git
from gauntlet.core.ids import digest

_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class BisectRequest:
    """What is asked for. ``journal`` None: in the repository, one for each search.

    With a ``way`` its ``target`` is run at each commit, and there is no command.
    """

    repository: Path
    good: str
    bad: str
    command: Command = field(default_factory=lambda: Command(argv=()))
    way: Way | None = None
    target: Target | None = None
    flake: float | None = None
    broken: float | None = None
    jobs: int = 1
    metric: str = ""
    levels: Levels | None = None
    budget: Budget = field(default_factory=Budget)
    journal: Path | None = None
    restart: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What would be done: the range, where to look first, and how long it may take."""

    commits: Range
    prior: tuple[Weighed, ...]
    case: Case
    command: Command
    header: Header

    @property
    def key(self) -> str:
        """The same for the same search."""
        return digest(self.header.model_dump(mode="json", exclude={"incident", "name"}))

    def plain(self) -> dict[str, object]:
        """As JSON."""
        case, ends = self.case, self.commits
        order = sorted(range(len(self.prior)), key=lambda place: -self.prior[place].share)
        return {
            "good": ends.good.sha,
            "bad": ends.bad.sha,
            "commits": len(ends.commits),
            "prior": [
                {
                    "sha": ends.commits[place].sha,
                    "title": ends.commits[place].title,
                    "probability": self.prior[place].share,
                    "reasons": list(self.prior[place].reasons),
                }
                for place in order
            ],
            "first_probes": self.first_probes(),
            "expected_runs": expected_runs(case),
            "jobs": case.at_once,
        }

    def first_probes(self) -> list[str]:
        """Commits that would be run first: both ends, then where it tells most."""
        search = Investigation(self.case).track.search
        inner = [self.case.at(place).sha for place in search.next_probes(self.case.at_once)]
        return [self.commits.bad.sha, self.commits.good.sha, *inner]

    def lines(self) -> list[str]:
        """As text for people."""
        ends = self.commits
        count = len(ends.commits)
        lines = [f"{short(ends.good.sha)}..{short(ends.bad.sha)}: {count} commits under suspicion"]
        order = sorted(range(count), key=lambda place: -self.prior[place].share)
        for place in order[:_SHOWN]:
            one, commit = self.prior[place], ends.commits[place]
            because = f": {'; '.join(one.reasons)}" if one.reasons else ""
            lines.append(f"  {one.share:6.1%} {short(commit.sha)} {commit.title}{because}")
        first = ", ".join(short(sha) for sha in self.first_probes())
        lines.append(f"first runs at: {first}")
        lines.append(f"about {expected_runs(self.case):.0f} runs, then the proof")
        return lines


def plan_bisect(request: BisectRequest) -> Plan:
    """Read the range and weigh its commits; runs nothing.

    Raises UsageError for what is no range, no command, or rates that make no sense together.
    """
    commits = read_range(request.repository, request.good, request.bad)
    if request.way is None:
        _check_command(request.command)
    try:
        rates = Rates.around(request.flake, request.broken)
    except ValueError as error:
        hint = "give --flake-rate below --p-fail"
        raise UsageError(f"--flake-rate and --p-fail: {error}", hint=hint) from error
    prior = tuple(weigh(commits.commits, _clues(request, commits)))
    case = Case(
        good=commits.good,
        commits=commits.commits,
        prior=tuple(one.share for one in prior),
        rates=rates,
        at_once=1 if request.metric else request.jobs,
        metric=bool(request.metric),
        levels=request.levels,
        without=request.way.without if request.way else Reverter(request.repository).without,
    )
    prefix = _prefix(request.repository)
    command = replace(request.command, subfolder=prefix)
    header = _header(commits, _words(request, command))
    return Plan(commits=commits, prior=prior, case=case, command=command, header=header)


def bisect(request: BisectRequest, tell: Callable[[str], None]) -> Answer:
    """Find and verify who broke it; ``tell`` gets a line for every run.

    An interrupted search leaves its journal; the same request continues it.
    Raises UsageError as planning does, InfrastructureError where nothing can be run.
    """
    plan = plan_bisect(request)
    state = state_folder(request.repository, plan.key)
    path = request.journal or state / "journal.jsonl"
    with owned(state), Journal(path, plan.header, restart=request.restart) as journal:
        remove_left(request.repository, state)
        if journal.continued:
            tell(f"{journal.continued} runs are known from {path}; --restart forgets them")
        investigation = Investigation(plan.case)
        with _prober(request, plan, state, journal) as prober:
            drive = Drive(investigation, prober, journal, request.budget, tell)
            try:
                drive.run()
            except KeyboardInterrupt:
                tell(f"stopped; {path} keeps all runs, and the same command continues")
                raise
    return answer(
        investigation,
        tuple(one.reasons for one in plan.prior),
        drive.spent,
        stopped=drive.stopped,
        reproduce=_reproduce(investigation, plan, request),
    )


@contextlib.contextmanager
def _prober(request: BisectRequest, plan: Plan, state: Path, journal: Journal) -> Iterator[Prober]:
    if request.way is not None and request.target is not None:
        with request.way.open(request.target, state, journal) as prober:
            yield prober
        return
    with Worktrees(
        request.repository,
        slots_folder(state),
        plan.command,
        logs=state / "logs",
        slots=plan.case.at_once,
    ) as worktrees:
        yield MeasuringWorktrees(worktrees, request.metric) if request.metric else worktrees


def _words(request: BisectRequest, command: Command) -> tuple[str, ...]:
    if request.way is not None and request.target is not None:
        return request.way.words(request.target)
    said = [*command.argv, *(["--metric", request.metric] if request.metric else [])]
    said += ["--build", *command.build] if command.build else []
    said += ["--in", command.subfolder] if command.subfolder else []
    return tuple(said)


def _header(commits: Range, words: tuple[str, ...]) -> Header:
    """What makes two searches the same: the rates that are assumed do not."""
    return Header(good=commits.good.sha, bad=commits.bad.sha, command=words)


def _check_command(command: Command) -> None:
    for argv in (command.argv, command.build):
        if argv and "/" not in argv[0] and shutil.which(argv[0]) is None:
            msg = f"there is no program {argv[0]!r}"
            raise UsageError(msg, hint="the command after -- is run without a shell: sh -c '...'")


def _prefix(repository: Path) -> str:
    """The folder below the top of the working tree in which the command is to run."""
    return git(repository, "rev-parse", "--show-prefix").rstrip("\n")


def _clues(request: BisectRequest, commits: Range) -> Clues:
    """What the command tells of the test: a file of the repository among its words."""
    prefix = _prefix(request.repository)
    for word in request.command.argv:
        path = prefix + word.partition("::")[0]
        if path.endswith(".py"):
            imports = import_closure(request.repository, commits.bad.sha, path)
            if imports:
                return Clues(test_file=path, imports=imports)
    return Clues()


def _reproduce(investigation: Investigation, plan: Plan, request: BisectRequest) -> str:
    found = investigation.conclusion.found
    sha = investigation.case.at(found[0].place).sha if found else plan.commits.bad.sha
    if request.way is not None and request.target is not None:
        return request.way.reproduce(request.target, sha)
    where = shlex.quote(f"check-{short(sha)}")
    into = shlex.quote(f"check-{short(sha)}/{plan.command.subfolder}".rstrip("/"))
    steps = [f"git worktree add --detach {where} {sha}", f"cd {into}"]
    steps += [shlex.join(argv) for argv in (plan.command.build, plan.command.argv) if argv]
    return " && ".join(steps)
