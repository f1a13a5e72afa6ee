"""Change points of a performance series: steps, told apart from drift and noise.

Method: a penalised likelihood-ratio scan for one step in AR(1) noise over clipped scores, on the
whole series and on windows of every length (the idea of seeded binary segmentation: Kovács, Li,
Bühlmann and Munk 2023, Biometrika 110), limits computed from noise, and an information criterion
between stairs and ramp. ``docs/significance.md`` says what counts as a change.
"""

from collections.abc import Sequence

from gauntlet.analyzer.changepoints.segment import finite, segment


def detect(values: Sequence[float]) -> list[int]:
    """Return the indices of the first point of each new level.

    ``values``: one number per point in order of time, any unit; NaN where a point is missing.
    Indices count missing points. Constant, short (under 10 points) and drifting series have no
    steps. Raises ValueError for infinite values.
    """
    kept, places = finite(values)
    return [int(places[step.index]) for step in segment(kept).steps]
