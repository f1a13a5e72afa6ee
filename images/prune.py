"""Which tags of a registry are garbage: a pure planner, and what removes them.

A registry removes by digest, and with it every other tag of the same image. So an image goes only
when all of its tags are to go, and never while a list of images names it.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from typing import Literal

from gauntlet.core.proc import run
from gauntlet.images.model import Retention
from gauntlet.images.oci.manifest import Manifest
from gauntlet.images.oci.reference import Place
from gauntlet.images.oci.registry import ImageStore

_DELETE_S = 120.0
_CACHE_TIME = "buildkit/createdat"
_KEY = re.compile(r"key-[0-9a-f]{16}")
_COMMIT = re.compile(r"commit-(?P<commit>[0-9a-f]{7,40})(?:-[a-z0-9]+)?")
_BRANCH = re.compile(r"branch-.+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tagged:
    """One tag. ``created`` may be unknown; ``lists`` are digests of the images it names."""

    repository: str
    tag: str
    digest: str
    created: datetime | None
    lists: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What becomes of a tag, and by which rule."""

    tagged: Tagged
    action: Literal["keep", "delete"]
    reason: str


def plan_prune(
    tags: Iterable[Tagged],
    rules: Retention,
    now: datetime,
    *,
    main: Sequence[str] = (),
    named: Mapping[str, str] | None = None,
) -> list[Decision]:
    """Decide about every tag.

    ``main`` are commits of main, the newest first; ``named`` are digests that something (an open
    release, a deployment) needs, with what. Whatever no rule knows is kept.
    """
    known = tuple(tags)
    newest = frozenset(main[: rules.keep_newest_of_main])
    first = [_by_rule(each, rules, now, newest) for each in known]
    held = dict(named or {})
    for decision in first:
        if decision.action == "keep":
            for digest in (decision.tagged.digest, *decision.tagged.lists):
                held.setdefault(
                    digest, f"{decision.tagged.repository}:{decision.tagged.tag} is kept"
                )
    return [_unless_held(decision, held) for decision in first]


def _unless_held(decision: Decision, held: Mapping[str, str]) -> Decision:
    why = held.get(decision.tagged.digest)
    # A list is held where one of its images is: half a list is worse than none.
    why = why or next((held[d] for d in decision.tagged.lists if d in held), None)
    if decision.action == "delete" and why:
        return Decision(
            tagged=decision.tagged, action="keep", reason=f"the same image is needed: {why}"
        )
    return decision


def _by_rule(each: Tagged, rules: Retention, now: datetime, newest: frozenset[str]) -> Decision:
    if pattern := next((p for p in rules.keep if fnmatchcase(each.tag, p)), None):
        return Decision(tagged=each, action="keep", reason=f"its tag is like {pattern!r}")
    commit = _COMMIT.fullmatch(each.tag)
    if commit and any(known.startswith(commit["commit"]) for known in newest):
        return Decision(tagged=each, action="keep", reason="one of the newest of main")
    kinds = (
        (_KEY, rules.key_days, "key"),
        (_COMMIT, rules.commit_days, "commit"),
        (_BRANCH, rules.branch_cache_days, "branch"),
    )
    for pattern_of, days, kind in kinds:
        if pattern_of.fullmatch(each.tag):
            return _by_age(each, kind, days, now)
    return Decision(tagged=each, action="keep", reason="no rule knows such a tag")


def _by_age(each: Tagged, kind: str, days: int, now: datetime) -> Decision:
    if each.created is None:
        return Decision(tagged=each, action="keep", reason="it does not say when it was made")
    age = now - each.created
    if age > timedelta(days=days):
        return Decision(
            tagged=each, action="delete", reason=f"{age.days} days old; {kind} tags stay {days}"
        )
    return Decision(tagged=each, action="keep", reason=f"{age.days} of {days} days")


def read_tags(store: ImageStore, place: Place, repositories: Iterable[str]) -> list[Tagged]:
    """Ask a registry for everything in some repositories. Raises ExternalServiceError."""
    found = []
    for repository in repositories:
        for tag in store.tags(place, repository):
            reference = place.at(repository, tag=tag)
            manifest = store.manifest(reference)
            if manifest is None:
                continue
            lists = tuple(manifest.platforms.values())
            created = _cache_time(manifest)
            if created is None and (lists or manifest.layers):
                image = place.at(repository, digest=lists[0]) if lists else reference
                created = store.config(image).created
            found.append(
                Tagged(
                    repository=repository,
                    tag=tag,
                    digest=manifest.digest,
                    created=created,
                    lists=lists,
                )
            )
    return found


def _cache_time(manifest: Manifest) -> datetime | None:
    """When the newest layer of a builder's cache was made; None of what is no cache."""
    parts = (*(manifest.document.manifests or ()), *manifest.layers)
    times = [(part.annotations or {}).get(_CACHE_TIME, "") for part in parts]
    return max((datetime.fromisoformat(time) for time in times if time), default=None)


def delete(place: Place, decisions: Iterable[Decision]) -> list[str]:
    """Remove the images that are to go, each digest once, and return their references.

    Lists go before the images that they name. Raises CommandError where the registry refuses.
    """
    gone: dict[str, None] = {}
    going = [d.tagged for d in decisions if d.action == "delete"]
    for each in sorted(going, key=lambda tagged: not tagged.lists):
        reference = place.at(each.repository, digest=each.digest)
        if str(reference) not in gone:
            tls = ["--tls-verify=false"] if place.is_loopback else []
            run(["skopeo", "delete", *tls, str(reference)], timeout=_DELETE_S)
            gone[str(reference)] = None
    return list(gone)
