"""The whole bisect: two locks in, the upgrade that breaks a test out."""

import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gauntlet.core.errors import UsageError
from gauntlet.core.files import sole_holder
from gauntlet.core.yaml_file import StrictModel
from gauntlet.locks.bisect.environment import Environment
from gauntlet.locks.bisect.journal import Journal, ProbeRow, probe_key
from gauntlet.locks.bisect.mixes import Mixer
from gauntlet.locks.bisect.search import Culprit, Found, Mix, Outcome, Search
from gauntlet.locks.bisect.units import Material, material
from gauntlet.locks.manifest import LockSpec
from gauntlet.locks.reading import LockSide
from gauntlet.locks.resolver import Resolver

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class BisectRequest:
    """What to bisect. ``spec`` is that of the lock, whose overrides lie below ``repository``.

    ``work`` keeps the journal: the same folder goes on where a killed bisect stopped. ``log`` is
    the text of the failure, ``folder`` where the test runs.
    """

    old: LockSide
    new: LockSide
    command: tuple[str, ...]
    work: Path
    repository: Path
    folder: Path
    spec: LockSpec
    python: str = f"{sys.version_info.major}.{sys.version_info.minor}"
    log: str = ""
    max_installs: int = 12
    prove_ends: bool = False
    find_links: Sequence[Path] = ()
    offline: bool = False
    install_timeout_s: float = 1800.0
    test_timeout_s: float = 1800.0


class Upgrade(StrictModel):
    """One package that a culprit moves."""

    name: str
    old: str | None
    new: str | None


class CulpritRecord(StrictModel):
    """Upgrades that break the test together, and the probes that show it.

    ``green`` and ``red`` are keys of probes that differ in these upgrades alone, None where it
    rests on what the caller said of a lock.
    """

    upgrades: tuple[Upgrade, ...]
    green: str | None
    red: str | None


class BisectReport(StrictModel):
    """How a bisect ended. ``installs`` counts those of this run; ``probes`` all that were made.

    ``kept`` is what is new in the mix that passes without the culprits; ``held_too`` are upgrades
    that cannot move without them.
    """

    state: str
    reason: str
    command: tuple[str, ...]
    upgrades: int
    installs: int
    culprits: tuple[CulpritRecord, ...]
    kept: tuple[str, ...]
    held_too: tuple[str, ...]
    probes: tuple[ProbeRow, ...]


@dataclass(kw_only=True)
class _Probes:
    """Answers the search: mixes from the resolver, outcomes from the journal or an environment."""

    mixer: Mixer
    environment: Environment
    journal: Journal
    tell: Tell
    installs: int = 0
    used: dict[Mix, ProbeRow] = field(default_factory=dict)

    def settle(self, new: Mix, old: Mix, *, prefer_new: bool) -> Mix | None:
        return self.mixer.settle(new, old, prefer_new=prefer_new)

    def test(self, mix: Mix) -> Outcome:
        requirements = self.mixer.requirements(mix)
        key = probe_key(requirements, self.environment.command, self.environment.python)
        row = self.journal.find(key)
        if row is None:
            self.installs += 1
            probed = self.environment.probe(requirements)
            row = ProbeRow(
                key=key,
                new=tuple(sorted(mix)),
                outcome=probed.outcome,
                status=probed.status,
                install_s=round(probed.install_s, 3),
                test_s=round(probed.test_s, 3),
                tail=probed.tail[:200],
            )
            self.journal.add(row)
        self.used[mix] = row
        self.tell(f"{len(self.used)}. {len(mix)} new: {row.outcome} ({row.tail or row.status})")
        return row.outcome


def bisect_packages(request: BisectRequest, resolver: Resolver, tell: Tell) -> BisectReport:
    """Search, and prove what is found by one installation of everything but the culprit.

    Raises InfrastructureError where an installation fails or another bisect works in the same
    folder; UsageError where nothing moved, a lock has no hashes or annotations, or the whole old
    or new lock does not resolve.
    """
    found = material(request.old, request.new, log=request.log)
    work = request.work.absolute()
    with sole_holder(work / "lock", busy=f"another bisect works in {work}"):
        probes = _probes(request, found, resolver, work, tell)
        _ends_resolve(found, probes.mixer)
        search = Search(
            weights=found.weights,
            prober=probes,
            max_installs=request.max_installs,
            prove_ends=request.prove_ends,
        )
        ended = search.run()
        shutil.rmtree(work / "venv", ignore_errors=True)
    return _report(request, found, ended, probes)


def _probes(
    request: BisectRequest, found: Material, resolver: Resolver, work: Path, tell: Tell
) -> _Probes:
    root = work / "resolve"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    links = tuple(folder.absolute() for folder in request.find_links)
    return _Probes(
        mixer=Mixer(
            material=found,
            resolver=resolver,
            root=root,
            python=request.python,
            spec=_brought(request.spec, request.repository, root),
            find_links=links,
            offline=request.offline,
        ),
        environment=Environment(
            work=work,
            command=request.command,
            folder=request.folder,
            python=request.python,
            find_links=links,
            offline=request.offline,
            install_timeout_s=request.install_timeout_s,
            test_timeout_s=request.test_timeout_s,
        ),
        journal=Journal(work / "journal.jsonl"),
        tell=tell,
    )


def _brought(spec: LockSpec, repository: Path, root: Path) -> LockSpec:
    """What still counts of a lock's settings: the inputs and constraints are in its pins."""
    for file in (*spec.overrides, *spec.build_constraints):
        target = root / file
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(repository / file, target)
    dropped: Mapping[str, object] = {
        "all_extras": False,
        "extras": (),
        "groups": (),
        "constraints": (),
    }
    return spec.model_copy(update=dict(dropped))


def _ends_resolve(found: Material, mixer: Mixer) -> None:
    """A lock whose own pins do not resolve would make every mix look impossible."""
    everything = Mix(found.weights)
    for mix, lock in ((Mix(), found.old), (everything, found.new)):
        if mixer.settle(mix, everything - mix, prefer_new=False) != mix:
            msg = f"the pins of {lock.file} do not resolve: {mixer.refusal}"
            hint = "give --lock NAME for its overrides; or the index lacks one of its versions"
            raise UsageError(msg, hint=hint)


def _report(request: BisectRequest, found: Material, ended: Found, probes: _Probes) -> BisectReport:
    held = Mix(name for culprit in ended.culprits for name in culprit.upgrades)
    proved = ended.state == "proved"
    return BisectReport(
        state=ended.state,
        reason=ended.reason,
        command=request.command,
        upgrades=len(found.weights),
        installs=probes.installs,
        culprits=tuple(_record(culprit, found, probes) for culprit in ended.culprits),
        kept=tuple(sorted(ended.kept)),
        held_too=tuple(sorted(Mix(found.weights) - ended.kept - held)) if proved else (),
        probes=tuple(probes.used.values()),
    )


def _record(culprit: Culprit, found: Material, probes: _Probes) -> CulpritRecord:
    green, red = probes.used.get(culprit.good), probes.used.get(culprit.bad)
    return CulpritRecord(
        upgrades=tuple(
            Upgrade(
                name=name,
                old=found.old.versions.get(name),
                new=found.new.versions.get(name),
            )
            for name in culprit.upgrades
        ),
        green=green.key if green else None,
        red=red.key if red else None,
    )
