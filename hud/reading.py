"""What all pages read through: named queries, each asked once for all viewers.

An answer is kept for a while. Once it is older than that, viewers still get it, together with its
age, while one background thread asks anew; so nobody waits for a page that was opened lately, and
ten viewers ask one question once. For an answer that is much too old, from last night, a viewer
waits. Where the warehouse is away, the last answer stays.
"""

import json
import logging
import threading
from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from datetime import UTC, datetime
from queue import LifoQueue
from typing import Any, Generic, TypeVar, cast
from zlib import crc32

import cachetools
import pandas as pd
from dogpile.cache import CacheRegion, make_region
from dogpile.cache.api import NO_VALUE, CacheMutex

from gauntlet.core.errors import ExternalServiceError, GauntletError, InfrastructureError
from gauntlet.core.scoped import Scoped
from gauntlet.warehouse.named_queries import load_query
from gauntlet.warehouse.store import Store, open_store

_LOGGER = logging.getLogger(__name__)
_CACHE_BYTES = 256 * 1024 * 1024
_CONNECTIONS = 3  # more queries at once than cores would only make each of them slower
_TTL_S = 60.0
_TOO_OLD_S = 300.0
_SPREAD = 0.25
_QUERY_LIMIT_S = 30

ValueT = TypeVar("ValueT")


@dataclass(frozen=True, slots=True)
class Answer(Generic[ValueT]):
    """A value and when it was read (UTC)."""

    value: ValueT
    read_at: datetime


class Reader(Scoped):
    """Cached questions to one warehouse; one for the whole process, used by all threads.

    ``ttl_s`` is how long an answer is fresh, ``too_old_s`` beyond which age a viewer waits for a
    new one. ``away`` says that the warehouse did not answer when it was last asked.
    """

    def __init__(
        self,
        location: str,
        *,
        ttl_s: float = _TTL_S,
        too_old_s: float = _TOO_OLD_S,
        cache_bytes: int = _CACHE_BYTES,
        opener: Callable[[str], Store] = open_store,
    ) -> None:
        self.location = location
        self.asked: Counter[str] = Counter()
        self.away = False
        self._ttl_s = ttl_s
        self._too_old_s = too_old_s
        self._forgotten_at = datetime.min.replace(tzinfo=UTC)
        self._refreshing: dict[str, Future[None]] = {}
        self._pool = _Pool(location, opener)
        self._refresher = ThreadPoolExecutor(max_workers=2, thread_name_prefix="refresh")
        self._region = make_region(async_creation_runner=self._refresh).configure(
            "dogpile.cache.memory", arguments={"cache_dict": _Bounded(cache_bytes)}
        )

    def close(self) -> None:
        """End refreshes that wait, and close the connections."""
        self._refresher.shutdown(wait=True, cancel_futures=True)
        self._pool.close()

    def rows(
        self, query: str, *, ttl_s: float | None = None, **parameters: object
    ) -> Answer[list[dict[str, Any]]]:
        """Rows of a named query. The list is shared: do not change it.

        Raises InfrastructureError or ExternalServiceError where the warehouse cannot be read and
        there is no earlier answer, UsageError for a query or parameter that does not exist.
        """
        key = _key(query, parameters)
        return self._get(key, lambda: self._ask(query, parameters), ttl_s)

    def frame(
        self, query: str, *, ttl_s: float | None = None, **parameters: object
    ) -> Answer[pd.DataFrame]:
        """Rows of a named query as a frame. Raises what :meth:`rows` raises."""
        key = "frame " + _key(query, parameters)
        answer = self._get(
            key, lambda: pd.DataFrame.from_records(self._ask(query, parameters)), ttl_s
        )
        # A shallow copy: pandas copies on write, so that no page changes another's frame.
        return Answer(answer.value.copy(deep=False), answer.read_at)

    def value(
        self,
        name: str,
        loader: Callable[[Store], ValueT],
        *key: Hashable,
        ttl_s: float | None = None,
    ) -> Answer[ValueT]:
        """Keep what ``loader`` makes of an open store, for verdicts of the analyzer.

        ``name`` and ``key`` must name everything that ``loader`` depends on.
        """

        def load() -> ValueT:
            self.asked[name] += 1
            return self._pool.use(loader)

        return self._get(f"value {name} {key!r}", load, ttl_s)

    def forget(self) -> None:
        """Have the next look at each answer wait for a new one; the old ones stay in reserve."""
        self._forgotten_at = datetime.now(UTC)

    def _ask(self, query: str, parameters: Mapping[str, object]) -> list[dict[str, Any]]:
        self.asked[query] += 1
        named = load_query(query)
        values = named.values(parameters)
        limit = {"max_execution_time": _QUERY_LIMIT_S}
        return self._pool.use(lambda store: store.sql(named.sql, values, limit))

    def _get(self, key: str, creator: Callable[[], ValueT], ttl_s: float | None) -> Answer[ValueT]:
        ttl_s = self._spread(key, self._ttl_s if ttl_s is None else ttl_s)
        forgotten_s = (datetime.now(UTC) - self._forgotten_at).total_seconds()
        made = self._region.get_or_create(
            key, lambda: self._answer(creator), expiration_time=min(ttl_s, forgotten_s)
        )
        answer = cast("Answer[ValueT]", made)
        age_s = (datetime.now(UTC) - answer.read_at).total_seconds()
        running = self._refreshing.get(key)
        too_old = age_s > max(ttl_s, self._too_old_s) or answer.read_at < self._forgotten_at
        if running is not None and too_old:
            wait([running], timeout=_QUERY_LIMIT_S)
            newest = self._region.get(key, ignore_expiration=True)
            return answer if newest is NO_VALUE else cast("Answer[ValueT]", newest)
        return answer

    def _answer(self, creator: Callable[[], ValueT]) -> Answer[ValueT]:
        try:
            value = creator()
        except (InfrastructureError, ExternalServiceError):
            self.away = True
            raise
        self.away = False
        return Answer(value, datetime.now(UTC))

    @staticmethod
    def _spread(key: str, ttl_s: float) -> float:
        """Answers that were read together must not all expire together."""
        return ttl_s * (1 + _SPREAD * (crc32(key.encode()) % 1000 / 500 - 1))

    def _refresh(
        self, region: CacheRegion, key: str, creator: Callable[[], Any], mutex: CacheMutex
    ) -> None:
        """Make an expired answer anew behind the viewers' backs."""

        def work() -> None:
            try:
                region.set(key, creator())
            except GauntletError as error:
                # The page goes on showing the earlier answer, and its age.
                _LOGGER.warning("cannot refresh %s: %s", key, error.message)
            except Exception:
                # Nobody waits for this thread: a mistake of ours would be lost.
                _LOGGER.exception("cannot refresh %s", key)
            finally:
                self._refreshing.pop(key, None)
                mutex.release()

        running: Future[None] = Future()
        self._refreshing[key] = running
        try:
            self._refresher.submit(work).add_done_callback(lambda _: running.set_result(None))
        except RuntimeError:
            # The process is ending.
            self._refreshing.pop(key, None)
            mutex.release()


