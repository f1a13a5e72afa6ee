"""Gauntlet's own rules: which jobs a change can break, each with every reason."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gauntlet.pipelines.changes import ChangeSet, changed_paths
from gauntlet.pipelines.closure import close
from gauntlet.pipelines.decisions import (
    BLOCK,
    RUN,
    SKIP,
    Decision,
    Options,
    Reason,
    Selection,
    decide_job,
    make_selection,
    nothing,
    some,
)
from gauntlet.pipelines.definitions.job import BrokenJob, Definitions, Job, Tier
from gauntlet.pipelines.locked import Narrowed
from gauntlet.pipelines.rules import (
    Elsewhere,
    Hit,
    Owners,
    RunAll,
    is_documentation,
    is_inert,
)

# The most telling rule first; the first reason of a decision follows this order.
_ORDER = (
    "unknown-changes",
    "label",
    "changed-config",
    "run-all",
    "changed-definition",
    "changed-test",
    "named-file",
    "changed-package",
    "declared-dependency",
    "always",
    "unowned-file",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """What a build asks for, labels read: its tier, and what makes all of it run."""

    tier: Tier
    tier_evidence: str
    everything: tuple[Hit, ...]


def choose(definitions: Definitions, changes: ChangeSet, options: Options) -> Selection:
    """Decide for every job whether a change can break it. Pure: no disk, clock or network."""
    if options.keys:
        return make_selection(_only(definitions, options.keys), docs_only=False)
    asked = _asked(definitions, options)
    paths = changed_paths(changes.files)
    run_all = RunAll(definitions.run_all_patterns, definitions.run_all_exclude_patterns)
    patterns = [Hit("run-all", path, found) for path in paths if (found := run_all.match(path))]
    config = definitions.config_file
    own = [Hit("changed-config", path, path) for path in paths if path == config]
    unknown = [Hit("unknown-changes", "git", changes.unknown)] if changes.unknown else []
    everywhere = [*unknown, *asked.everything, *own, *patterns]
    narrowed = Narrowed(changes.locks)
    files = _Files(paths, Owners(definitions), Elsewhere(definitions), narrowed)
    idle = not asked.tier.runs_everything and not everywhere
    docs_only = idle and bool(paths) and all(map(is_documentation, paths))
    if idle and not any(map(files.counts, paths)):
        chosen = _nothing(definitions, files)
    else:
        chooser = _Chooser(definitions, files, everywhere, asked, options.hardware)
        chosen = close(definitions, chooser.decisions())
    return make_selection(chosen, docs_only=docs_only)


def _asked(definitions: Definitions, options: Options) -> _Asked:
    """Read the labels: the highest tier counts, and any that asks for everything gets it.

    A label that the pipeline gives no meaning to has none; pull requests carry many.
    """
    tier, evidence = options.tier, f"--tier {options.tier.title}"
    everything = [Hit("label", "--run-all", "--run-all")] if options.run_all else []
    for label in sorted(set(options.labels) & set(definitions.labels)):
        rule = definitions.labels[label]
        if rule.tier is not None and rule.tier > tier:
            tier, evidence = rule.tier, f"label {label}"
        if rule.run_all:
            everything.append(Hit("label", f"label {label}", label))
    return _Asked(tier=tier, tier_evidence=evidence, everything=tuple(everything))


class _Files:
    """The changed paths, and which jobs each of them concerns."""

    def __init__(
        self, paths: Sequence[str], owners: Owners, elsewhere: Elsewhere, narrowed: Narrowed
    ) -> None:
        self.paths = paths
        self.narrowed = narrowed
        self.hits = {path: owners.hits(path) for path in paths}
        self.exclusions = {path: owners.exclusions(path) for path in paths}
        self._elsewhere = elsewhere

    def is_foreign(self, path: str) -> bool:
        """Whether a path is another pipeline's, and no job here asks for it."""
        return not self.hits[path] and self._elsewhere.match(path)

    def is_nobodys(self, path: str) -> bool:
        """Whether a path can matter to a build, and no job asks for it."""
        inert = is_inert(path) or self.narrowed.is_record(path)
        return not (self.hits[path] or inert or self._elsewhere.match(path))

    def counts(self, path: str) -> bool:
        """Whether a path can select anything by itself.

        What a job asks for counts, be it inert to all others; documentation alone never does.
        """
        if is_documentation(path):
            return False
        return bool(self.hits[path]) or self.is_nobodys(path)


