"""The findings that somebody has accepted, in a file that is kept beside the definitions."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gauntlet.core.errors import ConfigError, nearest
from gauntlet.core.files import write_atomic
from gauntlet.core.yaml_file import StrictModel, load_yaml, validate_model
from gauntlet.pipelines.audit.model import Finding, Identity
from gauntlet.pipelines.audit.registry import RULES, Rule

_HINT = "write the file with --write-baseline"


class _Entry(StrictModel):
    rule: str
    file: str
    job: str
    subject: str


class _Baseline(StrictModel):
    schema_version: Literal[1]
    findings: tuple[_Entry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Findings that a baseline does not have, and its entries that were not found again."""

    new: tuple[Finding, ...]
    fixed: tuple[Identity, ...]


def load_baseline(path: Path) -> frozenset[Identity]:
    """Read a baseline, JSON or YAML. Raises ConfigError with every problem in it."""
    try:
        document = load_yaml(path)
        parsed = validate_model(document, _Baseline)
    except ConfigError as error:
        raise ConfigError(error.problems, hint=_HINT) from error
    problems = [
        document.problem(
            ("findings", index, "rule"),
            "there is no such rule",
            value=repr(entry.rule),
            nearest=nearest(entry.rule, RULES),
        )
        for index, entry in enumerate(parsed.findings)
        if entry.rule not in RULES
    ]
    if problems:
        raise ConfigError(problems, hint=_HINT)
    return frozenset(
        Identity(entry.rule, entry.file, entry.job, entry.subject) for entry in parsed.findings
    )


def compare(
    findings: Sequence[Finding], baseline: Iterable[Identity], rules: Iterable[Rule]
) -> Comparison:
    """Tell new findings from accepted ones; entries of rules that were not checked do not count."""
    checked = {rule.name for rule in rules}
    accepted = {identity for identity in baseline if identity.rule in checked}
    found = {finding.identity for finding in findings}
    return Comparison(
        new=tuple(finding for finding in findings if finding.identity not in accepted),
        fixed=tuple(sorted(accepted - found)),
    )


def write_baseline(path: Path, findings: Iterable[Finding], rules: Iterable[Rule]) -> Path:
    """Accept findings: write them whole, sorted, one a line.

    Entries that the file has of rules that were not checked stay. Raises ConfigError where the
    file is there and no baseline, InfrastructureError where it cannot be written.
    """
    checked = {rule.name for rule in rules}
    before = load_baseline(path) if path.exists() else frozenset()
    kept = {identity for identity in before if identity.rule not in checked}
    return write_atomic(path, baseline_text(kept | {finding.identity for finding in findings}))


def baseline_text(identities: Iterable[Identity]) -> str:
    """Text of a baseline: the same for the same findings, in whatever order they come."""
    lines = [
        "  " + json.dumps(identity._asdict(), ensure_ascii=False) for identity in sorted(identities)
    ]
    entries = ",\n".join(lines)
    listed = f"[\n{entries}\n ]" if lines else "[]"
    return f'{{\n "schema_version": 1,\n "findings": {listed}\n}}\n'
