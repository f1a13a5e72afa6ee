"""Split a pipeline into uploads that Buildkite takes: whole groups, dependencies first."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gauntlet.core.errors import ConfigError, Problem
from gauntlet.pipelines.checks.graph import (
    MAX_JOBS_PER_BUILD,
    MAX_JOBS_PER_UPLOAD,
    MAX_UPLOADS_PER_BUILD,
)
from gauntlet.pipelines.checks.steps import StepView, views
from gauntlet.pipelines.rendering.yaml_text import to_yaml

_FILE = "pipeline.yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """One upload, a pipeline of its own; ``units`` are its groups and its steps outside of any.

    ``has_keys``: some step has a key, so that Buildkite refuses the same upload again.
    """

    number: int
    units: tuple[str, ...]
    jobs: int
    has_keys: bool
    text: str

    @property
    def digest(self) -> str:
        """SHA-256 of the text, in hex: what tells one upload from another."""
        return hashlib.sha256(self.text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class _Unit:
    """A step at the top of the pipeline with all that is in it."""

    index: int
    name: str
    jobs: int
    needs: frozenset[int]


def plan_uploads(
    pipeline: Mapping[str, Any], max_jobs: int = MAX_JOBS_PER_UPLOAD
) -> tuple[Chunk, ...]:
    """Lay a pipeline out in uploads of at most ``max_jobs`` jobs. Pure and deterministic.

    A step is never in an earlier upload than what it depends on, and groups that depend on each
    other go together. Raises ConfigError where that leaves an upload, or the build, too large.
    """
    parts = _together(_units(list(views(pipeline)), max_jobs))
    _refuse_oversize(parts, max_jobs)
    bins: list[list[_Unit]] = []
    place: dict[int, int] = {}
    for part in parts:
        first = max((place.get(need, 0) for unit in part for need in unit.needs), default=0)
        rooms = (n for n in range(first, len(bins)) if _jobs(bins[n]) + _jobs(part) <= max_jobs)
        number = next(rooms, len(bins))
        if number == len(bins):
            bins.append([])
        bins[number] += part
        place.update((unit.index, number) for unit in part)
    if len(bins) > MAX_UPLOADS_PER_BUILD:
        message = f"a build takes {MAX_UPLOADS_PER_BUILD} uploads at most"
        raise ConfigError([Problem(file=_FILE, message=message, value=str(len(bins)))])
    return tuple(_chunk(pipeline, number, units) for number, units in enumerate(bins))


def _units(steps: Sequence[StepView], max_jobs: int) -> list[_Unit]:
    members: dict[int, list[StepView]] = {}
    for view in steps:
        members.setdefault(view.top, []).append(view)
    home = {view.key: view.top for view in steps if view.key}
    # Uploads land one before the other, so what orders steps by where they stand cannot be split.
    whole = _order_matters(steps) and sum(view.jobs for view in steps) > max_jobs
    units = []
    for index, inside in members.items():
        named = {home[key] for view in inside for key in view.depends_on if key in home}
        needs = set(members) if whole else named
        fields = inside[0].fields
        name = fields.get("group") or fields.get("label") or inside[0].name
        jobs = sum(view.jobs for view in inside)
        units.append(_Unit(index, str(name), jobs, frozenset(needs - {index})))
    return units


def _order_matters(steps: Sequence[StepView]) -> bool:
    """Whether some step waits for all that stand before it, without saying so by key."""
    kinds = {view.kind for view in steps}
    loose = any(
        "depends_on" not in view.fields for view in steps if view.kind in {"command", "trigger"}
    )
    return "wait" in kinds or ("block" in kinds and loose)


def _together(units: Sequence[_Unit]) -> list[list[_Unit]]:
    """Bring units that need each other together; whatever a part needs comes before it.

    These are the strongly connected components (Tarjan 1972), without recursion.
    """
    by_index = {unit.index: unit for unit in units}
    needs = {unit.index: sorted(unit.needs) for unit in units}
    order: dict[int, int] = {}
    low: dict[int, int] = {}
    waiting: list[int] = []
    parts = []
    for root in by_index:
        stack = [root] if root not in order else []
        while stack:
            here = stack[-1]
            if here not in order:
                order[here] = low[here] = len(order)
                waiting.append(here)
            unseen = next((need for need in needs[here] if need not in order), None)
            if unseen is not None:
                stack.append(unseen)
                continue
            stack.pop()
            low[here] = min([low[here], *(low[need] for need in needs[here] if need in waiting)])
            if low[here] == order[here]:
                cut = waiting.index(here)
                parts.append([by_index[index] for index in sorted(waiting[cut:])])
                del waiting[cut:]
    return parts


def _refuse_oversize(parts: Sequence[Sequence[_Unit]], max_jobs: int) -> None:
    problems = [
        Problem(
            file=_FILE,
            key=", ".join(unit.name for unit in part[:5]) + (", ..." if len(part) > 5 else ""),
            message=f"these belong in one upload, which has {max_jobs} jobs at most",
            value=str(_jobs(part)),
        )
        for part in parts
        if _jobs(part) > max_jobs
    ]
    total = sum(_jobs(part) for part in parts)
    if total > MAX_JOBS_PER_BUILD:
        message = f"a build has {MAX_JOBS_PER_BUILD:,} jobs at most"
        problems.append(Problem(file=_FILE, key="steps", message=message, value=f"{total:,}"))
    if problems:
        hint = "lower parallelism, split the group, or say what depends on what instead of `wait`"
        raise ConfigError(problems, hint=hint)


def _chunk(pipeline: Mapping[str, Any], number: int, units: Sequence[_Unit]) -> Chunk:
    ordered = sorted(units, key=lambda unit: unit.index)
    shared = {
        name: value
        for name, value in pipeline.items()
        # Said in every upload, a notification would be sent by every upload.
        if name != "steps" and (number == 0 or name != "notify")
    }
    part = {**shared, "steps": [pipeline["steps"][unit.index] for unit in ordered]}
    return Chunk(
        number=number + 1,
        units=tuple(unit.name for unit in ordered),
        jobs=_jobs(ordered),
        has_keys=any(view.key for view in views(part)),
        text=to_yaml(part),
    )


def _jobs(units: Sequence[_Unit]) -> int:
    return sum(unit.jobs for unit in units)
