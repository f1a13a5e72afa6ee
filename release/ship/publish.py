"""Publish a candidate that qualifies: step by step, each done once, ``latest`` last of all.

The decision is taken once and kept. After it nothing is judged again: killed anywhere, the next
try goes on with the same candidate, documents and instant, and comes to the same outcome.
"""

import json
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from gauntlet import __version__
from gauntlet.core.errors import NotQualifiedError, UsageError
from gauntlet.core.files import write_atomic
from gauntlet.release.build.place import Workshop
from gauntlet.release.deeds import Deed, Office
from gauntlet.release.findings import errors_of
from gauntlet.release.folder import ReleaseFolder
from gauntlet.release.gates.record import KeptGate
from gauntlet.release.gates.use import Place, evaluate_candidate, record_evaluation
from gauntlet.release.images import reference
from gauntlet.release.images.promote import promote, reference_of
from gauntlet.release.images.promotion import (
    MoveTag,
    Promotion,
    plan_promotion,
    read_staged,
    read_tags,
)
from gauntlet.release.images.tags import check_tags
from gauntlet.release.index.build import Request, build_index
from gauntlet.release.picks.window import check_clock, window_of
from gauntlet.release.proof.signers import Signer
from gauntlet.release.remote import Remote
from gauntlet.release.ship.documents import Papers, write_documents
from gauntlet.release.ship.files import files_of, place_files
from gauntlet.release.ship.record import (
    RECORD,
    RECORD_TEXT,
    Record,
    Tag,
    markdown,
    record_bytes,
)
from gauntlet.release.state import Candidate, Published, Release
from gauntlet.release.tagging import push_tag
from gauntlet.release.version import ReleaseVersion

_LOGGER = logging.getLogger(__name__)
_QUALIFICATION, _NOTES = "qualification.json", "notes.md"

