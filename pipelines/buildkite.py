"""Render a plan as a Buildkite pipeline: plain data, then YAML with the same bytes every time."""

import shlex
from typing import Any

import yaml

from gauntlet.pipelines.definitions.job import Job
from gauntlet.pipelines.plan import FailingStep, JobStep, Plan

# An agent that was lost says nothing about the job: try once more.
DEFAULT_RETRY = {"automatic": [{"exit_status": -1, "limit": 1}]}


class _Dumper(yaml.CSafeDumper):
    """Writes text of several lines as a block, which people can read."""

    def ignore_aliases(self, data: object) -> bool:
        """Repeat equal values: anchors would tie steps together that have nothing in common."""
        del data
        return True


def _represent_text(dumper: yaml.CSafeDumper, text: str) -> yaml.Node:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)


def render(plan: Plan) -> dict[str, Any]:
    """Build the pipeline as plain data, in Buildkite's terms."""
    if not plan.groups:
        return {"steps": [_notice_step(plan)]}
    groups = [
        {"group": group.name, "steps": [_render_step(step) for step in group.steps]}
        for group in plan.groups
    ]
    return {"steps": groups}


def to_yaml(pipeline: dict[str, Any]) -> str:
    """Serialise a pipeline; equal pipelines give equal bytes."""
    text: str = yaml.dump(
        pipeline, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=1 << 20
    )
    return text


def _render_step(step: JobStep | FailingStep) -> dict[str, Any]:
    return _failing_step(step) if isinstance(step, FailingStep) else _job_step(step)


def _job_step(step: JobStep) -> dict[str, Any]:
    job = step.job
    rendered: dict[str, Any] = {"label": job.label, "key": job.key}
    optional: dict[str, Any] = {
        "depends_on": list(step.depends_on),
        "allow_dependency_failure": job.allow_dependency_failure,
        "if": job.condition,
        "agents": {"queue": step.queue, **job.agent_tags, **job.agents},
        "env": dict(job.env),
        "commands": _commands(job),
        "timeout_in_minutes": job.timeout_in_minutes,
        "parallelism": job.parallelism,
        "concurrency": job.concurrency,
        "concurrency_group": job.concurrency_group,
        "soft_fail": job.soft_fail,
        "retry": job.retry or DEFAULT_RETRY,
    }
    rendered.update({key: value for key, value in optional.items() if value})
    return rendered


def _commands(job: Job) -> list[str]:
    """The job's commands, byte for byte, in its working directory.

    A job over several nodes starts in the checkout: its script takes the directory to the nodes.
    """
    if job.working_dir is None or job.num_nodes:
        return list(job.commands)
    return [f"cd {shlex.quote(job.working_dir)}", *job.commands]


def _failing_step(step: FailingStep) -> dict[str, Any]:
    lines = [f"This job cannot run: {step.key}", *map(str, step.problems)]
    return {
        "label": step.label,
        "key": step.key,
        "agents": {"queue": step.queue},
        "commands": [f"{_say(lines)} >&2", "exit 1"],
    }


def _notice_step(plan: Plan) -> dict[str, Any]:
    return {
        "label": "Nothing to run",
        "key": "nothing-to-run",
        "agents": {"queue": plan.plain_queue},
        "commands": [_say([plan.notice or "nothing to run"])],
    }


def _say(lines: list[str]) -> str:
    """A shell command that prints the lines as they are."""
    quoted = " ".join(shlex.quote(line) for line in lines)
    # The agent interpolates variables when a pipeline is uploaded; a doubled sign is one sign.
    return f"printf '%s\\n' {quoted}".replace("$", "$$")
