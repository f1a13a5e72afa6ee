"""Rules as data: which line of a log means which kind of failure."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator

from gauntlet.analyzer.failures.literals import SHORTEST, required_literals
from gauntlet.core.errors import ConfigError, Problem
from gauntlet.core.yaml_file import StrictModel, load_model
from gauntlet.warehouse.failure_classes import FAILURE_CLASSES, FailureClass

Which = Literal["first", "last"]


class RuleModel(StrictModel):
    """One rule as it stands in a file; docs/reference/failures.md describes the keys."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    failure_class: FailureClass = Field(alias="class")
    retryable: bool | Literal["maybe"]
    """yes, no, or maybe."""
    pattern: str = Field(min_length=3)
    """Python regular expression, searched in the line without colours, times and prefixes."""
    priority: int = Field(default=50, ge=0, le=100)
    """The highest that matches decides; 0 to 19 say only that something failed."""
    which: Which = "first"
    """Which of several lines counts: the first of the last attempt (of chained exceptions the
    last), or the last of all."""
    part: str = ""
    """Part of pytest's output that the line must stand in, such as ``collecting``."""
    warnings: bool = False
    """Whether a warning counts: what a tool only warns of, it went on after."""
    look_back: bool = False
    """Whether the line only sums up: then what was said before it is shown."""
    process: str = ""
    """Expression that who wrote the line must match."""
    unless: str = ""
    """Expression that the line must not match."""
    tests: bool = False
    """Whether the line is a verdict of a test runner."""
    needles: tuple[str, ...] = ()
    """Texts of four bytes or more of which every match has one; found from the pattern where none
    are given."""
    confidence: float = Field(default=0.9, gt=0, le=1)
    owner: str = ""
    example: str
    """A line that this rule decides."""
    counter_example: str
    """A line that looks like it, which the rule must leave alone."""

    @field_validator("pattern", "process", "unless")
    @classmethod
    def _compiles(cls, value: str) -> str:
        try:
            re.compile(value)
        except re.error as error:
            msg = f"no regular expression: {error}"
            raise ValueError(msg) from error
        return value

    @field_validator("needles")
    @classmethod
    def _long_enough(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        short = [needle for needle in value if len(needle.encode()) < SHORTEST]
        if short:
            msg = f"texts of less than {SHORTEST} bytes: {', '.join(map(repr, short))}"
            raise ValueError(msg)
        return value


class RuleFile(StrictModel):
    """One file of rules; ``owner`` is that of rules without one."""

    schema_version: Literal[1]
    owner: str = ""
    rules: tuple[RuleModel, ...] = Field(min_length=1)


GENERIC = 20
"""Rules below this priority say that something failed, and not what."""

# What a priority means. Within a band the more specific statement stands higher.
#   90-100  what scheduler, agent, runner, driver or disk say of themselves
#   80-89   a resource that is named as broken: memory, hub, registry, mount
#   70-79   the verdict of a tool: installer, compiler, linker, downloader, gate
#   60-69   the verdict of a test runner; an exception that names its cause
#   50-59   an assertion, a plain crash, what a shell could not do
#   40-49   a step that failed, by name
#   30-39   an exception of which only the type is known; a test that passed when run again
#   20-29   what an exit status or a total says
#   0-19    something failed
_BLAMES_MACHINE: frozenset[FailureClass] = frozenset(
    {"infra_machine", "infra_network", "infra_capacity", "infra_agent", "timeout", "cancelled"}
)
_ANY_RESOURCE: frozenset[FailureClass] = _BLAMES_MACHINE | {
    "upstream_hub", "dependency", "image_build", "policy"
}  # fmt: skip


def allowed_classes(priority: int) -> frozenset[FailureClass]:
    """The classes that a rule of this priority may give; all of them where it does not matter."""
    if priority < GENERIC:
        return frozenset({"unknown"})
    if priority >= 90:
        return _BLAMES_MACHINE
    if priority >= 80:
        return _ANY_RESOURCE
    everything = frozenset(FAILURE_CLASSES)
    return everything if priority < 30 else everything - {"unknown"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule, ready to be used; ``rank`` orders them: the lower decides."""

    name: str
    failure_class: FailureClass
    retryable: bool | None
    pattern: re.Pattern[str]
    process: re.Pattern[str] | None
    unless: re.Pattern[str] | None
    needles: tuple[str, ...]
    priority: int
    rank: int
    first: bool
    tests: bool
    part: str
    warnings: bool
    look_back: bool
    confidence: float
    owner: str
    model: RuleModel
    file: str

    @property
    def generic(self) -> bool:
        """Whether it is the last resort."""
        return self.priority < GENERIC


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RuleSet:
    """Rules by rank; ``digest`` names their content. Two sets are the same if they are one."""

    rules: tuple[Rule, ...]
    digest: str

    def __getitem__(self, name: str) -> Rule:
        return next(rule for rule in self.rules if rule.name == name)


def load_rules(folder: Path | None = None) -> RuleSet:
    """The rules that ship with this version, after those of ``folder``.

    Raises ConfigError with every problem of the first file that has one.
    """
    shipped = _shipped()
    if folder is None:
        return rule_set(shipped)
    own = _read_folder(folder)
    if not own:
        problem = Problem(file=str(folder), message="no *.yaml file with rules in this folder")
        raise ConfigError([problem])
    return rule_set([*own, *shipped], first=len(own))


def rule_set(models: Sequence[tuple[str, RuleModel, str]], *, first: int = 0) -> RuleSet:
    """Make rules of what files say; the ``first`` few come before all others.

    Raises ConfigError for names given twice and patterns without a literal text.
    """
    import hashlib

    order = sorted(
        range(len(models)),
        key=lambda i: (_generic(models[i][1]), i >= first, -models[i][1].priority, i),
    )
    rules = [_rule(*models[index], rank=rank) for rank, index in enumerate(order)]
    problems = [*_twice(rules), *_without_needle(rules)]
    if problems:
        raise ConfigError(problems)
    text = "\n".join(f"{r.rank} {r.model.model_dump_json()}" for r in rules)
    return RuleSet(rules=tuple(rules), digest=hashlib.sha256(text.encode()).hexdigest()[:12])


def _generic(model: RuleModel) -> bool:
    return model.priority < GENERIC


def _rule(file: str, model: RuleModel, owner: str, *, rank: int) -> Rule:
    return Rule(
        name=model.name,
        failure_class=model.failure_class,
        retryable=None if model.retryable == "maybe" else bool(model.retryable),
        pattern=re.compile(model.pattern),
        process=re.compile(model.process) if model.process else None,
        unless=re.compile(model.unless) if model.unless else None,
        needles=model.needles or required_literals(model.pattern),
        priority=model.priority,
        rank=rank,
        first=model.which == "first",
        tests=model.tests,
        part=model.part,
        warnings=model.warnings,
        look_back=model.look_back,
        confidence=model.confidence,
        owner=model.owner or owner,
        model=model,
        file=file,
    )


def _twice(rules: Iterable[Rule]) -> list[Problem]:
    seen: dict[str, str] = {}
    found = []
    for rule in rules:
        if rule.name in seen:
            message = f"a rule of this name stands in {seen[rule.name]} already"
            found.append(Problem(file=rule.file, key=rule.name, message=message))
        seen[rule.name] = rule.file
    return found


def _without_needle(rules: Iterable[Rule]) -> list[Problem]:
    message = "no text that every match has; give `needles`, of which each line has one"
    return [
        Problem(file=rule.file, key=rule.name, message=message)
        for rule in rules
        if not rule.needles
    ]


@cache
def _shipped() -> list[tuple[str, RuleModel, str]]:
    with as_file(files("gauntlet.analyzer.rules")) as folder:
        return _read_folder(folder)


def _read_folder(folder: Path) -> list[tuple[str, RuleModel, str]]:
    found = []
    for path in sorted(folder.glob("*.yaml")):
        read = load_model(path, RuleFile)
        found += [(str(path), model, read.owner) for model in read.rules]
    return found
