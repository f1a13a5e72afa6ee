"""A session: two engines on one host, measured in A B B A blocks, each repetition kept at once."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from gauntlet.harness.context import Measurement
from gauntlet.harness.engines.running import RunningEngine
from gauntlet.harness.measure_eval import measure_eval
from gauntlet.harness.measure_load import measure_load
from gauntlet.harness.schedule import Side, Slot, block_slots
from gauntlet.perf_eval.evals import Eval
from gauntlet.perf_eval.recipe import Recipe
from gauntlet.perf_eval.workloads import Workload
from gauntlet.warehouse.batch import Batch

_DEATH_SETTLES_S = 1.0

# (repetitions done, repetitions expected by now, what runs next)
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """What a session needs; ``keep`` gets each repetition's rows as soon as they exist."""

    run_id: str
    recipe: Recipe
    engines: Mapping[Side, RunningEngine]
    seed: int
    workdir: Path
    keep: Callable[[Batch], object]
    progress: Progress = lambda _done, _total, _what: None


def run_session(session: Session, still_open: Callable[[int], bool]) -> int:
    """Measure block after block; return how many were made.

    After the recipe's least number of blocks, ``still_open(blocks)`` decides whether another is
    needed, up to the recipe's most. Raises EngineError where an engine dies; what was measured
    before is kept.
    """
    done = 0
    blocks = session.recipe.blocks
    for block in range(blocks.max):
        if block >= blocks.min and not still_open(block):
            return block
        total = sum(
            repetitions_in(session.recipe, each) for each in range(max(block + 1, blocks.min))
        )
        for slot in block_slots(block):
            for task in tasks_of(session.recipe, slot):
                session.progress(done, total, f"{task.name}, {slot.side}, pair {slot.pair + 1}")
                _measure(session, slot, task)
                done += 1
        session.progress(done, total, "")
    return blocks.max


def tasks_of(recipe: Recipe, slot: Slot) -> list[Workload | Eval]:
    """What one turn measures: every workload, and the evals that this pair takes part in."""
    evals = [task for task in recipe.evals if slot.pair < task.pairs]
    return [*recipe.workloads, *evals]


def repetitions_in(recipe: Recipe, block: int) -> int:
    """How many repetitions one block makes."""
    return sum(len(tasks_of(recipe, slot)) for slot in block_slots(block))


def session_length(recipe: Recipe) -> tuple[int, int]:
    """Least and most number of repetitions of a session; one block has four turns."""
    counts = [repetitions_in(recipe, block) for block in range(recipe.blocks.max)]
    return sum(counts[: recipe.blocks.min]), sum(counts)


def _measure(session: Session, slot: Slot, task: Workload | Eval) -> None:
    """Make and keep one repetition; raise EngineError where either engine is gone."""
    engine = session.engines[slot.side]
    for each in session.engines.values():
        each.ensure_alive(f"before {task.name}, pair {slot.pair + 1}")
    measurement = Measurement(
        run_id=session.run_id,
        recipe=session.recipe.name,
        engine=engine,
        slot=slot,
        seed=session.seed,
        workdir=session.workdir,
    )
    if isinstance(task, Workload):
        measured = measure_load(measurement, task)
    else:
        measured = measure_eval(measurement, task)
    repetition = measured.repetition
    session.keep(
        Batch.of(
            repetition.repetition_id,
            (*measured.rows, repetition),
            created_at=repetition.ended_at,
        )
    )
    # Broken connections come first, the exit status of the process a moment later.
    settle_s = 0.0 if repetition.status == "valid" else _DEATH_SETTLES_S
    engine.ensure_alive(f"during {task.name}, pair {slot.pair + 1}", settle_s=settle_s)
