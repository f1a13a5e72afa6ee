"""Words in messages."""


def number_of(count: int, noun: str, plural: str = "") -> str:
    """``1 pin``, ``2 pins``; ``plural`` where an s does not make it."""
    return f"{count} {noun if count == 1 else plural or noun + 's'}"
