"""Ask a registry where the tags of base images lead now, and write that down."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from gauntlet.core.errors import GauntletError
from gauntlet.images.model import Base, Bases
from gauntlet.images.oci.reference import Place
from gauntlet.images.oci.registry import ImageStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a registry said of one base; ``why`` it has no ``digest`` where it gave none."""

    name: str
    image: str
    state: Literal["same", "moved", "new", "unreachable"]
    before: str
    digest: str
    why: str = ""

    def line(self) -> str:
        """As one line of text for people."""
        tail = self.why or (
            f"{self.before or 'no digest'} -> {self.digest}"
            if self.state != "same"
            else self.digest
        )
        return f"{self.state:12} {self.name:16} {self.image}: {tail}"


def ask(
    store: ImageStore, place: Place, bases: Mapping[str, Base], names: Iterable[str]
) -> list[Answer]:
    """Ask for each base; one that gives no answer is unreachable, and the rest is asked."""
    return [_ask(store, place, name, bases[name]) for name in names]


def _ask(store: ImageStore, place: Place, name: str, base: Base) -> Answer:
    image, before = f"{base.image}:{base.tag}", base.digest or ""
    try:
        found = store.manifest(place.at(base.image, tag=base.tag))
    except GauntletError as error:
        return Answer(
            name=name, image=image, state="unreachable", before=before, digest="", why=error.message
        )
    if found is None:
        why = f"there is no such tag in {place}"
        return Answer(
            name=name, image=image, state="unreachable", before=before, digest="", why=why
        )
    missing = [
        platform
        for platform in base.platforms
        if found.is_index and platform not in found.platforms
    ]
    if missing:
        why = f"it is no longer for {', '.join(missing)}"
        return Answer(
            name=name, image=image, state="unreachable", before=before, digest="", why=why
        )
    state: Literal["same", "moved", "new"] = (
        "same" if found.digest == before else "moved" if before else "new"
    )
    return Answer(name=name, image=image, state=state, before=before, digest=found.digest)


def updated(bases: Bases, answers: Iterable[Answer]) -> Bases:
    """The bases with the digests that were found, in the order that they had."""
    digests = {answer.name: answer.digest for answer in answers if answer.digest}
    return Bases(
        gauntlet=1,
        bases={
            name: base.model_copy(update={"digest": digests.get(name, base.digest)})
            for name, base in bases.bases.items()
        },
    )
