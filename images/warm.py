"""What a builder's machine has in store before it gets work: a list in the order of the work."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from gauntlet.images.model import UPDATE_BASES, Images


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmStep:
    """One thing to pull or to build, and why it is worth its place."""

    action: Literal["pull-base", "pull-cache", "build", "blocked"]
    subject: str
    reason: str


def plan_warm(images: Images, *, platform: str, cache: str = "") -> list[WarmStep]:
    """Bases first, then the caches of main, then the targets, those that share the most first."""
    names = [
        name
        for name in images.manifest.warm.targets
        if platform in images.manifest.targets[name].platforms
    ]
    wanted: dict[str, list[str]] = {}
    for name in names:
        for base in images.manifest.targets[name].bases.values():
            if name not in wanted.setdefault(base, []):
                wanted[base].append(name)
    steps = []
    for base, users in sorted(wanted.items(), key=lambda item: (-len(item[1]), item[0])):
        pinned = images.bases[base].pinned
        reason = f"under {', '.join(users)}"
        if pinned:
            steps.append(WarmStep(action="pull-base", subject=pinned, reason=reason))
        else:
            steps.append(
                WarmStep(action="blocked", subject=base, reason=f"no digest; {UPDATE_BASES}")
            )
    if cache:
        for name in names:
            image = f"{cache}/{images.manifest.targets[name].repository}:main"
            steps.append(
                WarmStep(action="pull-cache", subject=image, reason=f"layers of main for {name}")
            )
    steps += [
        WarmStep(action="build", subject=name, reason="fills the builder's layers")
        for name in names
    ]
    return steps


def swap(images: Images, present: str, kept: list[str], fresh: str) -> Mapping[str, object]:
    """Plan the change to a fresh machine image: the parameter, what stays, what goes.

    ``kept`` are the older ones, the newest first; ``present`` is what the parameter says now.
    """
    old = [each for each in dict.fromkeys([present, *kept]) if each and each != fresh]
    keep = images.manifest.warm.keep_old
    return {
        "parameter": images.manifest.warm.parameter,
        "set": fresh,
        "keep": old[:keep],
        "remove": old[keep:],
        "back": f"set {images.manifest.warm.parameter} to {old[0]}" if old else "",
    }
