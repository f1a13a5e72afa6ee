"""The rules of alerts: data (``rules.yaml``), changed by name by a file of the user."""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Literal

from pydantic import Field

from gauntlet.analyzer.alerts.model import MEASURES, Severity
from gauntlet.core.errors import ConfigError, Problem, nearest
from gauntlet.core.yaml_file import KeyPath, StrictModel, YamlDocument, load_yaml, validate_model

_LONGEST_HOLD = 120.0


class RuleChange(StrictModel):
    """What a file says of one rule; a rule that ships with this version keeps the rest."""

    measure: str | None = None
    applies_to: str | None = Field(default=None, min_length=1)
    """Pattern of names (``l4-*``), as the shell's."""
    open_at: float | None = Field(default=None, gt=0)
    close_at: float | None = Field(default=None, ge=0)
    times_usual: float | None = Field(default=None, ge=0)
    open_after_minutes: float | None = Field(default=None, ge=0, le=_LONGEST_HOLD)
    close_after_minutes: float | None = Field(default=None, ge=0, le=_LONGEST_HOLD)
    unit: str | None = None
    owner: str | None = Field(default=None, min_length=1)
    severity: Severity | None = None
    remedy: str | None = None
    enabled: bool | None = None


class RuleFile(StrictModel):
    """A file of rules, by name."""

    schema_version: Literal[1] = 1
    rules: Mapping[str, RuleChange]


class Rule(StrictModel):
    """When a measure of some subjects is an alert; see ``rules.yaml`` for the thresholds."""

    name: str
    measure: str
    applies_to: str = "*"
    open_at: float
    close_at: float
    times_usual: float = 0.0
    open_after_minutes: float = 0.0
    close_after_minutes: float = 0.0
    unit: str
    owner: str
    severity: Severity
    remedy: str = ""
    enabled: bool = True


_NEEDED = ("measure", "open_at", "close_at", "unit", "owner", "severity")


def load_rules(path: Path | None = None) -> tuple[Rule, ...]:
    """The rules that ship with this version, changed by those in ``path``; the user's own first.

    Raises ConfigError with every problem of the file.
    """
    shipped = _shipped()
    if path is None:
        return shipped
    document = load_yaml(path)
    changes = validate_model(document, RuleFile)
    known = {rule.name: rule for rule in shipped}
    made, problems = _merged(changes, known, document)
    if problems:
        raise ConfigError(problems)
    own = [rule for rule in made if rule.name not in known]
    changed = {rule.name: rule for rule in made}
    return (*own, *(changed.get(rule.name, rule) for rule in shipped))


def rule_for(rules: Sequence[Rule], measure: str, name: str) -> Rule | None:
    """The first rule that applies; None where nobody watches, or a rule says not to."""
    for rule in rules:
        if rule.measure == measure and fnmatchcase(name, rule.applies_to):
            return rule if rule.enabled else None
    return None


@cache
def _shipped() -> tuple[Rule, ...]:
    with as_file(files("gauntlet.analyzer.alerts").joinpath("rules.yaml")) as path:
        document = load_yaml(path)
    made, problems = _merged(validate_model(document, RuleFile), {}, document)
    if problems:
        raise ConfigError(problems)
    return tuple(made)


def _merged(
    changes: RuleFile, known: Mapping[str, Rule], document: YamlDocument
) -> tuple[list[Rule], list[Problem]]:
    made: list[Rule] = []
    problems: list[Problem] = []
    for name, change in changes.rules.items():
        said = change.model_dump(exclude_none=True)
        base = known[name].model_dump() if name in known else {"name": name}
        fields = {**base, **said}
        found = list(_problems(name, fields, known, document))
        problems += found
        if not found:
            made.append(Rule.model_validate(fields))
    return made, problems


def _problems(
    name: str, fields: Mapping[str, object], known: Mapping[str, Rule], document: YamlDocument
) -> list[Problem]:
    """What is wrong with one rule once it is whole."""
    where: KeyPath = ("rules", name)
    missing = [key for key in _NEEDED if key not in fields]
    if missing:
        close = nearest(name, known)
        message = f"a rule of its own needs {', '.join(missing)}"
        return [document.problem(where, message, nearest=close)]
    measure = str(fields["measure"])
    if measure not in MEASURES:
        problem = document.problem(
            (*where, "measure"),
            "unknown measure",
            value=repr(measure),
            allowed=tuple(MEASURES),
            nearest=nearest(measure, MEASURES),
        )
        return [problem]
    found = []
    what = MEASURES[measure]
    if fields["unit"] != what.unit:
        message = f"the unit of {measure} is another"
        found.append(
            document.problem(
                (*where, "unit"), message, value=repr(fields["unit"]), allowed=(what.unit,)
            )
        )
    open_at, close_at = (float(str(fields[key])) for key in ("open_at", "close_at"))
    if close_at >= open_at:
        message = f"it must be below open_at, which is {open_at:g}, or the alert would flap"
        found.append(document.problem((*where, "close_at"), message, value=f"{close_at:g}"))
    for key in ("open_after_minutes", "close_after_minutes"):
        if fields.get(key) and not what.history:
            message = f"nothing tells how {measure} was before, so it cannot be asked to hold"
            found.append(
                document.problem((*where, key), message, value=str(fields[key]), allowed=("0",))
            )
    return found
