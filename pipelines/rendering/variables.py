"""Variables that the agent replaces when it uploads a pipeline: find them, fill them in.

The agent's rules: ``$NAME`` and ``${NAME}`` are replaced, ``$$`` and ``\\$`` stand for one dollar
sign, and ``$(`` is left alone.
"""

import re
from collections.abc import Mapping

from gauntlet.pipelines.checks.interpolation import read

# What comes first is what the agent reads as an escape, and what therefore is no variable.
_TOKEN = re.compile(r"\\\\|\\\$|\$\$|\$(?:([A-Za-z][A-Za-z0-9_]*)|\{([A-Za-z][A-Za-z0-9_]*)\})")


def fill_in(text: str, values: Mapping[str, str]) -> str:
    """Replace the variables that have a value; everything else stays byte for byte."""
    if "$" not in text or not values:
        return text

    def value(match: re.Match[str]) -> str:
        return values.get(match[1] or match[2] or "", match[0])

    return _TOKEN.sub(value, text)


def escape(text: str) -> str:
    """Make text pass the agent unchanged, unless it has a backslash right before a dollar sign."""
    return text.replace("$", "$$")


def readable(text: str) -> str:
    """Text as it is where the agent can read it, else as plain text: it must not sink the rest."""
    return escape(text) if read(text).fault else text
