"""What ``release gate``, ``waive``, ``why`` and ``diff`` do."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from gauntlet.core.errors import unknown_name
from gauntlet.core.git import find_commit, git
from gauntlet.release.build.report import artifacts_gate
from gauntlet.release.folder import ReleaseFolder
from gauntlet.release.gates.differences import Commit, Difference, differ
from gauntlet.release.gates.evaluate import evaluate_gates
from gauntlet.release.gates.evidence import read_facts
from gauntlet.release.gates.facts import Subject
from gauntlet.release.gates.model import GateResult, Problem, Qualification
from gauntlet.release.gates.record import qualification_rows, recorded, waiver_row
from gauntlet.release.gates.rules import CiGate
from gauntlet.release.gates.waivers import ensure_allowed, problems_to_waive
from gauntlet.release.matrix.model import Matrix
from gauntlet.release.picks.check import check_branch
from gauntlet.release.policy import ReleasePolicy
from gauntlet.release.state import Candidate, Release
from gauntlet.release.version import ReleaseVersion
from gauntlet.warehouse.batch import decision_batch
from gauntlet.warehouse.delivery import deliver
from gauntlet.warehouse.store import open_store


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where everything about a release is."""

    repository: Path
    releases: Path
    location: str
    policy: ReleasePolicy
    matrix: Matrix


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluated:
    """A qualification, and the state that it is about."""

    release: Release
    candidate: Candidate
    result: Qualification


def evaluate_candidate(place: Place, version: ReleaseVersion, now: datetime) -> Evaluated:
    """Evaluate all gates of a candidate on what is recorded. Nothing is asked of a network."""
    _check_images(place)
    folder = ReleaseFolder.of(place.releases, version)
    release = folder.load()
    candidate = release.candidate_of(version)
    subject = subject_of(release, candidate, place.matrix)
    own = [
        _branch_gate(place, release, candidate),
        artifacts_gate(folder.candidate(candidate.name), candidate, place.matrix),
    ]
    with open_store(place.location) as store:
        facts = read_facts(store, subject, place.policy.gates)
    result = evaluate_gates(
        place.policy.gates,
        subject,
        facts,
        waivers=place.policy.waivers,
        level=place.policy.false_fail_rate,
        now=now,
        own=own,
    )
    return Evaluated(release=release, candidate=candidate, result=result)


def record_evaluation(place: Place, done: Evaluated, now: datetime, by: str) -> None:
    """Keep an evaluation as decisions."""
    rows = qualification_rows(
        done.result,
        artifacts=done.candidate.artifacts,
        previous=done.release.previous,
        at=now,
        by=by,
    )
    deliver(place.location, [decision_batch(done.candidate.name, "gates", rows, now)])


def subject_of(release: Release, candidate: Candidate, matrix: Matrix) -> Subject:
    """The candidate as gates see it."""
    return Subject(
        name=candidate.name,
        commit=candidate.commit,
        images={a.cell: a.digest for a in candidate.artifacts if a.kind == "image"},
        needs_image=bool(matrix.images),
        previous=release.previous,
        previous_commit=release.previous_commit,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class WaiverRequest:
    """What somebody wants to let pass, why, and for how many days."""

    gate: str
    keys: tuple[str, ...]
    everything: bool
    reason: str
    days: float
    by: str


def waive(
    place: Place, version: ReleaseVersion, request: WaiverRequest, now: datetime, *, dry_run: bool
) -> tuple[Problem, ...]:
    """Record a waiver; return what it covers. Raises UsageError where the policy forbids it."""
    done = evaluate_candidate(place, version, now)
    gates = done.result.gates
    problems = problems_to_waive(gates, request.gate, request.keys, everything=request.everything)
    rules = place.policy.waivers
    ensure_allowed(gates, request.gate, len(problems), request.days, rules)
    row = waiver_row(
        done.candidate.name,
        done.candidate.commit,
        request.gate,
        problems,
        reason=request.reason,
        by=request.by,
        at=now,
        until=now + timedelta(days=request.days),
    )
    if not dry_run:
        deliver(place.location, [decision_batch(done.candidate.name, "waivers", [row], now)])
    return problems


def difference(
    repository: Path, location: str, before: ReleaseVersion, after: ReleaseVersion
) -> Difference:
    """Compare what was recorded of two candidates; suspects are the commits between them."""
    with open_store(location) as store:
        one, other = recorded(store, before.tag), recorded(store, after.tag)
    return differ(one, other, commits_between(repository, one.commit, other.commit))


def commits_between(repository: Path, before: str, after: str) -> Sequence[Commit]:
    """Commits of ``after`` that ``before`` does not have, newest first."""
    listed = git(repository, "log", "--format=%H%x09%s", f"{before}..{after}", "--")
    lines = (line.partition("\t") for line in listed.splitlines())
    return [Commit(sha=sha, title=title) for sha, _, title in lines]


def _check_images(place: Place) -> None:
    """Refuse gates on images that nobody builds: they could never pass. Raises UsageError."""
    known = {cell.id for cell in place.matrix.images}
    for gate in place.policy.gates:
        asked = [gate.image] if isinstance(gate, CiGate) else [need.image for need in gate.runs]
        for image in asked:
            if image not in {"", "*"} and image not in known:
                hint = (
                    f"gate {gate.name} of the policy asks for it; --matrix and --policy go together"
                )
                raise unknown_name("image of the matrix", image, known, hint=hint)


def _branch_gate(place: Place, release: Release, candidate: Candidate) -> GateResult:
    """What is on the branch, judged by what this clone knows of main."""
    main = _main(place)
    if main is None:
        message = f"{place.repository} does not know the branch {place.policy.repository.base}"
        problem = Problem(key="main", state="MISSING", message=message, remedy="git fetch")
        return GateResult(name="branch", problems=(problem,))
    found = check_branch(
        place.repository,
        cut=release.cut.commit,
        head=candidate.commit,
        main=main,
        allow=place.policy.allow,
    )
    problems = tuple(
        Problem(
            key=f"{each.check}/{each.subject}",
            state="FAIL",
            message=f"{each.subject}: {each.message}",
            remedy=each.remedy,
        )
        for each in found
        if each.level == "error"
    )
    notes = tuple(f"{each.subject}: {each.message}" for each in found if each.level == "warning")
    return GateResult(name="branch", problems=problems, notes=notes)


def _main(place: Place) -> str | None:
    """Head of main as it was last fetched; of a clone without a remote its own."""
    where = place.policy.repository
    fetched = find_commit(place.repository, f"refs/remotes/{where.remote}/{where.base}")
    return fetched or find_commit(place.repository, f"refs/heads/{where.base}")
