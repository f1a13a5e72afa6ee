"""What a run will do, in which order: plain data, made before anything is started."""

from collections.abc import Sequence
from dataclasses import dataclass

from gauntlet.core.errors import UsageError
from gauntlet.harness.schedule import Side, Slot, block_slots, single_slots
from gauntlet.harness.soak import segments_of
from gauntlet.perf_eval.evals import Eval
from gauntlet.perf_eval.expand import Expansion, Variant
from gauntlet.perf_eval.goals import Soak
from gauntlet.perf_eval.workloads import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One repetition of one workload or eval at one point, by one side, in one turn."""

    variant: str
    label: str
    task: Workload | Eval
    slot: Slot

    @property
    def name(self) -> str:
        """Name of the workload or eval."""
        return self.task.name

    @property
    def point(self) -> str:
        """What was varied, in words; empty where nothing was."""
        return ",".join(filter(None, (self.variant, self.label)))

    @property
    def key(self) -> str:
        """Identity of the step within its run, and name of its folder."""
        at = f"{self.name}@{self.point}" if self.point else self.name
        return f"{at}-{self.slot.side}-{self.slot.pair}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """All steps that one side makes in one turn."""

    slot: Slot
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One variant: its sides' servers, and the turns measured on them."""

    variant: str
    sides: dict[Side, Variant]
    turns: tuple[Turn, ...]

    @property
    def steps(self) -> tuple[Step, ...]:
        """All steps of the stage in order."""
        return tuple(step for turn in self.turns for step in turn.steps)


def plan_stages(
    expansion: Expansion, *, point: str | None = None, two_servers: bool = False
) -> tuple[Stage, ...]:
    """Plan a run: every variant, every turn, every point and eval.

    A comparison has the recipe's least number of A B B A blocks, else there are ``repetitions``
    turns. ``point`` keeps one point only, without evals; a soak has its segments and nothing else.
    ``two_servers`` compares two that run already, whether the recipe has a comparison or not.
    Raises UsageError for an unknown point.
    """
    recipe = expansion.recipe
    if recipe.soak is not None and point is None:
        return (_soak_stage(expansion, recipe.soak),)
    chosen = expansion.point(point) if point is not None else None
    stages = []
    for label in dict.fromkeys(variant.label for variant in expansion.variants):
        if chosen is not None and chosen.variant != label:
            continue
        sides = {_side(v): v for v in expansion.variants if v.label == label}
        if two_servers and recipe.comparison is None:
            sides = {"baseline": sides["single"], "candidate": sides["single"]}
        slots: Sequence[Slot]
        if recipe.comparison is not None or two_servers:
            slots = [slot for block in range(recipe.blocks.min) for slot in block_slots(block)]
        else:
            slots = list(single_slots(recipe.repetitions))
        points = [p for p in expansion.points_of(label) if chosen is None or p.key == chosen.key]
        turns = []
        for slot in slots:
            steps = [Step(variant=label, label=p.label, task=p.workload, slot=slot) for p in points]
            if chosen is None:
                steps += [
                    Step(variant=label, label="", task=task, slot=slot)
                    for task in expansion.evals
                    if slot.pair < getattr(task, "pairs", 1)
                ]
            turns.append(Turn(slot=slot, steps=tuple(steps)))
        stages.append(Stage(variant=label, sides=sides, turns=tuple(turns)))
    if not any(stage.steps for stage in stages):
        msg = f"the recipe {recipe.name} measures nothing"
        raise UsageError(msg)
    return tuple(stages)


def _soak_stage(expansion: Expansion, soak: Soak) -> Stage:
    """A soak on the first variant, one turn a segment."""
    variant = expansion.variants[0]
    segments = segments_of(expansion.recipe.goal_workload(soak), soak)
    turns = []
    for slot, segment in zip(single_slots(len(segments)), segments, strict=True):
        step = Step(variant=variant.label, label="soak", task=segment, slot=slot)
        turns.append(Turn(slot=slot, steps=(step,)))
    return Stage(variant=variant.label, sides={"single": variant}, turns=tuple(turns))


def _side(variant: Variant) -> Side:
    return variant.side or "single"
