"""What publishing would do: which candidate, on which gates, in which steps; nothing is done."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from gauntlet.core.errors import NotQualifiedError, UsageError
from gauntlet.images.oci import reference
from gauntlet.release.build.place import Workshop
from gauntlet.release.deeds import Office
from gauntlet.release.folder import ReleaseFolder
from gauntlet.release.gates.record import KeptGate
from gauntlet.release.gates.use import Place, evaluate_candidate, record_evaluation
from gauntlet.release.images.promotion import (
    MoveTag,
    Promotion,
    plan_promotion,
    read_staged,
    read_tags,
)
from gauntlet.release.picks.window import check_clock, window_of
from gauntlet.release.proof.signers import Signer
from gauntlet.release.remote import Remote
from gauntlet.release.ship.files import files_of
from gauntlet.release.state import Candidate, Published, Release
from gauntlet.release.version import ReleaseVersion

QUALIFICATION, NOTES = "qualification.json", "notes.md"
"""Files of what is published that keep the decision: its gates, and the notes as they were then."""


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


def _kept_gates(folder: ReleaseFolder) -> tuple[KeptGate, ...]:
    path = folder.published / QUALIFICATION
    text = kept_text(path)
    try:
        return tuple(KeptGate.model_validate(each) for each in json.loads(text))
    except ValueError as error:
        msg = f"{path} is damaged: {str(error).splitlines()[0]}"
        raise NotQualifiedError(msg, hint="it says why this may ship: bring it back") from error


def kept_text(path: Path) -> str:
    """Read what was kept when publishing began. Raises NotQualifiedError where it is gone."""
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
