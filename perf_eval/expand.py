"""Expand a recipe into servers and points, each with the command that runs it alone. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from pydantic import JsonValue

from gauntlet.core.errors import UsageError, unknown_name
from gauntlet.core.yaml_file import YamlDocument
from gauntlet.perf_eval.commands import ServerCommand, point_argv, router_argv, server_commands
from gauntlet.perf_eval.definition import Recipe
from gauntlet.perf_eval.engine import EngineSpec
from gauntlet.perf_eval.evals import Eval
from gauntlet.perf_eval.parallelism import gpus_needed
from gauntlet.perf_eval.resolve import Resolved, Side, resolve
from gauntlet.perf_eval.sweep import Labels, group_of
from gauntlet.perf_eval.topology import Hardware, Topology
from gauntlet.perf_eval.workloads import TracePrompts, Workload

# Measured once each in A B B A.
_SLOTS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One configuration of servers; in a comparison, one side of it."""

    label: str
    side: Side
    overrides: dict[str, JsonValue]
    engine: EngineSpec | None
    topology: Topology | None
    hardware: Hardware | None
    servers: tuple[ServerCommand, ...]
    router: tuple[str, ...]
    gpus: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One workload as it is measured on one variant.

    ``key`` is unique in the recipe and stays the same from run to run; ``requests`` counts those of
    one repetition without warm-up, None where only the prompts' file knows.
    """

    key: str
    label: str
    variant: str
    overrides: dict[str, JsonValue]
    workload: Workload
    command: tuple[str, ...]
    requests: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Expansion:
    """Everything that a recipe asks for, written out.

    ``measured`` is how often each point is measured at least; ``requests`` sums over all of it,
    warm-up included, and is None where a point's number is not known beforehand.
    """

    recipe: Recipe
    variants: tuple[Variant, ...]
    points: tuple[Point, ...]
    evals: tuple[Eval, ...]
    measured: int
    requests: int | None
    gpus: int

    def point(self, name: str) -> Point:
        """The point with that key, or with that label where only one has it.

        Raises UsageError for an unknown or ambiguous name.
        """
        keys = [point.key for point in self.points]
        found = [point for point in self.points if point.key == name]
        found = found or [point for point in self.points if point.label and point.label == name]
        if not found:
            raise unknown_name("point", name, keys, hint="`gauntlet recipes expand` lists them")
        if len(found) > 1:
            msg = f"{len(found)} points are labelled {name!r}"
            hint = f"give its key: {', '.join(point.key for point in found)}"
            raise UsageError(msg, hint=hint)
        return found[0]

    def points_of(self, variant: str) -> tuple[Point, ...]:
        """The points measured on the variant with that label."""
        return tuple(point for point in self.points if point.variant == variant)


def expand(
    recipe: Recipe,
    *,
    reference: str | None = None,
    settings: Sequence[str] = (),
    document: YamlDocument | None = None,
) -> Expansion:
    """Write a recipe out.

    ``reference`` and ``settings`` (``path=value``, applied to ``recipe`` already) are what the
    commands name. Raises ConfigError where a combination of the sweep is no valid recipe.
    """
    resolved = resolve(recipe, document)
    labels = Labels(recipe.sweep, partial(_belongs, "variant"))
    variants = _variants(resolved, labels)
    points = _points(recipe, resolved, labels, reference or recipe.name, settings)
    measured = recipe.repetitions
    if recipe.comparison is not None:
        measured = _SLOTS * recipe.blocks.min
    return Expansion(
        recipe=recipe,
        variants=variants,
        points=points,
        evals=recipe.evals,
        measured=measured,
        requests=_all_requests(points, measured),
        gpus=max((variant.gpus for variant in variants), default=0),
    )


def _variants(resolved: Sequence[Resolved], labels: Labels) -> tuple[Variant, ...]:
    found: dict[tuple[str, Side], Variant] = {}
    for each in resolved:
        label = labels.of(each.combination)
        overrides = _only(each, "variant")
        for side, recipe in each.sides.items():
            if (label, side) not in found:
                found[label, side] = _variant(recipe, label, side, overrides)
    return tuple(found.values())


def _variant(recipe: Recipe, label: str, side: Side, overrides: dict[str, JsonValue]) -> Variant:
    engine, topology, hardware = recipe.engine, recipe.topology, recipe.hardware
    return Variant(
        label=label,
        side=side,
        overrides=overrides,
        engine=engine,
        topology=topology,
        hardware=hardware,
        servers=server_commands(engine, topology, hardware),
        router=router_argv(topology),
        gpus=gpus_needed(engine, topology, hardware),
    )


def _points(
    recipe: Recipe,
    resolved: Sequence[Resolved],
    variants: Labels,
    reference: str,
    settings: Sequence[str],
) -> tuple[Point, ...]:
    """Points by variant and workload; no workload is repeated for the axes of another."""
    groups = [f"workloads.{workload.name}" for workload in recipe.workloads]
    labels = [Labels(recipe.sweep, partial(_belongs, group)) for group in groups]
    found: dict[tuple[str, str], dict[str, Point]] = {}
    for each in resolved:
        variant = variants.of(each.combination)
        swept = next(iter(each.sides.values()))
        for workload, group, names in zip(swept.workloads, groups, labels, strict=True):
            here = found.setdefault((variant, workload.name), {})
            label = names.of(each.combination)
            key = "/".join(filter(None, (variant, workload.name, label)))
            if key not in here:
                here[key] = Point(
                    key=key,
                    label=label,
                    variant=variant,
                    overrides=_only(each, group),
                    workload=workload,
                    command=point_argv(reference, key, settings),
                    requests=request_count(workload),
                )
    return tuple(point for here in found.values() for point in here.values())


def _belongs(group: str, path: str) -> bool:
    return group_of(path) == group


def _only(resolved: Resolved, group: str) -> dict[str, JsonValue]:
    return {path: value for path, value in resolved.combination.items() if _belongs(group, path)}


def request_count(workload: Workload) -> int | None:
    """Requests of one repetition without warm-up; None where only the prompts' file knows."""
    if workload.requests is not None:
        return workload.requests
    prompts = workload.prompts
    if isinstance(prompts, TracePrompts):
        if prompts.rows is not None:
            return prompts.rows
        if prompts.window_s is not None:
            return None
    source = getattr(prompts, "source", None)
    return getattr(source, "generate", None)


def _all_requests(points: Sequence[Point], measured: int) -> int | None:
    total = 0
    for point in points:
        if point.requests is None:
            return None
        total += point.requests + point.workload.warmup_requests
    return total * measured
