"""Free text of logs, commits and people, where it must not mean anything."""

from urllib.parse import quote, urlsplit

_TICK = "`"
_MARKUP = "\\`*_{}[]<>#|~!&"
_LONGEST = 300


def code(text: str) -> str:
    """Text as Markdown code, whatever stands in it."""
    flat = one_line(text)
    runs = "".join(c if c == _TICK else " " for c in flat).split()
    fence = _TICK * (max(map(len, runs), default=0) + 1)
    pad = " " if flat.startswith(_TICK) or flat.endswith(_TICK) else ""
    return f"{fence}{pad}{flat}{pad}{fence}"


def plain(text: str) -> str:
    """Text in a line of Markdown: what would mean something is escaped, and nobody is called."""
    flat = one_line(text)
    escaped = "".join(
        f"\\{c}" if c in _MARKUP and not _inside_word(flat, place) else c
        for place, c in enumerate(flat)
    )
    return escaped.replace("@", "@\u200b")


def _inside_word(text: str, place: int) -> bool:
    """Whether a character is an underscore inside a word, where it means nothing."""
    around = text[max(0, place - 1) : place], text[place + 1 : place + 2]
    return text[place] == "_" and all(each.isalnum() for each in around)


def slack(text: str) -> str:
    """Text in a message of Slack: no markup, no link, no mention.

    Slack reads ``&``, ``<`` and ``>``; the marks of its markup get a space of no width.
    """
    flat = one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return "".join(f"\u200b{c}" if c in "*_~`@" else c for c in flat)


def web_address(text: str) -> str | None:
    """An address that may be a link, made safe; None for anything but http and https."""
    try:
        parts = urlsplit(text.strip())
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not parts.netloc:
        return None
    return quote(text.strip(), safe="%:/?#[]@!$&'*+,;=-._~").replace("[", "%5B").replace("]", "%5D")


def one_line(text: str) -> str:
    """Text without breaks and controls, cut at 300 characters."""
    flat = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return flat if len(flat) <= _LONGEST else f"{flat[: _LONGEST - 1]}…"
