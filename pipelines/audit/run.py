"""The whole audit in one call: texts in, findings out."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gauntlet.core.errors import UsageError
from gauntlet.pipelines.audit.model import AuditInput, AuditRequest, Finding
from gauntlet.pipelines.audit.prepare import prepare
from gauntlet.pipelines.audit.registry import TIMEOUTS, Rule, find_all


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReport:
    """Findings of the rules that were checked, and what limits them.

    ``jobs`` is how many were looked at, broken ones too; ``files`` how many files the tree has.
    """

    rules: tuple[Rule, ...]
    findings: tuple[Finding, ...]
    jobs: int
    files: int
    notes: tuple[str, ...]


def audit(request: AuditRequest, rules: Sequence[Rule]) -> AuditReport:
    """Check a pipeline's definitions by rules. Pure.

    Raises ConfigError where its configuration cannot be read, UsageError where the list of files
    is that of another tree.
    """
    prepared = prepare(request)
    _check_tree(prepared)
    return AuditReport(
        rules=tuple(rules),
        findings=find_all(prepared, rules),
        jobs=len(prepared.jobs) + len(prepared.definitions.broken),
        files=len(prepared.tree.files),
        notes=(*request.notes, *_notes(prepared, {rule.name for rule in rules})),
    )


def _check_tree(prepared: AuditInput) -> None:
    """Refuse a list in which most entries would be dead because it is not of this engine."""
    tops = Counter(
        entry.path.partition("/")[0] for written in prepared.jobs for entry in written.entries
    )
    lacking = Counter({top: count for top, count in tops.items() if top not in prepared.tree})
    if lacking.total() * 2 > tops.total():
        top, count = lacking.most_common(1)[0]
        msg = f"the tree has no {top}, below which {count} of {tops.total()} entries lie"
        raise UsageError(msg, hint="give the engine's files with --tree, a folder or a list")


def _notes(prepared: AuditInput, checked: set[str]) -> Iterator[str]:
    """Say what was not looked at, so that nobody takes silence for soundness."""
    for path in prepared.unread:
        yield f"{path} cannot be read: nothing that it runs is known"
    unread = prepared.runs.unread if "orphan-test" in checked else ()
    if unread:
        yield (
            f"{len(unread)} scripts that commands call are not at hand, such as {unread[0]}: "
            "a test that only they run counts as orphan, unless it lies beside one"
        )
    if prepared.timings is None and TIMEOUTS not in checked:
        yield f"{TIMEOUTS} was not checked: it needs --timings"
