"""``gauntlet images``."""

import click

from gauntlet.core.lazy_group import LazyGroup

COMMANDS = {
    "plan": ("gauntlet.images.plan_command", "plan", "Which images are built, and why."),
    "build": ("gauntlet.images.build_command", "build", "Build what the plan says."),
    "verify": ("gauntlet.images.verify_command", "verify", "Check Dockerfiles, or a built image."),
    "bake": ("gauntlet.images.bake_command", "bake", "Write docker-bake.hcl from images.yaml."),
    "bases": ("gauntlet.images.bases_command", "bases", "Check and update base images' digests."),
    "prune": ("gauntlet.images.prune_command", "prune", "Remove old images from a registry."),
    "warm": ("gauntlet.images.warm_command", "warm", "What a warm builder has in store."),
}


class ImageCommands(LazyGroup):
    """Commands about images."""

    table = COMMANDS


@click.group(cls=ImageCommands)
def images() -> None:
    """Images of the engine and of Gauntlet itself: plan, build, verify, keep in order."""
