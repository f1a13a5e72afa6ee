"""Rules about how definitions hang together, and about steps that are no steps any more."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from gauntlet.core.errors import Problem
from gauntlet.pipelines.audit.model import AuditInput, Finding
from gauntlet.pipelines.definitions.graph import CIRCULAR, DANGLING, TAKEN
from gauntlet.pipelines.definitions.job import BrokenJob

_RULES = {DANGLING: "dangling-dependency", CIRCULAR: "circular-dependency", TAKEN: "duplicate-key"}
_COMMENT = re.compile(r"^\s*#(.*)$")
_ITEM = re.compile(r"^(\s*)-\s+(\w+)\s*:\s*(.*)$")
_KEY = re.compile(r"^(\s*)(\w+)\s*:\s*(.*)$")


def broken_definition(audit: AuditInput) -> Iterator[Finding]:
    """Yield definitions that cannot be read, whatever else than a dependency is wrong."""
    yield from _broken(audit, "broken-definition")


def dangling_dependency(audit: AuditInput) -> Iterator[Finding]:
    """Yield dependencies on jobs that there are not."""
    yield from _broken(audit, "dangling-dependency")


def circular_dependency(audit: AuditInput) -> Iterator[Finding]:
    """Yield each cycle of dependencies once, at its first job."""
    cycles = set()
    for finding in _broken(audit, "circular-dependency"):
        if finding.subject not in cycles:
            cycles.add(finding.subject)
            yield finding


def duplicate_key(audit: AuditInput) -> Iterator[Finding]:
    """Yield keys that an earlier job has already."""
    yield from _broken(audit, "duplicate-key")


def _broken(audit: AuditInput, rule: str) -> Iterator[Finding]:
    for broken in audit.definitions.broken:
        for problem in broken.problems:
            if _rule(problem) == rule:
                yield _finding(rule, broken, problem)


def _rule(problem: Problem) -> str:
    return next(
        (rule for text, rule in _RULES.items() if problem.message.startswith(text)),
        "broken-definition",
    )


def _finding(rule: str, broken: BrokenJob, problem: Problem) -> Finding:
    return Finding(
        rule=rule,
        file=problem.file,
        line=problem.line or broken.line,
        job=broken.key,
        subject=_subject(rule, problem),
        message=_text(problem).removeprefix(f"{broken.key}."),
    )


def _subject(rule: str, problem: Problem) -> str:
    if rule == "broken-definition":
        return problem.key or problem.message
    if rule == "circular-dependency":
        # The same cycle, wherever the search for it began.
        cycle = problem.message.removeprefix(f"{CIRCULAR}: ").split(" -> ")[:-1]
        first = cycle.index(min(cycle))
        return " -> ".join(cycle[first:] + cycle[:first])
    return str(problem.value)


def _text(problem: Problem) -> str:
    """The problem without its place, which the finding has."""
    place = problem.file if problem.line is None else f"{problem.file}:{problem.line}"
    return str(problem).removeprefix(f"{place}: ")


def unknown_device(audit: AuditInput) -> Iterator[Finding]:
    """Yield jobs whose device the fleet does not have; an inherited one counts at the parent."""
    for written in audit.jobs:
        job = written.job
        problem = audit.fleet.problem(job)
        parent = audit.by_key.get(job.mirror_of) if job.mirror_of else None
        if problem is None or (parent is not None and parent.job.device == job.device):
            continue
        yield Finding(
            rule="unknown-device",
            file=job.file,
            line=written.line("device"),
            job=job.key,
            subject=audit.fleet.device_name(job),
            message=_text(problem).removeprefix(f"{problem.key}: "),
        )


def missing_key(audit: AuditInput) -> Iterator[Finding]:
    """Yield steps without a key; a mirror's key follows from its parent's."""
    for written in audit.jobs:
        if not written.keyed and written.job.mirror_of is None:
            yield Finding(
                rule="missing-key",
                file=written.job.file,
                line=written.line("label"),
                job=written.job.key,
                subject=written.job.key,
                message=f"the step has no key; {written.job.key} is made of its label",
            )


@dataclass(slots=True)
class _Comment:
    """A list item inside a run of comment lines, as far as it has been read."""

    line: int
    indent: int
    reason: str
    keys: dict[str, str] = field(default_factory=dict)

    @property
    def is_step(self) -> bool:
        """Whether it has what every step has; prose with a colon in it has not."""
        return "label" in self.keys and len(self.keys) > 1


def commented_out_step(audit: AuditInput) -> Iterator[Finding]:
    """Yield steps that somebody turned into comments."""
    for file in audit.files.jobs:
        for step in _commented_items(file.text):
            if step.is_step:
                key, label = step.keys.get("key", ""), step.keys["label"]
                what = "commented out" if key else f"{label} is commented out"
                yield Finding(
                    rule="commented-out-step",
                    file=file.path,
                    line=step.line,
                    job=key,
                    subject=key or label,
                    message=f"{what}: {step.reason}" if step.reason else what,
                )


def _commented_items(text: str) -> Iterator[_Comment]:
    """Yield the outermost list items of every run of comment lines."""
    item: _Comment | None = None
    before = ""
    for number, line in enumerate(text.splitlines(), start=1):
        comment = _COMMENT.match(line)
        content = comment.group(1) if comment else ""
        start = _ITEM.match(content)
        if item and (not comment or (start and len(start.group(1)) <= item.indent)):
            yield item
            item = None
        if start and item is None:
            item = _Comment(number, len(start.group(1)), before)
            item.keys[start.group(2)] = _plain(start.group(3))
        elif item and (key := _KEY.match(content)) and len(key.group(1)) == item.indent + 2:
            item.keys[key.group(2)] = _plain(key.group(3))
        before = "" if _KEY.match(content) else content.strip()
    if item:
        yield item


def _plain(scalar: str) -> str:
    """A YAML scalar without its quotes and without a comment behind it."""
    return scalar.partition(" #")[0].strip().strip("\"'")
