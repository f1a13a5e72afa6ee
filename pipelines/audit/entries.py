"""Rules about what a job says it depends on, and what re-runs everything."""

from collections.abc import Iterator

from gauntlet.pipelines.audit.model import AuditInput, Finding
from gauntlet.pipelines.audit.tree import Tree
from gauntlet.pipelines.audit.written import Entry, WrittenJob
from gauntlet.pipelines.rules import RunAll


def dead_entry(audit: AuditInput) -> Iterator[Finding]:
    """Yield entries of jobs that match no file."""
    for written in audit.jobs:
        if written.job.mirror_of is None:
            yield from _dead("dead-entry", written, audit.tree)


def dead_mirror_entry(audit: AuditInput) -> Iterator[Finding]:
    """Yield entries of mirrors that match no file; inherited ones are left to the parent."""
    for written in audit.jobs:
        if written.job.mirror_of is not None:
            yield from _dead("dead-mirror-entry", written, audit.tree)


def _dead(rule: str, written: WrittenJob, tree: Tree) -> Iterator[Finding]:
    for entry in written.entries:
        if not entry.excludes and entry.path not in tree:
            message = f"{entry.text} matches no file{_remedy(entry.path, tree)}"
            yield _finding(rule, written, entry, message)


def _remedy(path: str, tree: Tree) -> str:
    """Say what the writer may have meant, where the tree tells."""
    if f"{path}.py" in tree:
        return f"; did you mean {path}.py?"
    begun = tree.beginning(path) if path else ()
    if begun:
        return f"; {begun[0]} only begins like it, and entries are whole names"
    moved = tree.named(path.rpartition("/")[2])
    return f"; did it move to {moved[0]}?" if len(moved) == 1 else ""


def dead_exclusion(audit: AuditInput) -> Iterator[Finding]:
    """Yield ``!`` entries that take nothing away from the job."""
    for written in audit.jobs:
        chosen = [entry.path for entry in written.effective() if not entry.excludes]
        for entry in written.entries:
            if not entry.excludes:
                continue
            if entry.path not in audit.tree:
                yield _finding("dead-exclusion", written, entry, f"{entry.text} matches no file")
            elif not any(_below(entry.path, path) or _below(path, entry.path) for path in chosen):
                message = f"{entry.text} excludes nothing that another entry includes"
                yield _finding("dead-exclusion", written, entry, message)


def excluded_entry(audit: AuditInput) -> Iterator[Finding]:
    """Yield entries that an exclusion of the same job makes useless: it wins in any order."""
    for written in audit.jobs:
        excluded = [entry for entry in written.effective() if entry.excludes]
        for entry in written.entries:
            if entry.excludes:
                continue
            by = next((other for other in excluded if _below(entry.path, other.path)), None)
            if by is not None:
                message = f"{entry.text} never selects the job: {by.text} excludes it"
                yield _finding("excluded-entry", written, entry, message)


def shadowed_entry(audit: AuditInput) -> Iterator[Finding]:
    """Yield entries that lie below, or repeat, another entry of the same list."""
    for written in audit.jobs:
        for index, entry in enumerate(written.entries):
            above = _above(written.entries, index)
            if above is not None and entry.path in audit.tree:
                same = above.path == entry.path
                message = (
                    f"{entry.text} {'repeats' if same else 'lies below'} the entry {above.text}"
                )
                yield _finding("shadowed-entry", written, entry, message)


def _above(entries: tuple[Entry, ...], index: int) -> Entry | None:
    """An entry that makes the one at ``index`` redundant; of two equal ones, the first stays."""
    entry = entries[index]
    for other_index, other in enumerate(entries):
        if other.excludes != entry.excludes or other_index == index:
            continue
        if other.path == entry.path and other_index > index:
            continue
        if _below(entry.path, other.path):
            return other
    return None


def dead_pattern(audit: AuditInput) -> Iterator[Finding]:
    """Yield run-all patterns, and exclusions from them, that match no file."""
    config = audit.files.config.path
    document = audit.documents[config]
    lists = {
        "run_all_patterns": audit.definitions.run_all_patterns,
        "run_all_exclude_patterns": audit.definitions.run_all_exclude_patterns,
    }
    for name, patterns in lists.items():
        for index, pattern in enumerate(patterns):
            run_all = RunAll([pattern], ())
            if not any(run_all.match(path) for path in audit.tree.files):
                yield Finding(
                    rule="dead-pattern",
                    file=config,
                    line=document.line((name, index)),
                    subject=pattern,
                    message=f"{pattern} in {name} matches no file",
                )


def _below(path: str, above: str) -> bool:
    """Whether a path is, or lies below, another one."""
    return path == above or path.startswith(f"{above}/")


def _finding(rule: str, written: WrittenJob, entry: Entry, message: str) -> Finding:
    return Finding(
        rule=rule,
        file=written.job.file,
        line=entry.line,
        job=written.job.key,
        subject=entry.text,
        message=message,
    )
