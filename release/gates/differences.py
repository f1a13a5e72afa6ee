"""What changed between two candidates, as their recorded gates say it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gauntlet.release.gates.record import KeptGate, Recorded


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """A commit that came between two candidates."""

    sha: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """One problem of a gate, in the newest state of it."""

    gate: str
    key: str
    state: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Problems that came, went and stayed; who may have brought those that came."""

    before: str
    after: str
    introduced: tuple[Changed, ...]
    fixed: tuple[Changed, ...]
    still: tuple[Changed, ...]
    unknown: tuple[Changed, ...]
    """Open in the later one, and the earlier one was not looked at there: nobody knows."""
    suspects: tuple[Commit, ...]

    def plain(self) -> dict[str, object]:
        """As JSON."""

        def rows(changes: Sequence[Changed]) -> list[dict[str, str]]:
            return [
                {"gate": c.gate, "key": c.key, "state": c.state, "message": c.message}
                for c in changes
            ]

        return {
            "before": self.before,
            "after": self.after,
            "introduced": rows(self.introduced),
            "fixed": rows(self.fixed),
            "still": rows(self.still),
            "unknown": rows(self.unknown),
            "suspects": [{"sha": each.sha, "title": each.title} for each in self.suspects],
        }

    def lines(self) -> Iterator[str]:
        """As text for people."""
        names = {
            f"introduced in {self.after}": self.introduced,
            f"open in {self.after}, and never asked in {self.before}": self.unknown,
            f"fixed in {self.after}": self.fixed,
            "in both": self.still,
        }
        for name, changes in names.items():
            if changes:
                yield name
                yield from (f"  {c.state:12} {c.gate}: {c.message}" for c in changes)
        if not any(names.values()):
            yield f"{self.before} and {self.after} have no problem"
        if self.introduced:
            yield f"suspects: {len(self.suspects)} commits between them"
            yield from (f"  {each.sha[:10]} {each.title}" for each in self.suspects)


def differ(before: Recorded, after: Recorded, between: Sequence[Commit]) -> Difference:
    """Compare the recorded gates of two candidates.

    A problem was introduced only where the earlier candidate's gate looked at the same thing and
    had none; where it looked at nothing (the gate, the lane or the run was missing), nobody knows.
    """
    old = {(gate.gate, p.key): p for gate in before.gates for p in gate.problems}
    new = {(gate.gate, p.key): p for gate in after.gates for p in gate.problems}
    earlier = {gate.gate: gate for gate in before.gates}

    def changed(gate: str, key: str) -> Changed:
        problem = new.get((gate, key)) or old[gate, key]
        return Changed(gate=gate, key=key, state=problem.state, message=problem.message)

    came = [place for place in new if place not in old]
    return Difference(
        before=before.candidate,
        after=after.candidate,
        introduced=tuple(changed(*p) for p in came if _asked(earlier.get(p[0]), p[1])),
        unknown=tuple(changed(*p) for p in came if not _asked(earlier.get(p[0]), p[1])),
        fixed=tuple(changed(*place) for place in old if place not in new),
        still=tuple(changed(*place) for place in new if place in old),
        suspects=tuple(between),
    )


def _asked(gate: KeptGate | None, key: str) -> bool:
    """Whether a gate would have found this problem, had it been there."""
    if gate is None:
        return False
    if "statistics" in gate.numbers:
        measured = {each.get("statistic") for each in gate.statistics}
        return key in measured or key.startswith("run/")
    # A gate that counts, and counted nothing, has seen nothing.
    return not gate.numbers or any(gate.numbers.values())
