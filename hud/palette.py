"""What a state looks like: never by colour alone, and alike on every page.

The colours can be told apart with the common colour blindnesses, and each has a contrast of at
least 4.5 with its own ink and of about 3 with a white and with a black page (WCAG 2.2, 1.4.3 and
1.4.11).
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Look:
    """Colour of a mark or a cell, ink on it, and the sign that says the same without colour."""

    colour: str
    ink: str
    sign: str


_WHITE, _BLACK = "#ffffff", "#1a1a1a"
_GREEN, _RED, _YELLOW = "#0b7a5c", "#c2410c", "#d9a400"
_PURPLE, _BLUE, _GREY = "#7c5cbf", "#2f6fb0", "#6b7280"

JOB_STATES = {
    "passed": Look(_GREEN, _WHITE, "✓"),
    "failed": Look(_RED, _WHITE, "✕"),
    "flaky": Look(_YELLOW, _BLACK, "~"),
    "infra": Look(_PURPLE, _WHITE, "⚒"),
    "running": Look(_BLUE, _WHITE, "…"),
    "blocked": Look(_GREY, _WHITE, "‖"),
    "not run": Look("#9ca3af", _BLACK, "·"),
}

VERDICTS = {
    "worse": Look(_RED, _WHITE, "▼"),
    "better": Look(_BLUE, _WHITE, "▲"),
    "same": Look(_GREEN, _WHITE, "="),
    "inconclusive": Look(_YELLOW, _BLACK, "?"),
    "invalid": Look(_PURPLE, _WHITE, "✕"),
    "config-changed": Look(_PURPLE, _WHITE, "≠"),
    "missing": Look(_GREY, _WHITE, "∅"),
}

GATES = {
    "PASS": Look(_GREEN, _WHITE, "✓"),
    "FAIL": Look(_RED, _WHITE, "✕"),
    "INCONCLUSIVE": Look(_YELLOW, _BLACK, "?"),
    "MISSING": Look(_GREY, _WHITE, "∅"),
    "WAIVED": Look(_PURPLE, _WHITE, "⚑"),
}

DECISIONS = {
    "QUALIFIED": Look(_GREEN, _WHITE, "✓"),
    "NOT QUALIFIED": Look(_RED, _WHITE, "✕"),
}

# Sides of a comparison, and series that are only to be told apart (Okabe and Ito's order).
SIDES = {"baseline": _BLUE, "candidate": _RED}
SERIES = ("#2f6fb0", "#c2410c", "#0b7a5c", "#d9a400", "#7c5cbf", "#3aa6d0", "#c0508f", _GREY)


def signed(looks: Mapping[str, Look], state: str) -> str:
    """A state's name behind its sign; a name that is not known is left as it is."""
    look = looks.get(state)
    return f"{look.sign} {state}" if look else state


def cell_style(looks: Mapping[str, Look], shown: str) -> str:
    """CSS of a table cell that shows what :func:`signed` makes; empty for any other text."""
    look = looks.get(shown.partition(" ")[2])
    return f"background-color: {look.colour}; color: {look.ink}" if look else ""
