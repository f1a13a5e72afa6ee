"""How the steps of a pipeline hang together, and whether there are more than Buildkite takes."""

from collections.abc import Iterator, Sequence

from gauntlet.core.errors import nearest
from gauntlet.pipelines.checks.findings import Finding
from gauntlet.pipelines.checks.steps import StepView
from gauntlet.pipelines.definitions.graph import find_cycles

MAX_JOBS_PER_UPLOAD = 500
MAX_JOBS_PER_BUILD = 4_000
MAX_UPLOADS_PER_BUILD = 500


def key_findings(steps: Sequence[StepView], *, strict: bool) -> Iterator[Finding]:
    """Yield keys that two steps have; ``strict`` counts the older names of a key as well."""
    seen: set[str] = set()
    for view in steps:
        if view.key is None or not (strict or view.key_is_plain):
            continue
        if view.key in seen:
            yield _at(view, "key", "two steps have this key", repr(view.key))
        seen.add(view.key)


def missing_keys(steps: Sequence[StepView]) -> Iterator[Finding]:
    """Yield command steps that have no key."""
    for view in steps:
        if view.kind == "command" and not view.key:
            label = repr(view.fields.get("label"))
            yield Finding(path=view.path, where=view.name, message="a step has no key", value=label)


def dangling(steps: Sequence[StepView], message: str) -> Iterator[Finding]:
    """Yield dependencies on steps that are not in this pipeline; ``message`` judges them."""
    known = {view.key for view in steps if view.key}
    for view in steps:
        for key in view.depends_on:
            if key not in known and "$" not in key:
                yield Finding(
                    path=(*view.path, "depends_on"),
                    where=f"{view.name}.depends_on",
                    message=message,
                    value=repr(key),
                    nearest=nearest(key, known),
                )


def circular(steps: Sequence[StepView]) -> Iterator[Finding]:
    """Yield every step that waits for itself in the end."""
    paths = {view.key: view for view in steps if view.key}
    for key, cycle in find_cycles(edges(steps)).items():
        yield _at(paths[key], "depends_on", f"circular: {' -> '.join(cycle)}")


def edges(steps: Sequence[StepView]) -> dict[str, list[str]]:
    """What each key waits for. A group waits for its members; they wait for what it depends on."""
    groups = {view.top: view for view in steps if view.kind == "group"}
    found: dict[str, list[str]] = {}
    for view in steps:
        if view.group is not None:
            group = groups[view.group]
            if group.key and view.key:
                found.setdefault(group.key, []).append(view.key)
            if view.key:
                found[view.key] = [*view.depends_on, *group.depends_on]
        elif view.key:
            found.setdefault(view.key, [])
            if view.kind != "group":
                found[view.key] += view.depends_on
    return found


def too_many_jobs(steps: Sequence[StepView]) -> Iterator[Finding]:
    """Yield what no series of uploads could bring into one build."""
    total = sum(view.jobs for view in steps)
    if total > MAX_JOBS_PER_BUILD:
        message = f"a build has {MAX_JOBS_PER_BUILD:,} jobs at most"
        yield Finding(path=("steps",), where="steps", message=message, value=f"{total:,}")
    for view, jobs in jobs_of_units(steps):
        if jobs > MAX_JOBS_PER_UPLOAD:
            message = f"an upload has {MAX_JOBS_PER_UPLOAD} jobs at most, and a group is not split"
            yield Finding(path=view.path, where=view.name, message=message, value=str(jobs))


def many_jobs(steps: Sequence[StepView]) -> Iterator[Finding]:
    """Yield a warning where the pipeline is too large for one plain upload."""
    total = sum(view.jobs for view in steps)
    if MAX_JOBS_PER_UPLOAD < total <= MAX_JOBS_PER_BUILD:
        message = (
            f"more than the {MAX_JOBS_PER_UPLOAD} jobs of one upload: "
            "`gauntlet pipelines upload` makes several"
        )
        yield Finding(path=("steps",), where="steps", message=message, value=str(total))


def jobs_of_units(steps: Sequence[StepView]) -> list[tuple[StepView, int]]:
    """Jobs of each step at the top; those of its members for a group."""
    counts: dict[int, int] = {}
    tops: dict[int, StepView] = {}
    for view in steps:
        tops.setdefault(view.top, view)
        counts[view.top] = counts.get(view.top, 0) + view.jobs
    return [(tops[top], jobs) for top, jobs in counts.items()]


def _at(view: StepView, field: str, message: str, value: str | None = None) -> Finding:
    return Finding(
        path=(*view.path, field), where=f"{view.name}.{field}", message=message, value=value
    )
