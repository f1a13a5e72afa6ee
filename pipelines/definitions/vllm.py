"""What vLLM's definitions mean without saying it: facts of its generator, in one place."""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

from gauntlet.pipelines.definitions.job import LabelRule, Tier, Transport

DEFAULT_WORKING_DIR = "/vllm-workspace/tests"
LABELS: Mapping[str, LabelRule] = {
    "ready-run-all-tests": LabelRule(tier=Tier.NIGHTLY, run_all=True),
}
# Jobs that build what other jobs run in, or check it.
_IMAGE_BUILDS = ("image-build*", "*-image-build", "ensure-ci-base-amd", "refresh-rocm-base-amd")
# Every pipeline has one file here, beside this one's configuration.
_PIPELINES = (".buildkite/*.yaml", ".buildkite/amd-disagg")


def is_image_build(key: str) -> bool:
    """Whether a job builds an image, or checks one."""
    return any(fnmatchcase(key, pattern) for pattern in _IMAGE_BUILDS)


def transport_of(no_plugin: bool | None, dind: bool | None) -> Transport | None:
    """Say what ``no_plugin`` and ``dind`` ask for; None where they leave it to the device."""
    if no_plugin:
        return "bare"
    # "Docker in Docker": the agent's shell starts the container itself; without, it is a pod.
    return None if dind is None else "bare" if dind else "kubernetes"


def elsewhere(own_folders: Iterable[str], other_folders: Iterable[str]) -> tuple[str, ...]:
    """Files of other pipelines of the same tree: their configurations and their job folders."""
    own = {folder.strip("/") for folder in own_folders}
    others = {folder.strip("/") for folder in other_folders} - own
    return (*_PIPELINES, *sorted(others))
