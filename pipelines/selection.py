"""Which jobs a change can break: one decision for every job, each with its reasons."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from gauntlet.pipelines.changes import ChangedFile, changed_paths
from gauntlet.pipelines.definitions.job import BrokenJob, Definitions, Job
from gauntlet.pipelines.rules import (
    Hit,
    Owners,
    RunAll,
    by_key,
    is_documentation,
    is_inert,
)

RUN, SKIP = "run", "skip"
# The most telling rule first; the first reason of a decision follows this order.
_ORDER = (
    "nightly",
    "broken-definition",
    "run-all",
    "changed-definition",
    "changed-test",
    "declared-dependency",
    "unowned-file",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """Why: the rule, what set it off, the path from there to the job, and a sentence."""

    rule: str
    evidence: str
    path: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What becomes of one job. There is always at least one reason."""

    key: str
    label: str
    group: str
    decision: str
    reasons: tuple[Reason, ...]

    @property
    def runs(self) -> bool:
        """Whether the job runs."""
        return self.decision == RUN

    @property
    def rule(self) -> str:
        """The rule of the first reason."""
        return self.reasons[0].rule

    @property
    def evidence(self) -> str:
        """What set the rule off: a file, a job or an option."""
        return self.reasons[0].evidence

    @property
    def path(self) -> tuple[str, ...]:
        """The way from the evidence to the job."""
        return self.reasons[0].path


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Every decision, sorted by key. ``docs_only``: documentation is all that changed."""

    decisions: tuple[Decision, ...]
    docs_only: bool

    @cached_property
    def by_key(self) -> dict[str, Decision]:
        """Decisions by job key."""
        return {decision.key: decision for decision in self.decisions}

    @cached_property
    def selected(self) -> tuple[str, ...]:
        """Keys of the jobs that run, sorted."""
        return tuple(decision.key for decision in self.decisions if decision.runs)


def select(
    definitions: Definitions, changes: Sequence[ChangedFile], *, nightly: bool = False
) -> Selection:
    """Decide for every job whether a change can break it. Pure: no disk, no clock, no network."""
    paths = changed_paths(changes)
    run_all = RunAll(definitions.run_all_patterns, definitions.run_all_exclude_patterns)
    everywhere = [
        Hit("run-all", path, pattern) for path in paths if (pattern := run_all.match(path))
    ]
    documentation = bool(paths) and all(map(is_documentation, paths))
    docs_only = documentation and not everywhere and not nightly
    if not nightly and not everywhere and all(map(is_inert, paths)):
        decisions = _nothing(definitions, paths)
    else:
        chooser = _Chooser(definitions, paths, everywhere, nightly=nightly)
        decisions = _close(definitions, chooser.decisions())
    ordered = tuple(sorted(decisions.values(), key=lambda decision: decision.key))
    return Selection(decisions=ordered, docs_only=docs_only)


class _Chooser:
    """Applies the rules that look at one job and the changed files."""

    def __init__(
        self,
        definitions: Definitions,
        paths: Sequence[str],
        everywhere: Sequence[Hit],
        *,
        nightly: bool,
    ) -> None:
        self._definitions = definitions
        self._paths = paths
        self._nightly = nightly
        self._hits: dict[str, list[Hit]] = defaultdict(list)
        self._refused: dict[str, list[tuple[str, str]]] = defaultdict(list)
        owners = Owners(definitions)
        owned = {hit.file for hit in everywhere}
        for path in paths:
            for key, hit in owners.hits(path):
                self._hits[key].append(hit)
                owned.add(path)
            for key, entry in owners.exclusions(path).items():
                self._refused[key].append((path, entry))
        unowned = [path for path in paths if path not in owned and not is_inert(path)]
        self._everywhere = [*everywhere, *(Hit("unowned-file", path, path) for path in unowned)]

    def decisions(self) -> dict[str, Decision]:
        """One decision for every job, before dependencies are looked at."""
        made = {job.key: self._broken(job) for job in self._definitions.broken}
        for job in self._definitions.jobs:
            made[job.key] = self._decide(job)
        return made

    def _broken(self, job: BrokenJob) -> Decision:
        text = f"its definition in {job.file} cannot be read: {job.problems[0].message}"
        reason = Reason(
            rule="broken-definition", evidence=job.file, path=(job.file, job.key), text=text
        )
        return _decision(job, RUN, reason)

    def _decide(self, job: Job) -> Decision:
        if self._nightly:
            text = "nightly runs every job"
            reason = Reason(
                rule="nightly", evidence="--nightly", path=("--nightly", job.key), text=text
            )
            return _decision(job, RUN, reason)
        hits = [*self._hits.get(job.key, ()), *self._everywhere]
        if job.optional:
            return _decision(job, SKIP, _optional(job, hits))
        if hits:
            return _decision(job, RUN, *_reasons(job, hits))
        return _decision(job, SKIP, self._no_hit(job))

    def _no_hit(self, job: Job) -> Reason:
        if job.image:
            text = "no selected job needs what it builds"
            return Reason(rule="image-not-needed", evidence="", path=(job.key,), text=text)
        refused = self._refused.get(job.key)
        if refused:
            path, entry = refused[0]
            text = f"{path} changed, but the job's own entry {entry!r} leaves it out"
            return Reason(
                rule="excluded-file", evidence=path, path=(path, entry, job.key), text=text
            )
        if not job.source_dependencies:
            text = "it declares no source files: only run-all, unowned files or --nightly start it"
            return Reason(rule="no-dependencies", evidence="", path=(job.key,), text=text)
        text = (
            f"none of its {len(job.source_dependencies)} declared entries, its definition "
            f"({job.file}) or the tests it names is among the {len(self._paths)} changed paths"
        )
        return Reason(rule="no-match", evidence="", path=(job.key,), text=text)


def _decision(job: Job | BrokenJob, decision: str, *reasons: Reason) -> Decision:
    return Decision(
        key=job.key, label=job.label, group=job.group, decision=decision, reasons=reasons
    )


def _optional(job: Job, hits: Sequence[Hit]) -> Reason:
    wanted = f"; {hits[0].file} would select it ({hits[0].rule})" if hits else ""
    text = f"it is optional and never runs by itself{wanted}; --nightly runs it"
    evidence = hits[0].file if hits else ""
    path = (evidence, job.key) if hits else (job.key,)
    return Reason(rule="optional", evidence=evidence, path=path, text=text)


def _reasons(job: Job, hits: Sequence[Hit]) -> list[Reason]:
    """One reason for each rule and entry; further files of the same entry are only counted."""
    grouped: dict[tuple[str, str], list[Hit]] = defaultdict(list)
    for hit in hits:
        # Every unowned file is its own entry; together they are one reason.
        entry = "" if hit.rule == "unowned-file" else hit.entry
        grouped[hit.rule, entry].append(hit)
    ordered = sorted(grouped.values(), key=lambda same: _ORDER.index(same[0].rule))
    return [_reason(job, same) for same in ordered]


def _reason(job: Job, hits: Sequence[Hit]) -> Reason:
    hit = hits[0]
    more = f" (and {len(hits) - 1} more)" if len(hits) > 1 else ""
    file = f"{hit.file}{more}"
    texts = {
        "run-all": f"{file} matches the run-all pattern {hit.entry!r}",
        "changed-definition": f"its own definition {file} changed",
        "changed-test": f"{file} changed, which its pytest command runs as {hit.entry}",
        "declared-dependency": f"{file} is below its declared entry {hit.entry!r}",
        "unowned-file": f"no job, pattern or test owns {file}, so every job may depend on it",
    }
    way = (hit.file, job.key) if hit.entry == hit.file else (hit.file, hit.entry, job.key)
    return Reason(rule=hit.rule, evidence=hit.file, path=way, text=texts[hit.rule])


def _nothing(definitions: Definitions, paths: Sequence[str]) -> dict[str, Decision]:
    """Skip everything: there are no changes, or all of them are inert."""
    if not paths:
        rule, evidence, text = "no-changes", "", "no file changed"
    elif all(map(is_documentation, paths)):
        rule, evidence = "docs-only", paths[0]
        text = f"only documentation changed: {_some(paths)}"
    else:
        rule, evidence = "inert-files", paths[0]
        text = f"only files changed that no build or test reads: {_some(paths)}"
    skipped = {}
    for key, job in by_key(definitions).items():
        way = (evidence, key) if evidence else (key,)
        reason = Reason(rule=rule, evidence=evidence, path=way, text=text)
        skipped[key] = _decision(job, SKIP, reason)
    return skipped


def _some(paths: Sequence[str]) -> str:
    return paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"


def _close(definitions: Definitions, decisions: dict[str, Decision]) -> dict[str, Decision]:
    """Add what selected jobs need, then the checks on images that are built for them."""
    depends_on = {job.key: job.depends_on for job in definitions.jobs}
    closed = dict(decisions)
    pending = sorted(key for key, decision in decisions.items() if decision.runs)
    _add_needed(pending, depends_on, closed)
    for job in definitions.jobs:
        if closed[job.key].runs or job.optional or not job.image:
            continue
        if job.depends_on and all(closed[key].runs for key in job.depends_on):
            needed = job.depends_on[0]
            text = f"it checks the image of {needed}, which runs"
            way = (*closed[needed].path, job.key)
            reason = Reason(rule="image-check", evidence=needed, path=way, text=text)
            closed[job.key] = replace(closed[job.key], decision=RUN, reasons=(reason,))
    return closed


def _add_needed(
    pending: list[str], depends_on: Mapping[str, Sequence[str]], closed: dict[str, Decision]
) -> None:
    """Select the dependencies of selected jobs, and theirs; breadth first, in sorted order."""
    while pending:
        following = set()
        for key in pending:
            for needed in depends_on.get(key, ()):
                if closed[needed].runs:
                    continue
                text = f"{key} is selected and depends on it"
                way = (*closed[key].path, needed)
                reason = Reason(rule="needed-by", evidence=key, path=way, text=text)
                closed[needed] = replace(closed[needed], decision=RUN, reasons=(reason,))
                following.add(needed)
        pending = sorted(following)
