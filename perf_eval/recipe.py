"""The recipe: what is measured, in which order, and which limits judge it.

A recipe says nothing about how an engine is started; the same recipe runs against the simulator,
a local vLLM or a server that is already there.
"""

from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from gauntlet.core.errors import unknown_name
from gauntlet.core.yaml_file import StrictModel, load_model
from gauntlet.perf_eval.evals import Eval
from gauntlet.perf_eval.workloads import Name, Range, Workload

LOAD_METRICS = ("ttft_ms", "tpot_ms", "e2e_ms", "output_tokens_per_s")


class LoadObjective(StrictModel):
    """How much worse one statistic of a load metric may be before it is a regression."""

    workload: Name
    metric: Literal["ttft_ms", "tpot_ms", "e2e_ms", "output_tokens_per_s"]
    statistic: Literal["mean", "p50", "p90", "p99", "total"]
    margin_percent: float = Field(gt=0, lt=100)
    blocking: bool = True


class EvalObjective(StrictModel):
    """How many percentage points of accuracy may be lost before it is a regression."""

    task: Name
    margin_points: float = Field(gt=0, lt=100)
    blocking: bool = True


class Judgement(StrictModel):
    """What decides; error rates hold for the whole recipe, not for each metric."""

    false_alarm_rate: float = Field(default=0.05, gt=0, lt=0.5)
    load: tuple[LoadObjective, ...] = ()
    evals: tuple[EvalObjective, ...] = ()


class Blocks(Range):
    """A B B A blocks: at least ``min``, more while a blocking verdict is open, up to ``max``."""

    @property
    def looks(self) -> int:
        """How often the data are judged at most."""
        return self.max - self.min + 1


class Recipe(StrictModel):
    """One experiment."""

    name: Name
    description: str
    owner: str
    blocks: Blocks = Blocks(min=2, max=2)
    workloads: tuple[Workload, ...]
    evals: tuple[Eval, ...] = ()
    judge: Judgement

    @model_validator(mode="after")
    def _names_resolve(self) -> Self:
        loads = [workload.name for workload in self.workloads]
        evals = [task.name for task in self.evals]
        for name in {name for name in loads + evals if (loads + evals).count(name) > 1}:
            msg = f"the name {name!r} is used twice"
            raise ValueError(msg)
        for objective in self.judge.load:
            if objective.workload not in loads:
                msg = f"judge.load names the workload {objective.workload!r}; known: {loads}"
                raise ValueError(msg)
        for accuracy in self.judge.evals:
            if accuracy.task not in evals:
                msg = f"judge.evals names the task {accuracy.task!r}; known: {evals}"
                raise ValueError(msg)
        return self


def recipe_names() -> list[str]:
    """Names of the recipes that ship with this version."""
    return sorted(path.stem for path in _configs().glob("*.yaml"))


def load_recipe(name_or_path: str) -> Recipe:
    """Load a recipe by its name or from a file.

    Raises UsageError for an unknown name and ConfigError with every problem in the file.
    """
    if name_or_path.endswith((".yaml", ".yml")) or "/" in name_or_path:
        return load_model(Path(name_or_path), Recipe)
    if name_or_path not in recipe_names():
        raise unknown_name(
            "recipe", name_or_path, recipe_names(), hint="or give the path of a .yaml file"
        )
    return load_model(_configs() / f"{name_or_path}.yaml", Recipe)


def _configs() -> Path:
    return Path(__file__).with_name("configs")