Tell = Callable[[str], None]
"""Hears of each step when it is over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Press:
    """What publishing works with. ``notes`` drafts the notes of a candidate."""

    place: Place
    folder: ReleaseFolder
    shop: Workshop
    remote: Remote
    office: Office
    signer: Callable[[], Signer]
    notes: Callable[[Release, Candidate], str]

    @property
    def index(self) -> Path:
        """Where the package index is; one for all releases."""
        named = self.place.policy.publish.index
        return Path(named).absolute() if named else self.folder.public / "index"

    @property
    def public(self) -> reference.Place:
        """Where released images are."""
        text = self.place.policy.images.public
        return reference.Place.parse(text or f"oci:{self.folder.public / 'images'}")

    @property
    def documents(self) -> Path:
        """Where documents and the record are."""
        return self.folder.published / "documents"


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishPlan:
    """What publishing would do; ``gates`` are those that it is decided on."""

    version: ReleaseVersion
    candidate: Candidate
    begun: Published | None
    published: bool
    gates: tuple[KeptGate, ...]
    promotion: Promotion | None
    index: Path

    def lines(self) -> Iterator[str]:
        """For people, before they are asked."""
        made = self.candidate
        if self.published:
            yield f"{self.version} is published already, from {made.name}"
            return
        if self.begun:
            yield f"{self.version}: go on with {made.name}, which {self.begun.by} began to publish"
        yield f"publish {made.name} ({made.commit}) as {self.version}"
        yield "gates: " + ", ".join(f"{gate.gate} {gate.state}" for gate in self.gates)
        steps = self.promotion.steps if self.promotion else ()
        yield f"write and sign documents for {len(made.artifacts)} artifacts"
        yield from (each.line() for each in steps if not isinstance(each, MoveTag))
        files = files_of(made.artifacts)
        yield from (f"copy  {each.name} to {self.index / made.commit}" for each in files)
        yield f"tag   {self.version.tag} at {made.commit}"
        yield f"index {self.version.final.python} in {self.index}"
        yield "write and sign the record"
        yield from (each.line() for each in steps if isinstance(each, MoveTag))
        yield from (f"leave {reason}" for reason in (self.promotion.left if self.promotion else ()))


def plan_publish(
    press: Press, version: ReleaseVersion, now: datetime, by: str, *, record: bool = True
) -> PublishPlan:
    """Decide which candidate may ship, and what that takes.

    Without a number the newest candidate is asked for; ``record`` keeps the evaluation. Raises
    NotQualifiedError where it does not qualify: nothing ships then.
    """
    state = press.folder.load()
    begun = state.published or state.publishing
    check_clock(now, state.cut.at, f"{state.version} was cut")
    if begun is None:
        candidate = state.candidate_of(version)
        check_clock(now, candidate.at, f"{candidate.name} was tagged")
        gates = _judge(press, state, candidate, now, by if record else "")
    else:
        candidate = state.candidate_of(ReleaseVersion.parse(begun.candidate))
        if version.is_candidate and version.tag != begun.candidate:
            msg = f"{begun.by} began to publish {begun.candidate} as {state.version}"
            raise UsageError(msg, hint=f"finish it: release publish {state.version}")
        gates = _kept_gates(press.folder)
    _check_tag(press, version.final, candidate)
    return PublishPlan(
        version=version.final,
        candidate=candidate,
        begun=begun,
        published=state.published is not None,
        gates=gates,
        promotion=_promotion(press, version.final, candidate),
        index=press.index,
    )


def perform_publish(press: Press, plan: PublishPlan, *, now: datetime, by: str, tell: Tell) -> None:
    """Carry the plan out. May be killed anywhere and run again: the outcome is the same."""
    with press.folder.held():
        state = press.folder.load()
        if state.published is not None:
            # A process that was killed at the very end has told nobody.
            press.office.follow(press.folder, state, _deed(press, state, plan, state.published))
            tell(f"{state.version} is published already")
            return
        # Without a key nothing is begun.
        signer = press.signer()
        state = _begin(press, state, plan, now=now, by=by)
        begun = state.publishing
        if begun is None or begun.candidate != plan.candidate.name:
            other = begun.candidate if begun else "nothing"
            msg = f"somebody began to publish {other} meanwhile, not {plan.candidate.name}"
            raise UsageError(msg, hint="run it again to see where that stands")
        documents = write_documents(_papers(press, state, plan, begun), press.documents, signer)
        tell(f"documents: {len(documents)} in {press.documents}")
        if plan.promotion is not None:
            taken = promote(press.shop.store, _lasting(plan.promotion))
            tell(f"images: {len(taken)} tags of the version stand")
        placed = place_files(
            plan.candidate.artifacts, press.shop.dist, press.index / plan.candidate.commit
        )
        tell(f"files: {len(files_of(plan.candidate.artifacts))} in the index ({placed} new)")
        push_tag(press.remote, plan.version.tag, plan.candidate.commit, by=begun.by, at=begun.at)
        tell(f"tag: {plan.version.tag} at {plan.candidate.commit[:10]}")
        if files_of(plan.candidate.artifacts):
            request = Request(versions={plan.version.final.python: plan.candidate.commit})
            build_index(press.index, request)
            tell(f"index: {plan.version.final.python} in {press.index}")
        _write_record(press, state, plan, begun, documents, signer)
        tell(f"record: {press.documents / RECORD}")
        if plan.promotion is not None:
            taken = promote(press.shop.store, plan.promotion)
            moved = sum(isinstance(each.step, MoveTag) for each in taken)
            _check_tags(press, plan.version)
            tell(f"moving tags: {moved}")
        state = state.model_copy(update={"published": begun})
        press.folder.save(state)
        press.office.follow(press.folder, state, _deed(press, state, plan, begun))


def _judge(
    press: Press, state: Release, candidate: Candidate, now: datetime, by: str
) -> tuple[KeptGate, ...]:
    done = evaluate_candidate(press.place, ReleaseVersion.parse(candidate.name), now)
    if by:
        record_evaluation(press.place, done, now, by)
    if not done.result.qualified:
        opened = ", ".join(done.result.open_gates)
        msg = f"{candidate.name} does not qualify (open: {opened}): nothing of it ships"
        window = window_of(press.place.policy.schedule, state.cut.at)
        if now >= window.ships:
            msg += f"; {state.version} was to ship by {window.shown(window.ships)}, and does not"
        older = [each.name for each in state.candidates if each.name != candidate.name]
        hint = f"release gate {candidate.name} says why"
        if older:
            hint += f"; an older one can be named: {', '.join(reversed(older))}"
        raise NotQualifiedError(msg, hint=hint)
    return tuple(KeptGate.model_validate(gate.plain()) for gate in done.result.gates)


def _begin(press: Press, state: Release, plan: PublishPlan, *, now: datetime, by: str) -> Release:
    """Keep the decision: gates and notes first, then that publishing has begun."""
    if state.publishing is not None:
        return state
    gates = [gate.model_dump(mode="json") for gate in plan.gates]
    path = press.folder.published / _QUALIFICATION
    write_atomic(path, json.dumps(gates, indent=2) + "\n", fsync=True)
    # Drafted once: what people change meanwhile would make other documents of the same release.
    notes = press.notes(state, plan.candidate)
    write_atomic(press.folder.published / _NOTES, notes, fsync=True)
    whole = now.replace(microsecond=0)
    begun = Published(candidate=plan.candidate.name, by=by, at=whole)
    state = state.model_copy(update={"publishing": begun})
    press.folder.save(state)
    return state


def _kept_gates(folder: ReleaseFolder) -> tuple[KeptGate, ...]:
    path = folder.published / _QUALIFICATION
    text = _kept(path)
    try:
        return tuple(KeptGate.model_validate(each) for each in json.loads(text))
    except ValueError as error:
        msg = f"{path} is damaged: {str(error).splitlines()[0]}"
        raise NotQualifiedError(msg, hint="it says why this may ship: bring it back") from error


def _kept(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, ValueError) as error:
        msg = f"{path} cannot be read: {error}"
        raise NotQualifiedError(
            msg, hint="it was written when publishing began: bring it back"
        ) from error


def _check_tag(press: Press, version: ReleaseVersion, candidate: Candidate) -> None:
    """A release's tag is made once. Raises NotQualifiedError where it is somewhere else."""
    ref = f"refs/tags/{version.tag}"
    there = press.remote.heads(ref).get(ref, ("", ""))[1]
    if there and there != candidate.commit:
        msg = f"{press.remote.name} has {version.tag} at {there}, not at {candidate.commit}"
        raise NotQualifiedError(msg, hint="a released tag never moves: who made it?")
    ref = f"refs/tags/{candidate.name}"
    there = press.remote.heads(ref).get(ref, ("", ""))[1]
    if there != candidate.commit:
        msg = f"{press.remote.name} has {candidate.name} at {there or 'nothing'}"
        raise NotQualifiedError(msg, hint=f"it was tagged at {candidate.commit}: put it back")


