"""How often, and in how many runs, the culprit of a flaky failure is found."""

from collections.abc import Callable
from pathlib import Path

from judging.figure import Figure

from culprit_search.worlds import MOST_RUNS, World, bisect, reference
from gauntlet.analyzer.culprits.investigation import SUSPECT, Case, Investigation
from gauntlet.analyzer.culprits.model import Commit, ProbeResult
from gauntlet.analyzer.culprits.prior import EVEN_SHARE
from gauntlet.analyzer.culprits.rates import Rates
from gauntlet.analyzer.culprits.search import Search

SIZES = (16, 64)
RATES = ((0.0, 1.0), (0.05, 1.0), (0.2, 1.0), (0.4, 1.0), (0.05, 0.8))
# (commits, flake rate, rate of a broken commit): least accuracy, most runs.
GOALS = {(64, 0.2, 1.0): (0.999, 14.0), (64, 0.05, 0.8): (0.99, 16.0)}

Method = Callable[[World], int]


def search(
    world: World, rates: Rates, *, prior: tuple[float, ...] | None = None, at_once: int = 1
) -> int:
    """Our search until a suspect stands; the share of nobody is that of the worlds."""
    shares = prior or (1.0,) * world.n
    found = Search(shares, rates, nobody=0.2, before=0.0)
    while world.runs < MOST_RUNS:
        posterior = found.posterior()
        if posterior.max() >= SUSPECT:
            break
        for place in found.next_probes(at_once):
            found.record(place, "failed" if world.run(place) else "passed")
    return int(found.posterior().argmax())


def whole(world: World, rates: Rates) -> int:
    """The whole course: both ends, search and proof; 0 where nothing is said."""
    commits = tuple(Commit(sha=str(number)) for number in range(1, world.n + 1))
    case = Case(
        good=Commit(sha="0"),
        commits=commits,
        prior=(1.0,) * world.n,
        rates=rates,
        nobody=0.2,
    )
    investigation = Investigation(case)
    course = investigation.run()
    try:
        ask = next(course)
        while world.runs < MOST_RUNS:
            ask = course.send(
                [
                    ProbeResult(
                        sha=sha, outcome="failed" if world.run(int(sha)) else "passed", seconds=1.0
                    )
                    for sha in ask.shas
                ]
            )
    except StopIteration:
        pass
    told = investigation.conclusion
    if told.found:
        return told.found[0].place
    return world.n + 1 if told.ending == "nobody" else 0


def wrong_prior(world: World) -> tuple[float, ...]:
    """The true culprit at the lowest share that a prior can give."""
    rest = (1 - EVEN_SHARE / world.n) / max(1, world.n - 1)
    return tuple(
        EVEN_SHARE / world.n if place == world.culprit else rest for place in range(1, world.n + 1)
    )


def _methods(
    flake: float, broken: float, shared: Path
) -> tuple[dict[str, Method], dict[str, Method]]:
    rates = Rates.around(flake, broken)
    ours: dict[str, Method] = {
        "suspect": lambda world: search(world, rates),
        "verified, with both ends": lambda world: whole(world, rates),
        "suspect, flake rate guessed 2x": lambda world: search(
            world, Rates.around(min(0.6, 2 * flake), broken)
        ),
        "suspect, flake rate guessed half": lambda world: search(
            world, Rates.around(flake / 2, broken)
        ),
        "suspect, rate of broken unknown": lambda world: search(world, Rates.around(flake)),
        "suspect, nothing known": lambda world: search(world, Rates.around()),
        "suspect, culprit at the lowest prior": lambda world: search(
            world, rates, prior=wrong_prior(world)
        ),
        "suspect, 4 at once": lambda world: search(world, rates, at_once=4),
    }
    others: dict[str, Method] = {
        f"bisect x{reruns}": lambda world, reruns=reruns: bisect(world, reruns)
        for reruns in (1, 3, 8)
    }
    known = reference(shared)
    if known is not None:
        sure = 0.999 if broken == 1 else broken
        for stop in (0.99, 0.9999):
            others[f"reference {stop}"] = lambda world, stop=stop: known(world, flake, sure, stop)
    return ours, others


def figures(shared: Path, seed: int, worlds: int) -> list[Figure]:
    """Accuracy and mean runs of every method in every world."""
    found = []
    for n in SIZES:
        for flake, broken in RATES:
            ours, others = _methods(flake, broken, shared)
            anchors = {
                name: _measure(method, seed, n, flake, broken, worlds)
                for name, method in others.items()
            }
            for name, method in ours.items():
                right, runs = _measure(method, seed, n, flake, broken, worlds)
                goal = GOALS.get((n, flake, broken)) if name == "suspect" else None
                where = f"{n} commits, f {flake:g}, p {broken:g}: {name}"
                shown = anchors if name == "suspect" else {}
                found.append(
                    Figure(
                        area="outcomes",
                        name=f"{where}: right",
                        value=right,
                        goal=goal[0] if goal else None,
                        anchors={key: value[0] for key, value in shown.items()},
                        note=f"seed {seed}, {worlds} worlds each; one in five has no culprit "
                        "where runs are flaky",
                    )
                )
                found.append(
                    Figure(
                        area="outcomes",
                        name=f"{where}: runs",
                        value=runs,
                        goal=goal[1] if goal else None,
                        better="lower",
                        anchors={key: value[1] for key, value in shown.items()},
                    )
                )
    return found


def _measure(
    method: Method, seed: int, n: int, flake: float, broken: float, worlds: int
) -> tuple[float, float]:
    right = runs = 0
    for number in range(worlds):
        world = World.made(seed, n, flake, broken, number)
        right += method(world) == world.culprit
        runs += world.runs
    return right / worlds, runs / worlds