class _Chooser:
    """Applies the rules that look at one job and the changed files."""

    def __init__(
        self,
        definitions: Definitions,
        files: _Files,
        everywhere: Sequence[Hit],
        asked: _Asked,
        hardware: str | None,
    ) -> None:
        self._definitions = definitions
        self._paths = files.paths
        self._narrowed = files.narrowed
        self._asked = asked
        self._hardware = hardware
        self._hits: dict[str, list[Hit]] = defaultdict(list)
        self._refused: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for path in files.paths:
            for key, hit in files.hits[path]:
                self._hits[key].append(hit)
            for key, entry in files.exclusions[path].items():
                self._refused[key].append((path, entry))
        owned = {hit.file for hit in everywhere}
        unowned = [path for path in files.paths if files.is_nobodys(path) and path not in owned]
        self._everywhere = [*everywhere, *(Hit("unowned-file", path, path) for path in unowned)]

    def decisions(self) -> dict[str, Decision]:
        """One decision for every job, before dependencies are looked at."""
        made = {job.key: broken_runs(job) for job in self._definitions.broken}
        for job in self._definitions.jobs:
            made[job.key] = self._decide(job)
        return made

    def _decide(self, job: Job) -> Decision:
        if self._hardware and job.hardware_tags and self._hardware not in job.hardware_tags:
            tags = ", ".join(job.hardware_tags)
            text = f"it is for {tags}, and this pipeline is for {self._hardware}"
            return _skip(job, "other-hardware", f"--hardware {self._hardware}", text)
        asked = self._asked
        if asked.tier.runs_everything and job.tier <= asked.tier:
            text = f"a {asked.tier.title} build runs every job up to its tier"
            way = (asked.tier_evidence, job.key)
            reason = Reason(rule="tier", evidence=asked.tier_evidence, path=way, text=text)
            return decide_job(job, RUN, reason)
        hits = [*self._own(job, self._hits.get(job.key, ())), *self._packages(job)]
        if job.tier > asked.tier:
            return self._above(job, hits)
        if job.always:
            hits.append(Hit("always", job.file, job.key))
        hits += self._own(job, self._everywhere)
        if hits:
            return decide_job(job, RUN, *_reasons(job, hits, self._narrowed))
        return self._no_hit(job)

    def _own(self, job: Job, hits: Iterable[Hit]) -> list[Hit]:
        """Hits of a job, without those of locks that concern it by their packages alone."""
        if not self._narrowed:
            return list(hits)
        by_packages = self._narrowed.exempts
        return [hit for hit in hits if not by_packages(hit.file, job.key)]

    def _packages(self, job: Job) -> list[Hit]:
        """One hit for every changed lock of which the job installs something that changed."""
        if not self._narrowed:
            return []
        paths = self._paths
        found = ((path, self._narrowed.concerning(path, job.key)) for path in paths)
        return [Hit("changed-package", path, each.package) for path, each in found if each]

    def _above(self, job: Job, hits: Sequence[Hit]) -> Decision:
        """A later tier: what concerns the job itself is offered to a person, the rest is not."""
        tier = f"its tier is {job.tier.title} and this is a {self._asked.tier.title} build"
        if hits and not self._asked.tier.runs_everything:
            hit = hits[0]
            text = f"{tier}; {hit.file} concerns it ({hit.rule}), so a person may start it"
            way = (hit.file, job.key) if hit.entry == hit.file else (hit.file, hit.entry, job.key)
            first = Reason(rule="above-tier", evidence=hit.file, path=way, text=text)
            return decide_job(job, BLOCK, first, *_reasons(job, hits, self._narrowed))
        wanted = self._everywhere[0] if self._everywhere else None
        also = f"; {wanted.file} runs only jobs of this tier ({wanted.rule})" if wanted else ""
        text = f"{tier}{also}; --tier {job.tier.title} or a job that needs it starts it"
        return _skip(job, "above-tier", wanted.file if wanted else "", text)

    def _no_hit(self, job: Job) -> Decision:
        if job.image:
            return _skip(job, "image-not-needed", "", "no selected job needs what it builds")
        spared = self._narrowed.spares(job.key)
        if spared is not None:
            text = f"{spared} changed, but no package that the job installs of it"
            return _skip(job, "unchanged-packages", spared, text)
        refused = self._refused.get(job.key)
        if refused:
            path, entry = refused[0]
            text = f"{path} changed, but the job's own entry {entry!r} leaves it out"
            way = (path, entry, job.key)
            reason = Reason(rule="excluded-file", evidence=path, path=way, text=text)
            return decide_job(job, SKIP, reason)
        if not job.source_dependencies:
            text = (
                "it declares no source files: only a pattern, a label, an unowned file or a "
                "nightly build starts it"
            )
            return _skip(job, "no-dependencies", "", text)
        text = (
            f"none of its {len(job.source_dependencies)} declared entries, its definition "
            f"({job.file}) or the tests it names is among the {len(self._paths)} changed paths"
        )
        return _skip(job, "no-match", "", text)


