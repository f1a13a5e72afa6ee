"""Who wants whom in a lock, from its ``# via`` comments. Pure."""

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from gauntlet.core.errors import UsageError
from gauntlet.locks.lock_file import LockFile, is_input

Path = tuple[str, ...]
_MOST_STEPS = 20_000


class LockGraph:
    """The graph of a lock: inputs want packages, packages want packages.

    Markers and extras do not narrow it: it may say too much, never too little.
    """

    def __init__(self, lock: LockFile) -> None:
        """Read the graph. Raises UsageError where a pin does not say through whom it came."""
        self.lock = lock
        for pin in lock.pins:
            if not any(_wants(who) for who in pin.via):
                msg = f"{lock.file}:{pin.line}: nothing says through whom {pin.name} came"
                hint = "compile it with annotations (without --no-annotate)"
                raise UsageError(msg, hint=hint)

    @cached_property
    def parents(self) -> Mapping[str, frozenset[str]]:
        """Packages that want each package."""
        return {
            name: frozenset(_package(who) for who in wanted if _is_package(who))
            for name, wanted in self.lock.requirers.items()
        }

    @cached_property
    def children(self) -> Mapping[str, frozenset[str]]:
        """Packages that each package wants."""
        found: dict[str, set[str]] = defaultdict(set)
        for name, parents in self.parents.items():
            for parent in parents:
                found[parent].add(name)
        return {name: frozenset(wanted) for name, wanted in found.items()}

    @cached_property
    def inputs(self) -> Mapping[str, tuple[str, ...]]:
        """Inputs that name each direct package, as the lock writes them."""
        found = {
            name: tuple(sorted(who for who in wanted if _is_root(who)))
            for name, wanted in self.lock.requirers.items()
        }
        return {name: named for name, named in found.items() if named}

    def is_direct(self, name: str) -> bool:
        """Whether an input names a package."""
        return name in self.inputs

    def closure(self, roots: Iterable[str]) -> frozenset[str]:
        """All packages that come with ``roots``, those too: an install set.

        Roots that the lock does not have are left out.
        """
        seen = {root for root in roots if root in self.lock.by_name}
        waiting = list(seen)
        while waiting:
            fresh = self.children.get(waiting.pop(), frozenset()) - seen
            seen |= fresh
            waiting += fresh
        return frozenset(seen)

    def paths(self, name: str, *, limit: int = 5) -> list[Path]:
        """Ways from an input to a package, ``(input, root, ..., name)``, the shortest first."""
        ends = {root: inputs[0] for root, inputs in self.inputs.items()}
        return [(ends[way[0]], *way) for way in self._ways(name, frozenset(ends), limit)]

    def path_from(self, roots: Iterable[str], name: str) -> Path | None:
        """The shortest way from one of ``roots`` to a package; None where there is none."""
        return next(iter(self._ways(name, frozenset(roots), 1)), None)

    def through(self, name: str) -> tuple[str, ...]:
        """The direct packages through which a package comes, sorted; itself where it is direct."""
        above = {name}
        waiting = [name]
        while waiting:
            fresh = self.parents.get(waiting.pop(), frozenset()) - above
            above |= fresh
            waiting += fresh
        return tuple(sorted(above & self.inputs.keys()))

    def _ways(self, name: str, ends: frozenset[str], limit: int) -> Iterator[Path]:
        """Ways without loops from ``ends`` down to ``name``, by length, then by name."""
        distance = self._distances(ends)
        if name not in distance:
            return
        heap: list[tuple[int, Path]] = [(distance[name], (name,))]
        for _ in range(_MOST_STEPS):
            if not heap or limit == 0:
                return
            _, way = heapq.heappop(heap)
            if way[0] in ends:
                limit -= 1
                yield way
            for parent in self.parents.get(way[0], ()):
                if parent in distance and parent not in way:
                    heapq.heappush(heap, (len(way) + distance[parent], (parent, *way)))

    def _distances(self, ends: frozenset[str]) -> Mapping[str, int]:
        """Steps from the nearest of ``ends`` down to each package below them."""
        found = {end: 0 for end in ends if end in self.lock.by_name}
        level = list(found)
        while level:
            below = {
                child
                for name in level
                for child in self.children.get(name, ())
                if child not in found
            }
            steps = found[level[0]] + 1
            found.update(dict.fromkeys(below, steps))
            level = list(below)
        return found


def _is_root(who: str) -> bool:
    """Whether an entry is an input that asks for a package; constraints only bound it."""
    return is_input(who) and (who.startswith("-r") or not who.startswith("-"))


def _is_package(who: str) -> bool:
    return not is_input(who)


def _wants(who: str) -> bool:
    return _is_root(who) or _is_package(who)


def _package(who: str) -> str:
    return who.partition("[")[0]
