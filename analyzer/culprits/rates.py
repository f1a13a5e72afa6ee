"""How often runs fail: rates that are guessed, spread, and weighed by what is seen."""

from dataclasses import dataclass

import numpy as np

from gauntlet.analyzer.culprits.posterior import Values

LEAST_RATE = 0.002
_MOST_FLAKY = 0.6
_NEARLY_ALWAYS = 0.999

Weighed = tuple[tuple[float, float], ...]

# Where nobody said: most failures that are worth a search repeat, and most tests are steady.
_UNKNOWN_FLAKE: Weighed = ((0.005, 0.75), (0.08, 0.15), (0.25, 0.10))
_UNKNOWN_BROKEN: Weighed = ((_NEARLY_ALWAYS, 0.92), (0.8, 0.05), (0.5, 0.03))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """How often a run fails: ``flake`` where nothing is broken, ``broken`` where something is.

    Each is a few rates with weights that add up to 1.
    """

    flake: Weighed
    broken: Weighed

    @classmethod
    def around(cls, flake: float | None = None, broken: float | None = None) -> "Rates":
        """Spread guesses; None where nothing is known.

        A flake rate is spread upwards, to twice the guess: too high a guess costs runs, too low
        a guess accuses the innocent. Raises ValueError for rates that make no sense together.
        """
        if broken is not None and flake is not None and broken <= flake:
            msg = f"a broken commit fails more often than a good one: {broken:g} against {flake:g}"
            raise ValueError(msg)
        flakes = _UNKNOWN_FLAKE
        if flake is not None:
            low = max(flake, LEAST_RATE)
            high = max(low, min(2 * flake, _MOST_FLAKY))
            flakes = ((low, 0.5), (high, 0.5)) if high > low else ((low, 1.0),)
        brokens = _UNKNOWN_BROKEN if broken is None else ((min(broken, _NEARLY_ALWAYS), 1.0),)
        found = cls(flake=flakes, broken=brokens)
        if not any(bad > fine for fine, _ in flakes for bad, _ in brokens):
            msg = f"no run can tell broken from flaky: {brokens[0][0]:g} against {flakes[0][0]:g}"
            raise ValueError(msg)
        return found

    def grid(self) -> tuple[Values, Values, Values]:
        """Flake rates, rates of broken commits and log weights of all pairs that make sense."""
        pairs = [
            (flake, broken, share * other)
            for flake, share in self.flake
            for broken, other in self.broken
            if broken > flake
        ]
        columns = np.array(pairs, dtype=np.float64).T
        return columns[0], columns[1], np.log(columns[2] / columns[2].sum())