def broken_runs(job: BrokenJob) -> Decision:
    """Let a broken job run: as a step that fails and says what is wrong."""
    text = f"its definition in {job.file} cannot be read: {job.problems[0].message}"
    way = (job.file, job.key)
    reason = Reason(rule="broken-definition", evidence=job.file, path=way, text=text)
    return decide_job(job, RUN, reason)


def _skip(job: Job | BrokenJob, rule: str, evidence: str, text: str) -> Decision:
    way = (evidence, job.key) if evidence else (job.key,)
    return decide_job(job, SKIP, Reason(rule=rule, evidence=evidence, path=way, text=text))


def _only(definitions: Definitions, keys: Iterable[str]) -> dict[str, Decision]:
    """Run the jobs that were asked for by key, and what they need."""
    asked = nothing(definitions, rule="not-asked", evidence="--key", text="other jobs were asked")
    everybody: list[Job | BrokenJob] = [*definitions.jobs, *definitions.broken]
    jobs = {job.key: job for job in everybody}
    for key in sorted(set(keys)):
        reason = Reason(
            rule="explicit-key", evidence=f"--key {key}", path=("--key", key), text="asked by key"
        )
        asked[key] = decide_job(jobs[key], RUN, reason)
    return close(definitions, asked)


def _reasons(job: Job, hits: Sequence[Hit], narrowed: Narrowed) -> list[Reason]:
    """One reason for each rule and entry; further files of the same entry are only counted."""
    grouped: dict[tuple[str, str], list[Hit]] = defaultdict(list)
    for hit in hits:
        # Every unowned file is its own entry; together they are one reason.
        entry = "" if hit.rule == "unowned-file" else hit.entry
        grouped[hit.rule, entry].append(hit)
    ordered = sorted(grouped.values(), key=lambda same: _ORDER.index(same[0].rule))
    return [_reason(job, same, narrowed) for same in ordered]


def _reason(job: Job, hits: Sequence[Hit], narrowed: Narrowed) -> Reason:
    # A lock that could not be narrowed is named rather than any other file.
    hit = next((each for each in hits if each.file in narrowed.troubles), hits[0])
    if hit.rule == "changed-package":
        return _package_reason(job, hit, narrowed)
    more = f" (and {len(hits) - 1} more)" if len(hits) > 1 else ""
    file = f"{hit.file}{more}"
    texts = {
        "unknown-changes": f"what changed is not known: {hit.entry}",
        "label": f"{hit.file} runs every job of this build",
        "changed-config": f"the configuration of this pipeline, {file}, changed",
        "run-all": f"{file} matches the run-all pattern {hit.entry!r}",
        "changed-definition": f"its own definition {file} changed",
        "changed-test": f"{file} changed, which its pytest command runs as {hit.entry}",
        "named-file": f"{file} changed, which its commands name",
        "declared-dependency": f"{file} is below its declared entry {hit.entry!r}",
        "always": "it runs for every change",
        "unowned-file": f"no job, pattern or test owns {file}, so every job may depend on it",
    }
    way: tuple[str, ...] = (hit.file, job.key)
    if hit.entry not in (hit.file, job.key) and hit.rule not in ("label", "unknown-changes"):
        way = (hit.file, hit.entry, job.key)
    text = texts[hit.rule]
    if trouble := narrowed.troubles.get(hit.file):
        text += f"; it is a lock whose packages could not be told apart: {trouble}"
    return Reason(rule=hit.rule, evidence=hit.file, path=way, text=text)


def _package_reason(job: Job, hit: Hit, narrowed: Narrowed) -> Reason:
    install = narrowed.concerning(hit.file, job.key)
    if install is None:
        msg = f"{hit.file} concerns {job.key} by no package"
        raise ValueError(msg)
    text = f"it installs {install.package} ({install.versions}) of {hit.file}, which changed"
    way = (hit.file, *install.way, job.key)
    return Reason(rule=hit.rule, evidence=hit.file, path=way, text=text)


def _nothing(definitions: Definitions, files: _Files) -> dict[str, Decision]:
    """Skip everything: there are no changes, or none of them concerns any job here."""
    paths = files.paths
    if not paths:
        return nothing(definitions, rule="no-changes", evidence="", text="no file changed")
    foreign = [path for path in paths if files.is_foreign(path) and not is_inert(path)]
    if foreign:
        text = f"only files of another pipeline changed: {some(foreign)}"
        return nothing(definitions, rule="other-pipeline", evidence=foreign[0], text=text)
    if all(map(is_documentation, paths)):
        rule, text = "docs-only", f"only documentation changed: {some(paths)}"
    else:
        rule = "inert-files"
        text = f"only files changed that no build or test reads: {some(paths)}"
    return nothing(definitions, rule=rule, evidence=paths[0], text=text)
