"""Are the rules sound? Each must decide its example, leave its counter-example, and end in time."""

import time
from collections.abc import Iterable
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

from gauntlet.analyzer.failures.engine import scan
from gauntlet.analyzer.failures.found import Finding
from gauntlet.analyzer.failures.rules import Rule, RuleSet, allowed_classes
from gauntlet.core.errors import Problem

# An adversary's line: what a pattern may match again and again, and then an end that it does not.
_ADVERSARIES = (
    "a" * 4000,
    "a: " * 1300,
    "a/" * 2000,
    "(a, " * 1000,
    "1.2 " * 1000,
    "Error: " * 570,
)
_SLOW_S = 0.5
_REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT)


def lint(rules: RuleSet) -> list[Problem]:
    """Every fault of a set of rules; empty where there is none."""
    found = []
    for rule in rules.rules:
        faults = [*_example(rule, rules), *_counter_example(rule), *_catastrophic(rule)]
        faults += _band(rule)
        found += [Problem(file=rule.file, key=rule.name, message=fault) for fault in faults]
    return found + [
        Problem(file=rule.file, key=rule.name, message=f"the pattern is that of {first}")
        for rule, first in _repeated(rules.rules)
    ]


def _example(rule: Rule, rules: RuleSet) -> Iterable[str]:
    found = _matches(rule.model.example, rules)
    if rule.name not in [finding.rule.name for finding in found]:
        yield "its example does not match"
    elif found[0].rule.name != rule.name:
        yield f"its example is decided by {found[0].rule.name}: this rule is out of reach for it"


def _counter_example(rule: Rule) -> Iterable[str]:
    alone = RuleSet(rules=(rule,), digest="")
    if _matches(rule.model.counter_example, alone):
        yield "its counter-example matches"


def _band(rule: Rule) -> Iterable[str]:
    allowed = allowed_classes(rule.priority)
    if rule.failure_class not in allowed:
        yield (
            f"class {rule.failure_class} at priority {rule.priority}, where only "
            f"{', '.join(sorted(allowed))} may stand"
        )


def _matches(line: str, rules: RuleSet) -> tuple[Finding, ...]:
    return scan([line.encode() + b"\n"], rules).findings


def _catastrophic(rule: Rule) -> Iterable[str]:
    for pattern in filter(None, (rule.pattern, rule.unless, rule.process)):
        if has_nested_repeats(pattern.pattern):
            yield f"nested repeats in {pattern.pattern!r} may take for ever"
            continue
        begun = time.process_time()
        for adversary in _ADVERSARIES:
            for line in (f"{adversary}\x00", f"{rule.model.example}{adversary}\x00"):
                pattern.search(line)
        if time.process_time() - begun > _SLOW_S:
            yield f"{pattern.pattern!r} takes too long on lines made to mislead it"


def has_nested_repeats(pattern: str) -> bool:
    """Whether an open repeat begins and ends with another: the text can be cut in many ways."""
    return _nested(parser.parse(pattern))


def _nested(tree: Iterable[tuple[Any, Any]]) -> bool:
    for kind, value in tree:
        if kind in _REPEATS:
            _, most, inner = value
            if most is op.MAXREPEAT and _only_repeats(list(inner)):
                return True
            if _nested(inner):
                return True
        elif (kind is op.SUBPATTERN and _nested(value[3])) or (
            kind is op.BRANCH and any(_nested(branch) for branch in value[1])
        ):
            return True
    return False


def _only_repeats(items: list[tuple[Any, Any]]) -> bool:
    """Whether a sequence has no step of its own beside open repeats, as in ``(a*b*)*``."""
    if len(items) == 1 and items[0][0] is op.SUBPATTERN:
        return _only_repeats(list(items[0][1][3]))
    open_repeats = [i for i in items if i[0] in _REPEATS and i[1][1] is op.MAXREPEAT]
    fixed = [i for i in items if i[0] not in _REPEATS and i[0] is not op.AT]
    return bool(open_repeats) and not fixed and len(items) > 0


def _repeated(rules: Iterable[Rule]) -> Iterable[tuple[Rule, str]]:
    seen: dict[tuple[str, str], str] = {}
    for rule in rules:
        key = (rule.pattern.pattern, rule.process.pattern if rule.process else "")
        if key in seen:
            yield rule, seen[key]
        seen.setdefault(key, rule.name)
