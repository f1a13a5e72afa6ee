"""All rules by name, each with the line that explains it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from gauntlet.core.errors import UsageError, unknown_name
from gauntlet.pipelines.audit import entries, folders, mirrors, structure, tests, timeouts
from gauntlet.pipelines.audit.model import AuditInput, Finding


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: its name, what its findings have in common, and the pure function that finds them."""

    name: str
    title: str
    find: Callable[[AuditInput], Iterator[Finding]]


TIMEOUTS = "timeout-far"
_ALL = (
    Rule("broken-definition", "definitions that cannot be read", structure.broken_definition),
    Rule("duplicate-key", "keys that two jobs have", structure.duplicate_key),
    Rule(
        "dangling-dependency",
        "dependencies on jobs that there are not",
        structure.dangling_dependency,
    ),
    Rule("circular-dependency", "jobs that wait for themselves", structure.circular_dependency),
    Rule("unknown-device", "devices that the fleet does not have", structure.unknown_device),
    Rule("missing-key", "steps whose key changes with their label", structure.missing_key),
    Rule("dead-entry", "entries that match no file", entries.dead_entry),
    Rule("dead-mirror-entry", "entries of mirrors that match no file", entries.dead_mirror_entry),
    Rule("dead-exclusion", "exclusions that take nothing away", entries.dead_exclusion),
    Rule("excluded-entry", "entries that an exclusion makes useless", entries.excluded_entry),
    Rule("shadowed-entry", "entries that another entry holds already", entries.shadowed_entry),
    Rule("dead-pattern", "run-all patterns that match no file", entries.dead_pattern),
    Rule(
        "uncovered-test",
        "tests that a job runs and its dependencies leave out",
        tests.uncovered_test,
    ),
    Rule("orphan-test", "test files that no pipeline runs", tests.orphan_test),
    Rule("commented-out-step", "steps turned into comments", structure.commented_out_step),
    Rule(
        "unwatched-folder",
        "source folders whose changes a vendor's jobs do not notice",
        folders.unwatched_folder,
    ),
    Rule("mirror-drift", "mirrors that differ from their parents", mirrors.mirror_drift),
    Rule(
        TIMEOUTS,
        "time limits far from what was measured (needs --timings)",
        timeouts.timeout_far,
    ),
)
RULES = {rule.name: rule for rule in _ALL}


def choose(names: Sequence[str], *, timings: bool) -> tuple[Rule, ...]:
    """Return the named rules, or all that can be checked, in the order of the table.

    Raises UsageError for a name that is no rule, or whose rule lacks the timings that it needs.
    """
    for name in names:
        if name not in RULES:
            raise unknown_name("rule", name, RULES)
        if name == TIMEOUTS and not timings:
            msg = f"the rule {TIMEOUTS} compares with measured durations"
            raise UsageError(msg, hint="give them with --timings FILE")
    return tuple(
        rule for rule in _ALL if (rule.name in names if names else timings or rule.name != TIMEOUTS)
    )


def find_all(audit: AuditInput, rules: Iterable[Rule]) -> tuple[Finding, ...]:
    """Apply rules; findings come in the order of the rules, then of file, line and subject."""
    return tuple(finding for rule in rules for finding in sorted(rule.find(audit), key=_order))


def _order(finding: Finding) -> tuple[str, int, str, str]:
    return (finding.file, finding.line or 0, finding.job, finding.subject)
