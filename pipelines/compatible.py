"""vLLM's own rule, reproduced: for comparing, and for moving over without a surprise.

It looks at the new side of every change only, starts every image build, matches entries by path
prefix, and puts whatever it does not select behind a block step. Source: the generator at
commit 3e4cfe4 of its infrastructure repository, as behaviour; checked against recorded
selections of it (``benchmarks/compatible.py``).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gauntlet.pipelines.changes import ChangeSet
from gauntlet.pipelines.decisions import (
    BLOCK,
    RUN,
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
from gauntlet.pipelines.rules import RunAll, prefixes

# What the generator's list of changed files holds: a change of type is not on it.
_STATUSES = "ACDMR"
_ALWAYS = ("ensure-ci-base-amd", "refresh-rocm-base-amd")
_AMD_SCRIPT = ".buildkite/scripts/hardware_ci/run-amd-test.sh"
_AMD_BASE = "docker/Dockerfile.rocm_base"
_Why = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class _Build:
    paths: tuple[str, ...]
    nightly: str | None
    run_all: str | None
    everything: str | None
    keys: frozenset[str]


def choose_compatible(definitions: Definitions, changes: ChangeSet, options: Options) -> Selection:
    """Select as vLLM's generator does. Pure."""
    new_side = {change.path for change in changes.files if change.status in _STATUSES}
    paths = tuple(sorted(new_side))
    build = _Build(
        paths=paths,
        nightly=_nightly(definitions, options),
        run_all=_run_all(definitions, changes, options),
        everything=_pattern(definitions, paths),
        keys=_with_needs(definitions, options.keys),
    )
    if paths and build.run_all is None and build.everything is None and _all_docs(paths):
        text = f"only documentation changed: {some(paths)}"
        skipped = nothing(definitions, rule="docs-only", evidence=paths[0], text=text)
        return make_selection(skipped, docs_only=True)
    jobs: list[Job | BrokenJob] = [*definitions.jobs, *definitions.broken]
    decisions = {job.key: _decide(job, build) for job in jobs}
    return make_selection(decisions, docs_only=False)


def _nightly(definitions: Definitions, options: Options) -> str | None:
    if options.tier >= Tier.NIGHTLY:
        return f"--tier {options.tier.title}"
    for label in options.labels:
        rule = definitions.labels.get(label)
        if rule and rule.tier is not None and rule.tier >= Tier.NIGHTLY:
            return f"label {label}"
    return None


def _run_all(definitions: Definitions, changes: ChangeSet, options: Options) -> str | None:
    """What makes the build run everything, other than a changed file."""
    if changes.unknown:
        return "git"
    if options.run_all:
        return "--run-all"
    asking = (name for name in options.labels if name in definitions.labels)
    return next((f"label {name}" for name in asking if definitions.labels[name].run_all), None)


def _pattern(definitions: Definitions, paths: Iterable[str]) -> str | None:
    run_all = RunAll(definitions.run_all_patterns, definitions.run_all_exclude_patterns)
    return next((path for path in paths if run_all.match(path)), None)


def _all_docs(paths: Iterable[str]) -> bool:
    return all(
        path.startswith("docs/") or path.endswith(".md") or path == "mkdocs.yaml" for path in paths
    )


def _with_needs(definitions: Definitions, keys: Iterable[str]) -> frozenset[str]:
    depends_on = {job.key: job.depends_on for job in definitions.jobs}
    closed: set[str] = set()
    pending = list(keys)
    while pending:
        key = pending.pop()
        if key not in closed:
            closed.add(key)
            pending += depends_on.get(key, ())
    return frozenset(closed)


def _decide(job: Job | BrokenJob, build: _Build) -> Decision:
    found = _why(job, build)
    if found is None:
        text = "vLLM's rule does not select it: a person may start it"
        reason = Reason(rule="not-selected", evidence="", path=(job.key,), text=text)
        return decide_job(job, BLOCK, reason)
    rule, evidence, text = found
    reason = Reason(rule=rule, evidence=evidence, path=(evidence, job.key), text=text)
    return decide_job(job, RUN, reason)


def _why(job: Job | BrokenJob, build: _Build) -> _Why | None:
    """The first rule that selects a job: its name, the evidence and a sentence."""
    if isinstance(job, BrokenJob):
        return "broken-definition", job.file, job.problems[0].message
    if build.keys:
        asked = job.key in build.keys
        return ("explicit-key", "--key", "asked by key, or needed by such a job") if asked else None
    return _whatever_changed(job, build) or (None if job.optional else _by_change(job, build))


def _whatever_changed(job: Job, build: _Build) -> _Why | None:
    """Rules that hold for optional jobs, too."""
    if job.key.startswith("image-build") or job.key in _ALWAYS:
        return "always", job.file, "image builds always run"
    if build.nightly:
        return "tier", build.nightly, "nightly builds run every job"
    if job.mirror_of and _AMD_BASE in build.paths:
        return "run-all", _AMD_BASE, "the base image of all AMD mirrors changed"
    return None


def _by_change(job: Job, build: _Build) -> _Why | None:
    if _is_native_amd(job) and _AMD_SCRIPT in build.paths:
        return "run-all", _AMD_SCRIPT, "the script that runs it changed"
    evidence = build.run_all or build.everything
    if evidence:
        return "run-all", evidence, "everything runs that is not optional"
    return _declared(job, build.paths)


def _is_native_amd(job: Job) -> bool:
    return job.transport == "kubernetes" and (job.device or "").startswith("mi")


def _declared(job: Job, paths: Sequence[str]) -> _Why | None:
    own = (job.file,) if job.lends_file else ()
    entries = {entry.rstrip("/") for entry in (*job.source_dependencies, *own)}
    excluded = {entry[1:] for entry in entries if entry.startswith("!")}
    for path in paths:
        above = set(prefixes(path))
        if above & entries and not above & excluded:
            entry = max(above & entries, key=len)
            return "declared-dependency", path, f"{path} is below its declared entry {entry!r}"
    return None