def _promotion(press: Press, version: ReleaseVersion, candidate: Candidate) -> Promotion | None:
    matrix, store = press.place.matrix, press.shop.store
    if not matrix.images:
        return None
    staged = read_staged(store, matrix, candidate.artifacts, press.shop.staging)
    return plan_promotion(
        matrix,
        staged,
        version,
        staging=press.shop.staging,
        public=press.public,
        standing=read_tags(store, matrix, press.public),
    )


def _check_tags(press: Press, version: ReleaseVersion) -> None:
    """Look at what people get now. Raises NotQualifiedError where a tag is not what it should be.

    A moving tag with fewer platforms than the version's breaks whoever is on the others.
    """
    found = check_tags(press.shop.store, press.place.matrix, version, press.public)
    if errors := errors_of(found):
        lines = "\n".join(each.line() for each in errors)
        msg = f"{version} is published, and its tags are not as they should be:\n{lines}"
        raise NotQualifiedError(msg, hint="publish again: it looks at every tag; or roll back")


def _lasting(plan: Promotion) -> Promotion:
    steps = tuple(step for step in plan.steps if not isinstance(step, MoveTag))
    return plan.model_copy(update={"steps": steps})


def _papers(press: Press, state: Release, plan: PublishPlan, begun: Published) -> Papers:
    return Papers(
        version=plan.version,
        candidate=plan.candidate,
        source=state.repository,
        dist=press.shop.dist,
        notes=_kept(press.folder.published / _NOTES),
        builder=press.place.policy.publish.builder,
        at=begun.at,
    )


def _write_record(
    press: Press,
    state: Release,
    plan: PublishPlan,
    begun: Published,
    documents: dict[str, str],
    signer: Signer,
) -> None:
    record = Record(
        version=state.version,
        source=state.repository,
        commit=plan.candidate.commit,
        candidate=plan.candidate.name,
        previous=state.previous,
        previous_commit=state.previous_commit,
        cut=state.cut,
        commits=tuple(pick for each in _upto(state, plan.candidate) for pick in each.picks),
        candidates=state.candidates,
        gates=plan.gates,
        artifacts=plan.candidate.artifacts,
        index=str(press.index),
        registry=str(press.public) if plan.promotion else "",
        tags=tuple(_tags(plan.promotion)),
        documents=documents,
        published=begun,
        tool=f"gauntlet {__version__}",
    )
    path = write_atomic(press.documents / RECORD, record_bytes(record), fsync=True)
    signer.sign_file(path)
    write_atomic(press.documents / RECORD_TEXT, markdown(record), fsync=True)


def _upto(state: Release, candidate: Candidate) -> Sequence[Candidate]:
    names = [each.name for each in state.candidates]
    return state.candidates[: names.index(candidate.name) + 1]


def _tags(promotion: Promotion | None) -> Iterator[Tag]:
    for step in promotion.steps if promotion else ():
        where = reference_of(step)
        yield Tag(
            repository=where.repository,
            tag=where.tag,
            digest=step.digest,
            moving=isinstance(step, MoveTag),
        )


def _deed(press: Press, state: Release, plan: PublishPlan, begun: Published) -> Deed:
    return Deed(
        version=plan.version,
        outcome="published",
        reason=f"{plan.version} from {begun.candidate}",
        evidence={"candidate": begun.candidate, "commit": plan.candidate.commit},
        at=begun.at,
        by=begun.by,
        template=press.office.announcements.published,
        words={
            "version": state.version,
            "branch": state.branch,
            "commit": plan.candidate.commit[:10],
            "by": begun.by,
            "previous": state.previous,
            "reason": f"candidate {begun.candidate}",
        },
        told_as="published",
    )
