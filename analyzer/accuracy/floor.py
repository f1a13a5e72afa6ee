"""How many answers an unchanged build changes: the baseline answered twice."""

from dataclasses import dataclass

from scipy import stats

from gauntlet.analyzer.accuracy.pairing import Pairing


@dataclass(frozen=True, slots=True, kw_only=True)
class Floor:
    """Shares of answers that differ: between two runs of the baseline, and to the candidate.

    ``lower`` and ``upper`` hold the first (Clopper and Pearson). ``p_above`` is the exact p-value
    of "the candidate changes no more answers than the baseline itself": of the questions of which
    just one of the two comparisons differs, half would be the candidate's.
    """

    share: float
    lower: float
    upper: float
    candidate_share: float
    p_above: float
    n: int

    def is_above(self, alpha: float) -> bool:
        """Whether the candidate changes more answers than the baseline does by itself."""
        return self.p_above < alpha


def discordance_floor(again: Pairing, candidate: Pairing, alpha: float) -> Floor | None:
    """Compare both discordances over the questions that all three runs answered.

    ``alpha`` is on each side of the interval. None where they share no question.
    """
    own = {pair.baseline.item_id: pair.drop != 0 for pair in again.pairs}
    both = [
        (own[pair.baseline.item_id], pair.drop != 0)
        for pair in candidate.pairs
        if pair.baseline.item_id in own
    ]
    n = len(both)
    if n == 0:
        return None
    flipped = sum(before for before, _ in both)
    moved = sum(after for _, after in both)
    only_own = sum(before and not after for before, after in both)
    only_moved = sum(after and not before for before, after in both)
    single = only_own + only_moved
    return Floor(
        share=flipped / n,
        lower=float(stats.beta.ppf(alpha, flipped, n - flipped + 1)) if flipped else 0.0,
        upper=float(stats.beta.ppf(1 - alpha, flipped + 1, n - flipped)) if flipped < n else 1.0,
        candidate_share=moved / n,
        p_above=float(stats.binom.sf(only_moved - 1, single, 0.5)) if single else 1.0,
        n=n,
    )
