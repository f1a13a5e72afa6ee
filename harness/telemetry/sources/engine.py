"""``/metrics`` of an engine: cache, queue, counters of tokens, drafts and preemptions."""

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence

import httpx

from gauntlet.harness.engines.metric_names import ENGINE_LABEL, KEPT, POSITION_LABEL
from gauntlet.harness.telemetry.prometheus import MetricPoint, read_metrics
from gauntlet.harness.telemetry.source import TIMEOUT_S, Reading, SourceError

_MOST_BYTES = 8 << 20


class EngineMetricsSource:
    """Source ``engine``: one device for each engine behind the server.

    ``label`` comes first in the device's name, to tell several servers apart. ``extra`` are names
    of further metrics; they are kept under their own names. Of several series of one name and
    engine the sum is kept.
    """

    name = "engine"

    def __init__(
        self, base_url: str, *, label: str = "", extra: Sequence[str] = (), trust_env: bool = False
    ) -> None:
        self._label = label
        self._names: Mapping[str, str] = {**{name: name for name in extra}, **KEPT}
        self._client = httpx.Client(base_url=base_url, timeout=TIMEOUT_S, trust_env=trust_env)

    def read(self) -> list[Reading]:
        """Ask the server. Raises SourceError where it does not answer in time."""
        return engine_readings(read_metrics(self._text(), self._names), self._names, self._label)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def _text(self) -> str:
        deadline = time.monotonic() + TIMEOUT_S
        try:
            with self._client.stream("GET", "/metrics") as response:
                if not response.is_success:
                    msg = f"GET /metrics answers {response.status_code}"
                    raise SourceError(msg)
                body = bytearray()
                for chunk in response.iter_bytes():
                    body += chunk
                    # The client's timeout is for each read, not for all of them.
                    if time.monotonic() > deadline or len(body) > _MOST_BYTES:
                        msg = f"GET /metrics: {len(body)} bytes and no end"
                        raise SourceError(msg)
        except httpx.HTTPError as error:
            msg = f"GET /metrics: {type(error).__name__}: {error}"
            raise SourceError(msg) from error
        return body.decode(errors="replace")


def engine_readings(
    points: Sequence[MetricPoint], names: Mapping[str, str], label: str = ""
) -> list[Reading]:
    """Sort points by engine, under the names that they are kept by."""
    found: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for point in points:
        device = "/".join(filter(None, (label, point.labels.get(ENGINE_LABEL, "0"))))
        name = names[point.name]
        if POSITION_LABEL in point.labels:
            name = f"{name}_{point.labels[POSITION_LABEL]}"
        found[device][name] += point.value
    return [Reading(device, dict(values)) for device, values in found.items()]
