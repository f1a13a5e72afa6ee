"""Mixes of two locks that a resolver accepts, and the requirements to install one."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from packaging.version import InvalidVersion, Version

from gauntlet.core.errors import ConfigError
from gauntlet.core.files import write_atomic
from gauntlet.locks.bisect.search import Mix
from gauntlet.locks.bisect.units import Material
from gauntlet.locks.graph import LockGraph
from gauntlet.locks.lock_file import LockFile, Pin, parse_lock
from gauntlet.locks.manifest import LockSpec
from gauntlet.locks.resolver import Resolution, Resolver

_INPUT = "bisect.in"
_OUTPUT = "bisect.txt"


@dataclass(kw_only=True)
class Mixer:
    """Asks a resolver for mixes.

    ``root`` is a folder of its own that has what ``spec`` names: overrides, build constraints.
    """

    material: Material
    resolver: Resolver
    root: Path
    python: str
    spec: LockSpec
    find_links: Sequence[Path] = ()
    offline: bool = False
    refusal: str = ""
    _locked: dict[Mix, tuple[Pin, ...]] = field(default_factory=dict)

    def settle(self, new: Mix, old: Mix, *, prefer_new: bool) -> Mix | None:
        """The nearest mix that resolves; None without one. Asks no question twice.

        First everything is held where it is wanted. Where that does not fit together, packages
        that may move are let go, and those that moved are held where they went.
        """
        free = Mix(self.material.weights) - new - old
        wanted = new | free if prefer_new else new
        if self._resolves(wanted):
            return wanted
        for _ in range(len(free)):
            moved = self._moved(wanted, free, prefer_new=prefer_new)
            if not moved:
                return None
            free -= moved
            wanted = wanted - moved if prefer_new else wanted | moved
            if self._resolves(wanted):
                return wanted
        return None

    def requirements(self, mix: Mix) -> str:
        """Text that installs a mix, with the hashes of the locks."""
        return "\n".join(sorted(map(_requirement, self._locked[mix]))) + "\n"

    def _resolves(self, mix: Mix) -> bool:
        if mix not in self._locked:
            resolved = self._resolve(mix, self._held(mix))
            pins = tuple(self._pinned(resolved, mix)) if resolved else ()
            self._locked[mix] = pins
        return bool(self._locked[mix])

    def _moved(self, mix: Mix, free: Mix, *, prefer_new: bool) -> Mix:
        """Free packages that a resolver takes to their other side, so that the rest fits."""
        kept = [line for name, line in self._held_by_name(mix) if name not in free]
        bounds = [line for name in sorted(free) for line in self._bounds(name)]
        resolved = self._resolve(mix, [*kept, *bounds])
        if resolved is None:
            return Mix()
        return Mix(
            name
            for name in free
            if (now := _versions(resolved.by_name.get(name, ())))
            and now != _versions(self.material.pins(name, new=prefer_new))
        )

    def _resolve(self, mix: Mix, held: Sequence[str]) -> LockFile | None:
        write_atomic(self.root / _INPUT, "\n".join(self._roots(mix)) + "\n")
        present = "\n".join(line for _, line in self._held_by_name(mix)) + "\n"
        resolution = Resolution(
            root=self.root,
            file=_OUTPUT,
            spec=self.spec.model_copy(update={"inputs": (_INPUT,)}),
            python=self.python,
            present=present,
            held=tuple(held),
            find_links=tuple(self.find_links),
            offline=self.offline,
            hashes=False,
        )
        try:
            return parse_lock(self.resolver.resolve(resolution), file=_OUTPUT)
        except ConfigError as error:
            self.refusal = error.message
            return None

    def _roots(self, mix: Mix) -> Iterator[str]:
        """Direct packages of a mix, with their extras."""
        for lock, new in ((self.material.old, False), (self.material.new, True)):
            for name in LockGraph(lock).inputs:
                if self._side(name, mix) is new:
                    extras = {extra for pin in lock.by_name[name] for extra in pin.extras}
                    yield f"{name}[{','.join(sorted(extras))}]" if extras else name

    def _side(self, name: str, mix: Mix) -> bool:
        """Whether a package is taken from the new lock: what moves says so, the rest is there."""
        if name in self.material.weights:
            return name in mix
        return name in self.material.new.by_name

    def _held(self, mix: Mix) -> list[str]:
        return [line for _, line in self._held_by_name(mix)]

    def _held_by_name(self, mix: Mix) -> Iterator[tuple[str, str]]:
        names = sorted({*self.material.old.by_name, *self.material.new.by_name})
        for name in names:
            for pin in self.material.pins(name, new=self._side(name, mix)):
                yield name, _constraint(pin)

    def _bounds(self, name: str) -> Iterator[str]:
        """A package lies between its two versions, where both can be ordered."""
        pins = [*self.material.pins(name, new=False), *self.material.pins(name, new=True)]
        try:
            versions = sorted({Version(pin.version) for pin in pins})
        except InvalidVersion:
            return
        yield f"{name}>={versions[0].public},<={versions[-1]}"

    def _pinned(self, resolved: LockFile, mix: Mix) -> Iterator[Pin]:
        """Pins of the locks for what a resolver chose; none where it chose what no lock has."""
        pins: list[Pin] = []
        for name, chosen in resolved.by_name.items():
            side = self.material.pins(name, new=self._side(name, mix))
            if _versions(chosen) - _versions(side):
                self.refusal = f"it would take {name}, which neither lock has at that version"
                return
            pins += [pin for pin in side if pin.version in _versions(chosen)]
        yield from pins


def _versions(pins: Iterable[Pin]) -> set[str]:
    return {pin.version for pin in pins}


def _constraint(pin: Pin) -> str:
    return f"{pin.name}=={pin.version}" + (f" ; {pin.marker}" if pin.marker else "")


def _requirement(pin: Pin) -> str:
    return " \\\n    ".join([_line(pin), *(f"--hash={each}" for each in pin.hashes)])


def _line(pin: Pin) -> str:
    extras = f"[{','.join(pin.extras)}]" if pin.extras else ""
    marker = f" ; {pin.marker}" if pin.marker else ""
    return f"{pin.name}{extras}=={pin.version}{marker}"
