"""The same commit was good and is bad: not a commit is to be found, but what else changed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from gauntlet.analyzer.incidents.incident import Difference

# Hashed from all the rest.
_DERIVED = "fingerprint"


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """What one run was made of: by kind (package, image, driver, variable, drift), a version.

    ``released_at`` says when a version of a package came out, where that was recorded.
    """

    job_id: str
    at: datetime
    things: Mapping[tuple[str, str], str] = field(default_factory=dict)
    released_at: Mapping[tuple[str, str], datetime] = field(default_factory=dict)


def differences(before: Environment, after: Environment) -> tuple[Difference, ...]:
    """List what changed, most suspicious first; fingerprints only say that something did.

    A version that came out between the two runs is the first suspect, the latest before the
    failure at the head; then what changed without a known date, by kind and name.
    """
    found = [
        Difference(
            kind=kind,
            name=name,
            before=before.things.get((kind, name)),
            after=after.things.get((kind, name)),
            released_at=after.released_at.get((kind, name)),
        )
        for kind, name in sorted(before.things.keys() | after.things.keys())
        if kind != _DERIVED and before.things.get((kind, name)) != after.things.get((kind, name))
    ]

    def rank(each: Difference) -> tuple[bool, float, str, str]:
        came = each.released_at
        within = came is not None and before.at <= came <= after.at
        newness = -came.timestamp() if came is not None and within else 0.0
        return (not within, newness, each.kind, each.name)

    return tuple(sorted(found, key=rank))


def last_pair(
    environments: Mapping[str, Environment], good: Iterable[str], bad: Iterable[str]
) -> tuple[Environment, Environment] | None:
    """The newest known environment of passes before, and the oldest of failures after."""
    before = [environments[job] for job in good if job in environments]
    after = [environments[job] for job in bad if job in environments]
    if not before or not after:
        return None
    return max(before, key=lambda e: e.at), min(after, key=lambda e: e.at)
