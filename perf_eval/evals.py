"""Accuracy tasks: which questions are asked, how, and how many.

Two kinds ask questions of their own (``gsm8k``, ``tool_calls``) and divide them among the pairs of
a session; two drive a whole benchmark (``lm_eval``, ``bfcl``).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import (
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    field_validator,
    model_validator,
)

from gauntlet.perf_eval.bfcl_categories import check_categories
from gauntlet.perf_eval.part import RecipePart
from gauntlet.perf_eval.workloads import Name, Source

Scalar = StrictBool | StrictInt | StrictFloat | StrictStr

# Seeds of repeated runs count up from here; one seed is the same number everywhere.
FIRST_SEED = 1234
# The chat endpoint of lm-eval sends the first four stop strings and drops the others in silence.
_CHAT_STOPS = 4
_OURS = ("base_url", "max_retries", "model", "num_concurrent", "seed", "timeout")


class EvalTask(RecipePart):
    """What every task with questions of its own says.

    Its items are divided among the ``pairs`` that it joins.
    """

    name: Name
    """Name in paths, results and objectives."""
    source: Source
    """Where the questions come from."""
    items: int = Field(ge=1)
    """How many questions, over all pairs."""
    pairs: int = Field(default=1, ge=1)
    """In how many pairs of a session the task takes part."""
    concurrency: int = Field(default=16, ge=1)
    """Questions asked at once."""
    max_tokens: int = Field(default=256, ge=1)
    """Most tokens of an answer."""
    timeout_s: float = Field(default=300.0, gt=0)
    """For the whole task."""


class Gsm8kEval(EvalTask):
    """Word problems in GSM8K's format, asked and scored by lm-eval."""

    kind: Literal["gsm8k"]
    """Which kind this is."""


class ToolCallEval(EvalTask):
    """Function-calling tasks in BFCL's format over the chat endpoint."""

    kind: Literal["tool_calls"]
    """Which kind this is."""


