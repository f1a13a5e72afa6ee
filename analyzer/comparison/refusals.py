"""What must not be compared: repetitions that are no measurements, sides that differ in more."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import product

from gauntlet.analyzer.measured import Measured

# Refusing work makes a server look fast.
MOST_FAILED_SHARE = 0.05
_MOST_SHOWN = 5
# Our rows say ``env.NAME``, those of other programs only the name.
_ENVIRONMENT = re.compile(r"(env\.)?[A-Z][A-Z0-9_]*")
# These describe what was sent, and are compared as the prompts that they are.
_NO_SETTINGS = frozenset({"plan_digest"})


def refusal(measured: Measured) -> str | None:
    """Why a repetition is no measurement; None where it is one."""
    asked = measured.completed + measured.failed
    failures = f"{measured.failed} of {asked} requests failed"
    if measured.status != "valid":
        return "; ".join(measured.reasons) or measured.status
    if measured.failed > MOST_FAILED_SHARE * asked:
        return failures
    return None


def refused_text(repetitions: Sequence[Measured]) -> str:
    """How many of these were refused on which side, and why, each reason once."""
    parts = []
    for side in ("baseline", "candidate"):
        of_side = [each for each in repetitions if each.side == side]
        reasons = [reason for each in of_side if (reason := refusal(each))]
        if reasons:
            shown = "; ".join(dict.fromkeys(reasons))
            parts.append(f"{len(reasons)} of {len(of_side)} {side} repetitions refused: {shown}")
    return "; ".join(parts)


def pairs_in(repetitions: Iterable[Measured]) -> dict[tuple[str, int], list[Measured]]:
    """Turns of each pair that both sides took part in, refused ones too."""
    found: dict[tuple[str, int], list[Measured]] = {}
    for each in repetitions:
        if each.session:
            found.setdefault((each.session, each.pair), []).append(each)
    return {
        key: turns
        for key, turns in sorted(found.items())
        if {"baseline", "candidate"} <= {turn.side for turn in turns}
    }


def config_change(repetitions: Sequence[Measured]) -> str | None:
    """What differs between the sides besides the engine; None where nothing does.

    Interleaved sides are compared within their pairs, others each with each.
    """
    pairs = pairs_in(repetitions)
    for (_, pair), turns in pairs.items():
        for one, other in _across(turns):
            differences = _differences(one, other, paired=True)
            if differences:
                return f"the sides of pair {pair + 1} differ: {_listed(differences)}"
    if not pairs:
        for one, other in _across(_distinct(repetitions)):
            differences = _differences(one, other, paired=False)
            if differences:
                return f"the sides differ: {_listed(differences)}"
    return None


def _distinct(repetitions: Sequence[Measured]) -> list[Measured]:
    """One repetition of each way in which a side was measured: there may be thousands."""
    found: dict[tuple[object, ...], Measured] = {}
    for each in repetitions:
        environment = [item for item in each.settings.items() if _ENVIRONMENT.fullmatch(item[0])]
        known = (each.side, each.config_fp, each.place.accelerator, each.driver, each.host)
        found.setdefault((*known, tuple(sorted(environment))), each)
    return list(found.values())


def _across(turns: Sequence[Measured]) -> Iterator[tuple[Measured, Measured]]:
    sides = {
        side: [each for each in turns if each.side == side] for side in ("baseline", "candidate")
    }
    return product(sides["baseline"], sides["candidate"])


def _differences(one: Measured, other: Measured, *, paired: bool) -> list[str]:
    """Everything that forbids the comparison, in words; settings where they may be the cause."""
    known = [
        ("accelerator", one.place.accelerator, other.place.accelerator),
        ("driver", one.driver, other.driver),
        ("host", one.host, other.host),
        ("prompts", one.prompts, other.prompts) if paired else ("prompts", "", ""),
    ]
    found = [f"{name} {a} against {b}" for name, a, b in known if a and b and a != b]
    settings = _setting_differences(one, other)
    environment = [text for name, text in settings if _ENVIRONMENT.fullmatch(name)]
    if one.config_fp == other.config_fp:
        # Readings of single repetitions (a calibration) are among the settings too.
        return found + environment
    rest = [text for name, text in settings if not _ENVIRONMENT.fullmatch(name)]
    fingerprints = f"fingerprint {one.config_fp or 'none'} against {other.config_fp or 'none'}"
    return [*found, *environment, *rest] or [f"{fingerprints}, no recorded setting says why"]


def _setting_differences(one: Measured, other: Measured) -> list[tuple[str, str]]:
    names = sorted({*one.settings, *other.settings} - _NO_SETTINGS)
    values = [(name, one.settings.get(name), other.settings.get(name)) for name in names]
    return [
        (name, f"{name} {'unset' if a is None else a} against {'unset' if b is None else b}")
        for name, a, b in values
        if a != b
    ]


def _listed(differences: Sequence[str]) -> str:
    more = len(differences) - _MOST_SHOWN
    shown = ", ".join(differences[:_MOST_SHOWN])
    return f"{shown} and {more} more" if more > 0 else shown
