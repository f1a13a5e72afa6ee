"""The geometric mean of many ratios: many small points together show what none shows alone.

Points of one session share its turns: a slow minute is slow for all of them. So the logs of all
points are averaged turn by turn, and the averages are judged as one more metric would be, which
keeps the dependence between points without having to model it. Its error is that of a jackknife
over blocks, but with the degrees of freedom of the turns: 3k - 1 instead of k - 1.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

from gauntlet.analyzer.comparison.effects import (
    Effect,
    PairKey,
    Part,
    SeparateSides,
    Turns,
    combined_df,
    interleaved_effect,
)

Pairs = dict[PairKey, Turns]
_LEAST_PAIRS = 2


def summary_effect(places: Sequence[Pairs | SeparateSides], common_share: float) -> Effect:
    """Combine the effects of places, each with the same weight.

    ``common_share`` is the share of a session's noise (its variance) that all places which were
    not interleaved have in common. Raises ValueError without places.
    """
    if not places:
        msg = "a summary needs at least one place"
        raise ValueError(msg)
    effects = _interleaved([place for place in places if isinstance(place, dict)])
    separate = [place for place in places if isinstance(place, SeparateSides)]
    if separate:
        effects.append((_separate(separate, common_share), len(separate)))
    return _combined(effects, len(places))


def _interleaved(places: Sequence[Pairs]) -> list[tuple[Effect, int]]:
    """One effect for all places of the same sessions, and how many places it stands for."""
    by_sessions: dict[frozenset[str], list[Pairs]] = defaultdict(list)
    for place in places:
        by_sessions[frozenset(key.session for key in place)].append(place)
    effects = []
    for group in by_sessions.values():
        common = set(group[0]).intersection(*group[1:])
        if len(common) >= _LEAST_PAIRS:
            effects.append((interleaved_effect(_averaged(group, common)), len(group)))
        else:
            effects += [(interleaved_effect(place), 1) for place in group]
    return effects


def _averaged(group: Sequence[Pairs], common: set[PairKey]) -> Pairs:
    return {
        key: Turns(
            fmean(place[key].baseline for place in group),
            fmean(place[key].candidate for place in group),
        )
        for key in sorted(common)
    }


def _separate(places: Sequence[SeparateSides], common_share: float) -> Effect:
    count = len(places)
    sessions = [place.of_sessions for place in places]
    shared = (math.fsum(math.sqrt(part.variance) for part in sessions) / count) ** 2
    parts = [Part(common_share * shared, min(part.df for part in sessions))]
    parts += [Part((1 - common_share) * part.variance / count**2, part.df) for part in sessions]
    of_sessions = math.fsum(part.variance for part in parts)
    own = [part for place in places if (part := place.of_repetitions) is not None]
    parts += [Part(part.variance / count**2, part.df) for part in own]
    log_ratio = math.fsum(place.log_ratio for place in places) / count
    n = sum(len(place.baseline) + len(place.candidate) for place in places)
    return replace(places[0].effect(log_ratio, parts, of_sessions), n=n)


def _combined(effects: Sequence[tuple[Effect, int]], places: int) -> Effect:
    """Add up independent effects, each weighted with the places that it stands for."""
    weights = [count / places for _, count in effects]
    known = [effect for effect, _ in effects]
    parts = [
        Part((weight * effect.error) ** 2, effect.df)
        for effect, weight in zip(known, weights, strict=True)
        if effect.error is not None
    ]
    whole = len(parts) == len(known)
    log_ratio = math.fsum(w * e.log_ratio for e, w in zip(known, weights, strict=True))
    first = known[0]
    return Effect(
        log_ratio=log_ratio,
        error=math.sqrt(math.fsum(part.variance for part in parts)) if whole else None,
        df=combined_df(parts) if whole else 0.0,
        n=sum(effect.n for effect in known),
        what=first.what if len({effect.what for effect in known}) == 1 else "repetitions",
        method=f"geometric mean of {places} ratios; {first.method}"
        + (f", and {len(known) - 1} more groups" if len(known) > 1 else ""),
        interleaved=all(effect.interleaved for effect in known),
        baseline=first.baseline,
        candidate=first.candidate,
        session_error=math.hypot(
            *(weight * effect.session_error for effect, weight in zip(known, weights, strict=True))
        ),
    )
