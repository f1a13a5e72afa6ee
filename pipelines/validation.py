"""Check a pipeline before anybody uploads it: Buildkite's schema, its rules, then the graph.

A problem is something that Buildkite refuses or that never runs. A warning is something that it
takes but that probably does not mean what it looks like.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from gauntlet.core.errors import Problem
from gauntlet.core.yaml_file import YamlDocument
from gauntlet.pipelines.checks import graph
from gauntlet.pipelines.checks.findings import Finding
from gauntlet.pipelines.checks.rules import step_findings, step_warnings
from gauntlet.pipelines.checks.schema import Schema, builtin_schema, schema_findings
from gauntlet.pipelines.checks.steps import StepView, views
from gauntlet.pipelines.fleet import Fleet

FILE = "pipeline.yaml"


def validate_pipeline(
    pipeline: Mapping[str, Any],
    schema: Schema | None = None,
    fleet: Fleet | None = None,
    *,
    complete: bool = False,
    document: YamlDocument | None = None,
) -> tuple[Problem, ...]:
    """Return everything wrong with any pipeline; empty where it is sound.

    With ``fleet``, queues must be some device's. ``complete`` pipelines are all of their build,
    as ours are: every command step has a key, and nothing waits for a step of another upload.
    ``document`` is where the pipeline was read from: it gives problems their file and line.
    """
    steps = list(views(pipeline))
    found = chain(
        schema_findings(pipeline, schema or builtin_schema()),
        *(step_findings(view, fleet) for view in steps),
        _structure(steps, complete=complete),
    )
    return _problems(found, document)


def pipeline_warnings(
    pipeline: Mapping[str, Any],
    fleet: Fleet | None = None,
    *,
    document: YamlDocument | None = None,
) -> tuple[Problem, ...]:
    """Return what is probably not meant: variables that vanish, dependencies on other uploads."""
    steps = list(views(pipeline))
    env = pipeline.get("env")
    known = [*(env if isinstance(env, Mapping) else ()), *(fleet.variables if fleet else ())]
    found = chain(
        graph.many_jobs(steps),
        *(step_warnings(view, known) for view in steps),
        graph.dangling(steps, "no such step here, so an earlier upload must have it"),
    )
    return _problems(found, document)


def step_problems(
    pipeline: Mapping[str, Any], schema: Schema | None = None, fleet: Fleet | None = None
) -> dict[str, Problem]:
    """Return the first thing wrong with each step of a rendered pipeline, by the step's key."""
    steps = {view.path: view for view in views(pipeline)}
    found: dict[str, Problem] = {}
    findings = chain(
        schema_findings(pipeline, schema or builtin_schema()),
        *(step_findings(view, fleet) for view in steps.values()),
    )
    for finding in findings:
        view = steps.get(finding.path[:4]) or steps.get(finding.path[:2])
        if view is not None and view.key and view.kind != "group":
            found.setdefault(view.key, finding.problem(_document(None)))
    return found


def structure_problems(
    pipeline: Mapping[str, Any], schema: Schema | None = None
) -> tuple[Problem, ...]:
    """Return what is wrong around the steps of a rendered pipeline: groups, keys, dependencies."""
    steps = list(views(pipeline))
    around = {view.path for view in steps if view.kind == "group"}
    outline = {**pipeline, "steps": [_outline(step) for step in pipeline["steps"]]}
    groups = [
        finding
        for finding in schema_findings(outline, schema or builtin_schema())
        if finding.path[:2] in around or finding.path[:1] != ("steps",)
    ]
    return _problems(chain(groups, _structure(steps, complete=True)), None)


def command_steps(pipeline: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the fields of every command step, in a group or outside of any."""
    return (view.fields for view in views(pipeline) if view.kind == "command")


def _structure(steps: list[StepView], *, complete: bool) -> Iterator[Finding]:
    yield from graph.key_findings(steps, strict=complete)
    if complete:
        yield from graph.missing_keys(steps)
        yield from graph.dangling(steps, "no such step")
    else:
        yield from graph.too_many_jobs(steps)
    yield from graph.circular(steps)


def _outline(step: object) -> object:
    """A step without what the check of steps has seen: one plain member for all of a group's."""
    if isinstance(step, Mapping) and step.get("steps"):
        return {**step, "steps": [{"command": "true"}]}
    return step


def _problems(found: Iterable[Finding], document: YamlDocument | None) -> tuple[Problem, ...]:
    return tuple(finding.problem(_document(document)) for finding in found)


def _document(document: YamlDocument | None) -> YamlDocument:
    return document or YamlDocument(FILE, None, {})
