"""Accuracy tasks: which questions are asked, how, and how many."""

from typing import Annotated, Literal

from pydantic import Field

from gauntlet.core.yaml_file import StrictModel
from gauntlet.perf_eval.workloads import Name, Source


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


Eval = Annotated[Gsm8kEval | ToolCallEval, Field(discriminator="kind")]