_READERS: dict[str, Reader] = {}
_READERS_LOCK = threading.Lock()


def shared_reader(location: str) -> Reader:
    """The one reader of this process for a warehouse, however many ask for it at once."""
    with _READERS_LOCK:
        if location not in _READERS:
            _READERS[location] = Reader(location)
        return _READERS[location]


class _Pool:
    """A few open stores, made when first needed and made anew where the server went away."""

    def __init__(self, location: str, opener: Callable[[str], Store]) -> None:
        self._location = location
        self._opener = opener
        self._idle: LifoQueue[Store | None] = LifoQueue()
        for _ in range(_CONNECTIONS):
            self._idle.put(None)

    def use(self, work: Callable[[Store], ValueT]) -> ValueT:
        store = self._idle.get()
        reused = store is not None
        try:
            store = store or self._opener(self._location)
            try:
                return work(store)
            except (InfrastructureError, ExternalServiceError):
                broken, store = store, None
                broken.close()
                if not reused:
                    raise
            # The local server ends when nobody asked for a while; a new store starts it again.
            store = self._opener(self._location)
            return work(store)
        finally:
            self._idle.put(store)

    def close(self) -> None:
        taken = [self._idle.get() for _ in range(_CONNECTIONS)]
        for store in taken:
            if store is not None:
                store.close()
            self._idle.put(None)


class _Bounded(cachetools.LRUCache[str, object]):
    """A dictionary for many threads that drops what was used least once it holds too much."""

    def __init__(self, most_bytes: int) -> None:
        # A value larger than the whole cache would be an error; it takes all of it instead.
        super().__init__(most_bytes, getsizeof=lambda value: min(_size(value), most_bytes))
        self._lock = threading.RLock()

    def get(self, key: str, default: object = None) -> object:
        with self._lock:
            return super().get(key, default)

    def __setitem__(self, key: str, value: object) -> None:
        with self._lock:
            super().__setitem__(key, value)

    def pop(self, key: str, default: object = None) -> object:
        with self._lock:
            return super().pop(key, default)


def _size(value: object) -> int:
    """About how many bytes a cached answer takes."""
    payload = getattr(getattr(value, "payload", None), "value", None)
    if isinstance(payload, pd.DataFrame):
        return int(payload.memory_usage(deep=True).sum())
    if isinstance(payload, list):
        return 1000 + 600 * len(payload)
    return 100_000


def _key(query: str, parameters: Mapping[str, object]) -> str:
    return f"{query} {json.dumps(parameters, sort_keys=True, default=str)}"
