"""Rules about which tests run, and whether a change to them is noticed."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from gauntlet.pipelines.audit.model import AuditInput, Finding
from gauntlet.pipelines.audit.runs import files_of, pytest_files
from gauntlet.pipelines.audit.tree import TESTS, Tree
from gauntlet.pipelines.audit.written import WrittenJob
from gauntlet.pipelines.commands import WORKSPACE, pytest_calls
from gauntlet.pipelines.rules import prefixes

_COMMENTED_PYTEST = re.compile(r"^\s*#[\s-]*(.*\bpytest\b.*)$")


def uncovered_test(audit: AuditInput) -> Iterator[Finding]:
    """Yield tests that a job runs although a change to them would not select it.

    Optional jobs are left out: no change selects them. What a mirror has in common with its
    parent is told at the parent.
    """
    missed = {
        written.job.key: {} if written.job.optional else _uncovered(written, audit.tree)
        for written in audit.jobs
    }
    for written in audit.jobs:
        job = written.job
        told = missed.get(job.mirror_of or "", {})
        for target, paths in missed[job.key].items():
            if told.get(target) != paths:
                yield Finding(
                    rule="uncovered-test",
                    file=job.file,
                    line=_command_line(written, target),
                    job=job.key,
                    subject=target,
                    message=_missed(target, paths, audit.tree),
                )


def _uncovered(written: WrittenJob, tree: Tree) -> dict[str, list[str]]:
    """Test files that a job runs and its entries do not match, by the target that names them."""
    entries = written.effective()
    included = {entry.path for entry in entries if not entry.excludes}
    excluded = {entry.path for entry in entries if entry.excludes}
    found: dict[str, list[str]] = {}
    for call in pytest_calls(written.job.commands, written.job.working_dir):
        for target in call.named:
            paths = files_of(call, target, tree)
            missed = [path for path in paths if not _covered(path, included, excluded)]
            # An expression chooses tests whose files the entries may well name.
            if missed and not (call.narrowed and len(missed) < len(paths)):
                found.setdefault(target, missed)
    return found


def _covered(path: str, included: set[str], excluded: set[str]) -> bool:
    above = set(prefixes(path))
    return not above.isdisjoint(included) and above.isdisjoint(excluded)


def _command_line(written: WrittenJob, target: str) -> int | None:
    """Line of the command that names a target, by as much of its path as stands there."""
    name = target
    while name:
        for index, text in enumerate(written.job.commands):
            if name in text:
                return written.line("commands", index)
        name = name.partition("/")[2]
    return written.line("commands")


def _missed(target: str, paths: list[str], tree: Tree) -> str:
    if paths == [target]:
        return f"runs {target}, which its dependencies do not cover"
    if len(paths) == 1:
        return f"runs {target}, but its dependencies do not cover {paths[0]}"
    total = sum(path in tree.tests for path in tree.below(target))
    count = f"{len(paths)} of the {total}" if len(paths) < total else f"the {len(paths)}"
    return f"runs {target}, but its dependencies do not cover {count} test files there"


def orphan_test(audit: AuditInput) -> Iterator[Finding]:
    """Yield test files that no pipeline of the tree runs; a folder where it holds no others.

    Files beside a script that commands call and that is not at hand are not judged.
    """
    run = audit.runs
    beside = {script.rpartition("/")[0] for script in run.unread}
    doubtful = {path for path in audit.tree.tests if path.rpartition("/")[0] in beside}
    orphans = audit.tree.tests - run.files - doubtful
    mentions = _commented_out(audit, orphans)
    for place, paths in _gathered(orphans, audit.tree):
        mention = min((mentions[path] for path in paths if path in mentions), default=None)
        many = len(paths) > 1
        text = f"{len(paths)} test files, none is run" if many else "no pipeline runs it"
        where = f"; commented out at {mention[1]}:{mention[2]}" if mention else ""
        yield Finding(rule="orphan-test", file=place, subject=place, message=f"{text}{where}")


def _gathered(orphans: frozenset[str], tree: Tree) -> Iterator[tuple[str, list[str]]]:
    """Yield the topmost folders that hold only orphans, and the orphans outside of them."""
    whole: dict[str, bool] = {}
    for path in tree.tests:
        for folder in prefixes(path.rpartition("/")[0]):
            whole[folder] = whole.get(folder, True) and path in orphans
    gathered: dict[str, list[str]] = defaultdict(list)
    for path in sorted(orphans):
        folders = [folder for folder in prefixes(path.rpartition("/")[0]) if whole[folder]]
        gathered[folders[-1] if folders else path].append(path)
    for place, paths in sorted(gathered.items()):
        yield (place, paths) if len(paths) > 1 else (paths[0], paths)


def _commented_out(audit: AuditInput, orphans: Iterable[str]) -> dict[str, tuple[int, str, int]]:
    """Where a commented-out command names an orphan: order, file and line of the first one."""
    wanted = frozenset(orphans)
    found: dict[str, tuple[int, str, int]] = {}
    for order, file in enumerate(audit.texts):
        for number, line in enumerate(file.text.split("\n"), start=1):
            comment = _COMMENTED_PYTEST.match(line)
            if comment:
                command = (comment.group(1),)
                for path in pytest_files(command, f"{WORKSPACE}/{TESTS}", audit.tree):
                    if path in wanted:
                        found.setdefault(path, (order, file.path, number))
    return found
