"""How a job gets its environment: a container, a pod, or nothing but the agent's shell."""

from typing import Any

from gauntlet.pipelines.fleet import Placement
from gauntlet.pipelines.rendering.images import by_digest

# Options of the docker plugin that hand accelerators to a container.
_ACCELERATORS = frozenset({"gpus", "devices", "runtime"})


def container(placement: Placement, image: str, *, mount_agent: bool) -> dict[str, Any]:
    """Configure the docker plugin."""
    options: dict[str, Any] = {"image": image}
    if not by_digest(image):
        # A tag may have moved since this host last pulled it.
        options["always-pull"] = True
    for name, value in (placement.device.docker or {}).items():
        if placement.gpus or name not in _ACCELERATORS:
            options[name] = list(value) if isinstance(value, tuple) else value
    if mount_agent:
        options["mount-buildkite-agent"] = True
    return options


def pod(placement: Placement, image: str) -> dict[str, Any]:
    """Configure the Kubernetes plugin. The agent is in every pod, whether a job asks or not."""
    template = placement.device.pod
    if template is None:
        return {}
    only: dict[str, Any] = {"image": image}
    if template.resource is not None and placement.gpus:
        only["resources"] = {"limits": {template.resource: placement.gpus}}
    return {"podSpec": {**template.spec, "containers": [only | dict(template.container)]}}
