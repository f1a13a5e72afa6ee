"""Text of any length that is kept in a bounded one: the beginning and the end."""

HEAD = 2048
TAIL = 6144


class Clip:
    """Text that grows piece by piece and keeps its first ``head`` and last ``tail`` characters.

    The same text in other pieces gives the same result.
    """

    __slots__ = ("_begin", "_head", "_pieces", "_size", "_tail", "length")

    def __init__(self, head: int = HEAD, tail: int = TAIL) -> None:
        self.length = 0
        self._head = head
        self._tail = tail
        self._begin: str | None = None
        self._pieces: list[str] = []
        self._size = 0

    def add(self, text: str) -> None:
        """Append a piece."""
        self._pieces.append(text)
        self.length += len(text)
        self._size += len(text)
        if self._size > self._head + 4 * self._tail:
            self._shrink()

    def text(self) -> str:
        """What is kept, without blank ends; says how much was left out of the middle."""
        if self.length > self._head + self._tail:
            self._shrink()
        text = "".join(self._pieces)
        if self._begin is None:
            return text.strip()
        left_out = self.length - len(self._begin) - len(text)
        return f"{self._begin}\n[{left_out} characters left out]\n{text}".strip()

    def _shrink(self) -> None:
        text = "".join(self._pieces)
        if self._begin is None:
            self._begin, text = text[: self._head], text[self._head :]
        self._pieces = [text[-self._tail :]]
        self._size = len(self._pieces[0])


def shortened(text: str, limit: int) -> str:
    """Return the text, cut to ``limit`` characters with a mark where it was longer."""
    return text if len(text) <= limit else f"{text[: limit - 3]}..."
