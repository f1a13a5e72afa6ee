"""Text from outside in places that read Markdown. Pure."""

import re

_LONGEST = 400
# Everything that Markdown, or Streamlit's own marks (colours, icons, formulas), give a meaning.
_MARKS = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>$:~&@/])")


def plain(text: str) -> str:
    """Escape text so that Markdown shows it as it is, in one line; very long text is cut."""
    line = " ".join(text.split())
    shown = line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
    return _MARKS.sub(r"\\\1", shown)
