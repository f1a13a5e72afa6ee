"""The recipe: what is measured, in which order, and which limits judge it.

A recipe says nothing about how an engine is started; the same recipe runs against the simulator,
a local vLLM or a server that is already there.
"""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from gauntlet.core.errors import unknown_name
from gauntlet.core.yaml_file import StrictModel, load_model

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]*$")]


class Range(StrictModel):
    """``min``..``max``, both included."""

    min: int = Field(ge=1)
    max: int = Field(ge=1)

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.max < self.min:
            msg = f"max ({self.max}) is less than min ({self.min})"
            raise ValueError(msg)
        return self


class TokenRange(Range):
    """Number of tokens, drawn evenly from the range."""


class Source(StrictModel):
    """Where rows come from: a JSONL file, or ``generate`` many made from a seed."""

    file: Path | None = None
    generate: int | None = Field(default=None, ge=1)
    seed: int = Field(default=1, ge=0)

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.file is None) == (self.generate is None):
            msg = "give either file or generate"
            raise ValueError(msg)
        return self


class Deadlines(StrictModel):
    """Limits after which a request counts as failed, in seconds."""

    idle_s: float = Field(default=10.0, gt=0)
    total_s: float = Field(default=60.0, gt=0)


class RandomWorkload(StrictModel):
    """Closed loop: a fixed number of streams, each sending its next request when one ends."""

    kind: Literal["random"]
    name: Name
    concurrency: int = Field(ge=1, le=4096)
    requests: int = Field(ge=1)
    warmup_requests: int = Field(default=0, ge=0)
    prompt_tokens: TokenRange
    output_tokens: TokenRange
    deadlines: Deadlines = Deadlines()


class TraceWorkload(StrictModel):
    """Open loop: a slice of a trace, sent at its own timestamps whatever the server does.

    ``time_scale`` multiplies the gaps between arrivals, ``length_scale`` the token counts;
    a prompt block has ``block_size`` tokens after scaling.
    """

    kind: Literal["trace"]
    name: Name
    source: Source
    rows: int = Field(ge=1)
    skip_rows: int = Field(default=0, ge=0)
    time_scale: float = Field(default=1.0, gt=0)
    length_scale: float = Field(default=1.0, gt=0, le=1.0)
    block_size: int = Field(default=512, ge=1)
    max_output_tokens: int = Field(default=256, ge=1)
    warmup_requests: int = Field(default=0, ge=0)
    deadlines: Deadlines = Deadlines()


class EvalTask(StrictModel):
    """What every accuracy task says; its items are divided among the ``pairs`` that it joins."""

    name: Name
    source: Source
    items: int = Field(ge=1)
    pairs: int = Field(default=1, ge=1)
    concurrency: int = Field(default=16, ge=1)
    max_tokens: int = Field(default=256, ge=1)
    timeout_s: float = Field(default=300.0, gt=0)


class Gsm8kEval(EvalTask):
    """Word problems in GSM8K's format, asked and scored by lm-eval."""

    kind: Literal["gsm8k"]


class ToolCallEval(EvalTask):
    """Function-calling tasks in BFCL's format over the chat endpoint."""

    kind: Literal["tool_calls"]


Workload = Annotated[RandomWorkload | TraceWorkload, Field(discriminator="kind")]
Eval = Annotated[Gsm8kEval | ToolCallEval, Field(discriminator="kind")]

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
