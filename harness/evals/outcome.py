"""What the adapter of an evaluation tool hands back, and how it says that it could not."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from gauntlet.core.errors import InfrastructureError
from gauntlet.harness.evals.samples import Sample

FailureKind = Literal[
    "tool-missing",
    "bad-task",
    "bad-data",
    "api-error",
    "tool-timeout",
    "tool-crash",
    "no-result",
    "adapter-error",
]


class EvalError(InfrastructureError):
    """An evaluation tool gave no answer that could be judged; ``kind`` is the class of why."""

    def __init__(self, kind: FailureKind, message: str, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.kind = kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """One score of one task; ``stderr`` is None where it would claim a certainty that is none."""

    task: str
    metric: str
    filter: str = ""
    value: float | None
    stderr: float | None = None
    n: int
    partial: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """Which program judged, and the parts of its set-up that a score depends on.

    ``task_version`` is the digest of the task's definition, ``prompt_digest`` that of its prompt
    template, "" where the tool does not tell it.
    """

    name: str
    version: str
    task_version: str = ""
    prompt_digest: str = ""
    fewshot: int | None = None

    @property
    def client_version(self) -> str:
        """Version as the fingerprint gets it: another one begins a new segment."""
        parts = [self.version]
        if self.task_version:
            parts.append(f"task.{self.task_version[:12]}")
        if self.prompt_digest:
            parts.append(f"prompt.{self.prompt_digest[:12]}")
        return "+".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Every answer of one evaluation, and what the tool made of them.

    ``samples`` hold the extraction that counts. ``max_tokens`` is the limit of an answer, None
    where there is none. With ``problems`` the repetition is invalid and has no accuracy.
    """

    tool: Tool
    dataset_digest: str
    samples: tuple[Sample, ...]
    scores: tuple[Score, ...] = ()
    max_tokens: int | None = None
    problems: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
