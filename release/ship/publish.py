"""Publish a candidate that qualifies: step by step, each done once, ``latest`` last of all.

The decision is taken once and kept. After it nothing is judged again: killed anywhere, the next
try goes on with the same candidate, documents and instant, and comes to the same outcome.
"""

import json
import logging
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from gauntlet import __version__
from gauntlet.core.errors import InfrastructureError, NotQualifiedError, UsageError
from gauntlet.core.files import write_atomic
from gauntlet.core.findings import errors_of
from gauntlet.release.deeds import Deed
from gauntlet.release.images.promote import promote, reference_of
from gauntlet.release.images.promotion import (
    MoveTag,
    Promotion,
)
from gauntlet.release.images.tags import check_tags
from gauntlet.release.index.build import Request, build_index
from gauntlet.release.proof.signers import Signer
from gauntlet.release.ship.documents import Papers, write_documents
from gauntlet.release.ship.files import files_of, place_files
from gauntlet.release.ship.plan import NOTES, QUALIFICATION, Press, PublishPlan, kept_text
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

Tell = Callable[[str], None]
"""Hears of each step when it is over."""


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


def _begin(press: Press, state: Release, plan: PublishPlan, *, now: datetime, by: str) -> Release:
    """Keep the decision: gates and notes first, then that publishing has begun."""
    if state.publishing is not None:
        return state
    if state.candidate_of(ReleaseVersion.parse(plan.candidate.name)) != plan.candidate:
        msg = f"{plan.candidate.name} changed after it was judged"
        raise InfrastructureError(msg, hint="run it again: what is there now is judged anew")
    gates = [gate.model_dump(mode="json") for gate in plan.gates]
    path = press.folder.published / QUALIFICATION
    write_atomic(path, json.dumps(gates, indent=2) + "\n", fsync=True)
    # Drafted once: what people change meanwhile would make other documents of the same release.
    notes = press.notes(state, plan.candidate)
    write_atomic(press.folder.published / NOTES, notes, fsync=True)
    whole = now.replace(microsecond=0)
    begun = Published(candidate=plan.candidate.name, by=by, at=whole)
    state = state.model_copy(update={"publishing": begun})
    press.folder.save(state)
    return state


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
        notes=kept_text(press.folder.published / NOTES),
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
