"""A selection as data: what becomes of every job, and why."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from gauntlet.pipelines.definitions.job import BrokenJob, Definitions, Job, Tier

Verb = Literal["run", "skip", "block"]
RUN: Verb = "run"
SKIP: Verb = "skip"
BLOCK: Verb = "block"
Mode = Literal["default", "compatible"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a build asks for besides its changes.

    ``tier`` is the kind of build; ``labels`` are those of its pull request; ``keys`` restrict it
    to these jobs and what they need; ``run_all`` runs every job of the tier; ``hardware`` leaves
    out jobs whose definition names other hardware tags. ``mode`` compatible applies vLLM's own
    rule, mistakes included.
    """

    mode: Mode = "default"
    tier: Tier = Tier.READY
    labels: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    run_all: bool = False
    hardware: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """Why: the rule, what set it off, the path from there to the job, and a sentence."""

    rule: str
    evidence: str
    path: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What becomes of one job: it runs, is left out, or waits for a person (block).

    There is always at least one reason; the first one decided.
    """

    key: str
    label: str
    group: str
    decision: Verb
    reasons: tuple[Reason, ...]

    @property
    def runs(self) -> bool:
        """Whether the job runs by itself."""
        return self.decision == RUN

    @property
    def in_pipeline(self) -> bool:
        """Whether the job is in the pipeline, be it behind a block step."""
        return self.decision != SKIP

    @property
    def rule(self) -> str:
        """The rule of the first reason."""
        return self.reasons[0].rule

    @property
    def evidence(self) -> str:
        """What set the rule off: a file, a job or an option."""
        return self.reasons[0].evidence

    @property
    def path(self) -> tuple[str, ...]:
        """The way from the evidence to the job."""
        return self.reasons[0].path


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Every decision, sorted by key. ``docs_only``: documentation is all that changed."""

    decisions: tuple[Decision, ...]
    docs_only: bool

    @cached_property
    def by_key(self) -> dict[str, Decision]:
        """Decisions by job key."""
        return {decision.key: decision for decision in self.decisions}

    @cached_property
    def selected(self) -> tuple[str, ...]:
        """Keys of the jobs that run by themselves, sorted."""
        return tuple(decision.key for decision in self.decisions if decision.runs)

    @cached_property
    def blocked(self) -> tuple[str, ...]:
        """Keys of the jobs that wait for a person, sorted."""
        return tuple(decision.key for decision in self.decisions if decision.decision == BLOCK)


def decide_job(job: Job | BrokenJob, decision: Verb, *reasons: Reason) -> Decision:
    """Build the decision for a job."""
    return Decision(
        key=job.key, label=job.label, group=job.group, decision=decision, reasons=reasons
    )


def make_selection(decisions: Mapping[str, Decision], *, docs_only: bool) -> Selection:
    """Put decisions in their order."""
    ordered = sorted(decisions.values(), key=lambda decision: decision.key)
    return Selection(decisions=tuple(ordered), docs_only=docs_only)


def nothing(
    definitions: Definitions, *, rule: str, evidence: str, text: str
) -> dict[str, Decision]:
    """Skip every job, broken ones too, for one reason."""
    jobs: Sequence[Job | BrokenJob] = (*definitions.jobs, *definitions.broken)
    skipped = {}
    for job in jobs:
        way = (evidence, job.key) if evidence else (job.key,)
        reason = Reason(rule=rule, evidence=evidence, path=way, text=text)
        skipped[job.key] = decide_job(job, SKIP, reason)
    return skipped


def some(paths: Sequence[str]) -> str:
    """Name a few of many."""
    return paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"
