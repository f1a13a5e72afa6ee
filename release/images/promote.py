"""Do what a promotion plans. It may end anywhere, and run again: the outcome is the same.

Before each step it looks at what is there, so nothing is done twice. A tag of a version never
moves; moving tags are not touched before every tag of the version stands.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, assert_never

from gauntlet.core.errors import ExternalServiceError, NotQualifiedError
from gauntlet.images.oci.reference import Place, Reference
from gauntlet.images.oci.registry import ImageStore, digest_at
from gauntlet.release.images.promotion import CopyImage, MoveTag, Promotion, Step, WriteList

_LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A step, and whether there was anything to do."""

    step: Step
    outcome: Literal["done", "there already"]


def promote(
    store: ImageStore, plan: Promotion, *, tell: Callable[[Taken], None] | None = None
) -> tuple[Taken, ...]:
    """Take every step of a plan, of a rollback as well; ``tell`` hears of each when it is over.

    Raises NotQualifiedError, before anything is done, where a tag of the version leads to
    something else already; ExternalServiceError where a registry is down: run it again.
    """
    _refuse_to_move(store, plan)
    taken: list[Taken] = []
    proven = False
    for step in plan.steps:
        if isinstance(step, MoveTag) and not proven:
            _ensure_all_stand(store, plan)
            proven = True
        there = digest_at(store, reference_of(step))
        if there == step.digest:
            taken.append(Taken(step=step, outcome="there already"))
        else:
            _LOGGER.info("%s", step.line())
            _take(store, step)
            taken.append(Taken(step=step, outcome="done"))
        if tell:
            tell(taken[-1])
    return tuple(taken)


def reference_of(step: Step) -> Reference:
    """Where a step puts something."""
    return Place.parse(step.place).at(step.repository, tag=step.tag)


def _lasting(plan: Promotion) -> list[CopyImage | WriteList]:
    return [step for step in plan.steps if not isinstance(step, MoveTag)]


def _refuse_to_move(store: ImageStore, plan: Promotion) -> None:
    """Look at all lasting tags first, so that nothing is half done when one is taken."""
    found = [(step, digest_at(store, reference_of(step))) for step in _lasting(plan)]
    other = [(step, there) for step, there in found if there not in {None, step.digest}]
    if other:
        lines = [f"{reference_of(step)} is {there}, not {step.digest}" for step, there in other]
        msg = f"{plan.version} was published with something else:\n" + "\n".join(lines)
        raise NotQualifiedError(msg, hint="a released tag never moves: cut the next version")


def _ensure_all_stand(store: ImageStore, plan: Promotion) -> None:
    for step in _lasting(plan):
        if digest_at(store, reference_of(step)) != step.digest:
            msg = f"{reference_of(step)} was there, and is not any more"
            raise ExternalServiceError(msg, hint="moving tags stay as they were; run it again")


def _take(store: ImageStore, step: Step) -> None:
    destination = reference_of(step)
    match step:
        case CopyImage():
            source = Place.parse(step.source).at(step.repository, digest=step.digest)
            made = store.copy(source, destination)
        case WriteList():
            made = store.write_index(destination, step.entries)
        case MoveTag():
            source = destination.place.at(step.repository, digest=step.digest)
            made = store.copy(source, destination)
        case _:
            assert_never(step)
    if made != step.digest:
        msg = f"{destination} became {made}, and {step.digest} was planned"
        raise ExternalServiceError(msg, hint="the registry changes what it stores: do not use it")


def summary(taken: Sequence[Taken]) -> str:
    """How much was done, and how much was there."""
    done = sum(one.outcome == "done" for one in taken)
    return f"{done} done, {len(taken) - done} there already"
