"""Render a plan as a Buildkite pipeline: plain data, each step a function of the plan alone."""

from collections.abc import Mapping
from typing import Any

from gauntlet.pipelines.definitions.job import Job, Scalar
from gauntlet.pipelines.fleet import Fleet, Placement
from gauntlet.pipelines.plan import Block, FailingStep, JobStep, Plan, Step
from gauntlet.pipelines.rendering.commands import ARTIFACTS, reports, say, script
from gauntlet.pipelines.rendering.environment import container, pod
from gauntlet.pipelines.rendering.images import ImageSource, image_variable
from gauntlet.pipelines.rendering.retries import merge_retry
from gauntlet.pipelines.rendering.variables import escape, fill_in, readable

_NO_SOURCE = ImageSource()


def render(plan: Plan, images: ImageSource = _NO_SOURCE) -> dict[str, Any]:
    """Build the pipeline in Buildkite's terms. Pure."""
    if not plan.groups:
        return {"steps": [_notice_step(plan)]}
    renderer = _Renderer(plan.fleet, images)
    groups = [
        {
            "group": readable(group.name),
            "steps": [part for step in group.steps for part in renderer.parts(step)],
        }
        for group in plan.groups
    ]
    recorded = {image_variable(name): ref for name, ref in sorted(renderer.used.items())}
    return {"env": recorded, "steps": groups} if recorded else {"steps": groups}


class _Renderer:
    """Renders steps; what many of them share is one object, which is written as text once."""

    def __init__(self, fleet: Fleet, images: ImageSource) -> None:
        self.used: dict[str, str] = {}
        self._fleet = fleet
        self._images = images
        self._variables = images.variables()
        self._plugins: dict[tuple[str, str, int, bool], list[dict[str, Any]]] = {}
        self._retries: dict[str, dict[str, Any]] = {}

    def parts(self, step: Step) -> list[dict[str, Any]]:
        """A step, behind the step that blocks it where it waits for a person."""
        if isinstance(step, FailingStep):
            rendered = _failing_step(step, self._fleet.plain_queue)
        else:
            rendered = self._job_step(step)
        if step.block is None:
            return [rendered]
        return [_block_step(step.block, rendered["label"]), rendered]

    def _job_step(self, step: JobStep) -> dict[str, Any]:
        job, placement = step.job, step.placement
        device = placement.device
        commands = [fill_in(command, self._variables) for command in job.commands]
        priority = device.priority if job.priority is None else job.priority
        rendered: dict[str, Any] = {"label": job.label, "key": job.key}
        # Always said, also where there is none: a step without it waits for blocks before it.
        rendered["depends_on"] = _depends_on(step.depends_on, step.block)
        optional: dict[str, Any] = {
            "allow_dependency_failure": job.allow_dependency_failure,
            "if": job.condition,
            "agents": {
                "queue": placement.queue,
                **_texts(job.agent_tags),
                **_texts(job.agents),
            },
            "priority": priority,
            "env": {name: fill_in(v, self._variables) for name, v in _texts(job.env).items()},
            "commands": script(job, placement, commands),
            "artifact_paths": [ARTIFACTS] if reports(job) else None,
            "plugins": self._environment(job, placement),
            "timeout_in_minutes": job.timeout_in_minutes or device.timeout_in_minutes,
            "parallelism": job.parallelism,
            "concurrency": job.concurrency,
            "concurrency_group": job.concurrency_group,
            "soft_fail": _soft_fail(job.soft_fail),
            "retry": self._retry(job, placement),
        }
        rendered.update({key: value for key, value in optional.items() if value})
        return rendered

    def _environment(self, job: Job, placement: Placement) -> list[dict[str, Any]]:
        if placement.transport == "bare":
            return []
        device = placement.device
        shared = (device.name, placement.transport, placement.gpus, job.mount_agent)
        if shared not in self._plugins:
            image = self._images.reference(device.image, self._fleet.images[device.image])
            self.used[device.image] = image
            if placement.transport == "docker":
                options = container(placement, image, mount_agent=job.mount_agent)
                plugin = {self._fleet.docker_plugin: options}
            else:
                plugin = {self._fleet.kubernetes_plugin: pod(placement, image)}
            self._plugins[shared] = [plugin]
        return self._plugins[shared]

    def _retry(self, job: Job, placement: Placement) -> dict[str, Any]:
        device = placement.device
        if job.retry is not None:
            return merge_retry(job.retry, device.retry)
        if device.name not in self._retries:
            self._retries[device.name] = merge_retry(None, device.retry)
        return self._retries[device.name]


def _depends_on(keys: tuple[str, ...], block: Block | None) -> list[str]:
    return [*keys] if block is None else [*keys, block.key]


def _block_step(block: Block, label: str) -> dict[str, Any]:
    """Hold a step back; a build in which nobody lets it run passes nevertheless."""
    return {
        "block": f"Run {label}",
        "key": block.key,
        "depends_on": [],
        "prompt": escape(block.reason),
        "blocked_state": "passed",
    }


def _failing_step(step: FailingStep, queue: str) -> dict[str, Any]:
    lines = [f"This job cannot run: {step.key}", *map(str, step.problems)]
    return {
        "label": readable(step.label),
        "key": step.key,
        "depends_on": _depends_on((), step.block),
        "agents": {"queue": queue},
        "commands": [f"{say(lines)} >&2", "exit 1"],
    }


def _notice_step(plan: Plan) -> dict[str, Any]:
    return {
        "label": "Nothing to run",
        "key": "nothing-to-run",
        "agents": {"queue": plan.fleet.plain_queue},
        "commands": [say([plan.notice or "nothing to run"])],
    }


def _texts(values: Mapping[str, Scalar]) -> dict[str, str]:
    """Values as the environment and agents know them, in YAML's words for true and false."""
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in values.items()
    }


def _soft_fail(statuses: bool | tuple[int, ...]) -> bool | list[dict[str, int]]:
    if isinstance(statuses, bool):
        return statuses
    return [{"exit_status": status} for status in statuses]
