"""Things that must be closed, as context managers."""

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self


class Scoped(ABC):
    """Closes itself at the end of a ``with`` block, however that ends."""

    @abstractmethod
    def close(self) -> object:
        """Release what is held. Safe to call again."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