class Generation(RecipePart):
    """How answers are generated; what is not said is what the task's definition says."""

    max_tokens: int | None = Field(default=None, ge=1)
    """Most tokens of an answer."""
    temperature: float | None = Field(default=None, ge=0)
    """Sampling temperature."""
    top_p: float | None = Field(default=None, gt=0, le=1)
    """Share of probability to sample from."""
    until: tuple[str, ...] | None = None
    """Texts that end an answer."""

    @field_validator("until", mode="before")
    @classmethod
    def _until_is_a_list(cls, value: object) -> object:
        if isinstance(value, str):
            msg = (
                f"must be a list, such as [{value!r}]: lm-eval takes a bare text apart into its "
                "letters, and the first of them cuts every answer, which scores 0"
            )
            raise ValueError(msg)  # noqa: TRY004 - pydantic reports ValueError alone
        return value

    @field_validator("until")
    @classmethod
    def _stops_have_text(cls, value: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if value is not None and "" in value:
            msg = "an empty stop string cuts every answer"
            raise ValueError(msg)
        return value


class LmEval(RecipePart):
    """Any task of lm-eval: one that ships with us, one of a file, or one of lm-eval's own.

    ``data`` maps a split (``test``, ``train``) to a local file, which then stands in for the
    task's dataset. ``filters`` are the answer extractions that count, the first of them first;
    none means all. Each of the ``repeats`` asks everything once with its own seed.
    """

    kind: Literal["lm_eval"]
    """Which kind this is."""
    name: Name
    """Name in paths, results and objectives."""
    task: str = Field(min_length=1)
    """Task name in lm-eval, such as gsm8k, gpqa_diamond_zeroshot, aime25."""
    include_path: Path | None = None
    """Folder or file with task definitions of one's own."""
    data: Mapping[str, Path] = Field(default_factory=dict)
    """Split (test, train) to the local file that stands in for it."""
    fewshot: int | None = Field(default=None, ge=0)
    """Solved examples before each question; absent: as the task says."""
    limit: int | None = Field(default=None, ge=1)
    """Only the first so many questions; absent: all."""
    endpoint: Literal["completions", "chat"] = "completions"
    """Which endpoint is asked."""
    apply_chat_template: bool | None = None
    """Whether prompts are made messages; chat does so by itself."""
    generation: Generation = Generation()
    """How answers are generated."""
    model_arguments: Mapping[str, Scalar] = Field(default_factory=dict)
    """Further arguments of lm-eval's model, such as tokenized_requests."""
    metric: str = Field(default="exact_match", min_length=1)
    """The metric that counts."""
    filters: tuple[str, ...] = ()
    """Extractions of the answer that count, the first first; none means all."""
    repeats: int = Field(default=1, ge=1, le=64)
    """How often everything is asked, each time with its own seed."""
    seeds: tuple[Annotated[int, Field(ge=0)], ...] = ()
    """Seeds of the repeats; absent: made."""
    pairs: int = Field(default=1, ge=1)
    """In how many pairs of a session the task takes part."""
    concurrency: int = Field(default=16, ge=1)
    """Questions asked at once."""
    timeout_s: float = Field(default=3600.0, gt=0)
    """For the whole task."""

    @model_validator(mode="after")
    def _fits_the_endpoint(self) -> Self:
        if self.endpoint == "chat":
            if self.apply_chat_template is False:
                msg = "apply_chat_template: the chat endpoint takes messages only; leave it out"
                raise ValueError(msg)
            if len(self.generation.until or ()) > _CHAT_STOPS:
                msg = f"generation.until: the chat endpoint sends at most {_CHAT_STOPS} stops"
                raise ValueError(msg)
        elif self.apply_chat_template and "tokenizer" not in self.model_arguments:
            msg = (
                "apply_chat_template: on the completions endpoint the template is applied here; "
                "name its tokenizer in model_arguments.tokenizer, or use endpoint: chat"
            )
            raise ValueError(msg)
        return self

    @model_validator(mode="after")
    def _arguments_are_not_ours(self) -> Self:
        for name in sorted(set(self.model_arguments) & set(_OURS)):
            msg = f"model_arguments.{name} is set by the harness; leave it out"
            raise ValueError(msg)
        return self

    @model_validator(mode="after")
    def _one_seed_a_repeat(self) -> Self:
        if self.seeds and len(self.seeds) != self.repeats:
            msg = f"seeds has {len(self.seeds)} entries for {self.repeats} repeats"
            raise ValueError(msg)
        if len(set(self.seeds)) != len(self.seeds):
            msg = "seeds must differ: a seed given twice is one run counted twice"
            raise ValueError(msg)
        return self

    @property
    def repeat_seeds(self) -> tuple[int, ...]:
        """Seed of each repeat."""
        return self.seeds or tuple(range(FIRST_SEED, FIRST_SEED + self.repeats))

    @property
    def chat_template(self) -> bool:
        """Whether prompts are messages."""
        return self.endpoint == "chat" or bool(self.apply_chat_template)


class BfclEval(RecipePart):
    """Categories of BFCL, asked and scored by bfcl-eval in an environment of its own.

    ``max_cases`` cuts every category, or those that it names, to its first cases; such a run is
    marked partial. ``environment`` is the virtual environment with bfcl-eval.
    """

    kind: Literal["bfcl"]
    """Which kind this is."""
    name: Name
    """Name in paths, results and objectives."""
    categories: tuple[str, ...] = Field(min_length=1)
    """Categories or groups of them."""
    max_cases: Annotated[int, Field(ge=1)] | Mapping[str, Annotated[int, Field(ge=1)]] | None = None
    """Most cases of a category, for all or by category; fewer than all is a partial run."""
    threads: int = Field(default=8, ge=1, le=512)
    """Cases run at once."""
    temperature: float = Field(default=0.001, ge=0)
    """Sampling temperature."""
    maximum_steps: int = Field(default=20, ge=1)
    """Most steps of one turn."""
    environment: Path = Path(".venv-bfcl")
    """Virtual environment that has bfcl-eval."""
    pairs: int = Field(default=1, ge=1)
    """In how many pairs of a session the task takes part."""
    timeout_s: float = Field(default=7200.0, gt=0)
    """For the whole task."""

    @field_validator("categories")
    @classmethod
    def _categories_exist(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        check_categories(value)
        return value

    @field_validator("max_cases")
    @classmethod
    def _cases_of_categories(cls, value: object) -> object:
        if isinstance(value, Mapping):
            check_categories(tuple(value))
        return value


Eval = Annotated[Gsm8kEval | ToolCallEval | LmEval | BfclEval, Field(discriminator="kind")]
