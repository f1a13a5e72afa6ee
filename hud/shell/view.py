"""What a page is given: the warehouse's answers, the viewer's clock, and links to other pages."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

import pandas as pd

from gauntlet.hud.reading import Answer, Reader
from gauntlet.hud.shell.links import link
from gauntlet.hud.shell.times import Zone, ago
from gauntlet.warehouse.store import Store

ValueT = TypeVar("ValueT")


@dataclass(slots=True)
class View:
    """One drawing of one page for one viewer.

    ``oldest`` is when its oldest answer was read, ``actor`` the viewer who may act, if so.
    """

    reader: Reader
    zone: Zone
    now: datetime
    kept: Mapping[str, str] = field(default_factory=dict)
    oldest: datetime | None = None
    actor: str | None = None

    def frame(
        self, query: str, *, ttl_s: float | None = None, **parameters: object
    ) -> pd.DataFrame:
        """Rows of a named query as a frame of one's own. Raises GauntletError."""
        return self._note(self.reader.frame(query, ttl_s=ttl_s, **parameters))

    def rows(
        self, query: str, *, ttl_s: float | None = None, **parameters: object
    ) -> list[dict[str, Any]]:
        """Rows of a named query, shared with others: read only. Raises GauntletError."""
        return self._note(self.reader.rows(query, ttl_s=ttl_s, **parameters))

    def value(
        self,
        name: str,
        loader: Callable[[Store], ValueT],
        *key: Hashable,
        ttl_s: float | None = None,
    ) -> ValueT:
        """What ``loader`` makes of a store, shared with others: read only. Raises GauntletError."""
        return self._note(self.reader.value(name, loader, *key, ttl_s=ttl_s))

    def link(self, page: str, **parameters: object) -> str:
        """Address of a page, with the viewer's own settings."""
        return link(page, self.kept, **parameters)

    def ago(self, at: datetime | None) -> str:
        """How long ago an instant was, in words."""
        return ago(at, self.now)

    def _note(self, answer: Answer[ValueT]) -> ValueT:
        if self.oldest is None or answer.read_at < self.oldest:
            self.oldest = answer.read_at
        return answer.value
