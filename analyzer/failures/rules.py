"""Rules as data: which line of a log means which kind of failure."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, field_validator

from gauntlet.analyzer.failures.literals import required_literals
from gauntlet.analyzer.failures.model import FailureClass
from gauntlet.core.errors import ConfigError, Problem
from gauntlet.core.yaml_file import StrictModel, load_model

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
    which: Which = "last"
    """Which of several lines counts."""
    process: str = ""
    """Expression that who wrote the line must match."""
    unless: str = ""
    """Expression that the line must not match."""
    tests: bool = False
    """Whether the line is a verdict of a test runner."""
    needles: tuple[Annotated[str, Field(min_length=4)], ...] = ()
    """Texts of which every match has one; found from the pattern where none are given."""
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


class RuleFile(StrictModel):
    """One file of rules; ``owner`` is that of rules without one."""

    schema_version: Literal[1]
    owner: str = ""
    rules: tuple[RuleModel, ...] = Field(min_length=1)


GENERIC = 20
"""Rules below this priority say that something failed, and not what."""


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
