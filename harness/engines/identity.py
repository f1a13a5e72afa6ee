"""What a running server says of itself: version, model, limits, effective arguments."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import httpx
from pydantic import BaseModel, ConfigDict, ValidationError

from gauntlet.harness.engines.metric_names import CACHE_CONFIG
from gauntlet.harness.telemetry.prometheus import read_metrics

# A server that is asked something it has no route for says one of these.
NO_ROUTE = frozenset({404, 405})


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineIdentity:
    """What is known of a running engine; None or empty where it does not say.

    ``arguments`` are the effective settings, under dotted names: from ``/server_info``, which vLLM
    has where it runs with VLLM_SERVER_DEV_MODE=1. ``cache_config`` comes from ``/metrics``.
    """

    model: str
    served_models: tuple[str, ...]
    model_root: str | None = None
    max_model_len: int | None = None
    version: str | None = None
    image_digest: str | None = None
    arguments: Mapping[str, str] = field(default_factory=dict)
    cache_config: Mapping[str, str] = field(default_factory=dict)


class _Card(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    id: str
    root: str | None = None
    max_model_len: int | None = None


class _Cards(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    data: tuple[_Card, ...]


def ask_identity(
    client: httpx.Client, wanted: str | None, *, image_digest: str | None = None
) -> EngineIdentity:
    """Ask the server who it is; ``wanted`` is the model that will be asked for.

    Raises LookupError where it does not serve that model (``wanted`` None: any), httpx.HTTPError or
    ValueError where it does not say its models. All else may be missing.
    """
    response = client.get("/v1/models").raise_for_status()
    try:
        cards = _Cards.model_validate_json(response.content).data
    except ValidationError as error:
        msg = f"GET /v1/models gives no list of models: {response.text[:200]!r}"
        raise ValueError(msg) from error
    names = tuple(card.id for card in cards)
    card = next((each for each in cards if wanted in {None, each.id}), None)
    if card is None:
        msg = f"it serves {', '.join(names) or 'nothing'}, not {wanted}"
        raise LookupError(msg)
    return EngineIdentity(
        model=card.id,
        served_models=names,
        model_root=card.root,
        max_model_len=card.max_model_len,
        version=_version(client),
        image_digest=image_digest,
        arguments=_arguments(client),
        cache_config=_cache_config(client),
    )


def _optional(client: httpx.Client, path: str) -> httpx.Response | None:
    try:
        response = client.get(path)
    except httpx.HTTPError:
        return None
    return response if response.is_success else None


def _version(client: httpx.Client) -> str | None:
    value = _json_of(_optional(client, "/version"))
    version = value.get("version")
    return version if isinstance(version, str) else None


def _arguments(client: httpx.Client) -> dict[str, str]:
    value = _json_of(_optional(client, "/server_info?config_format=json"))
    return dict(_flattened(value))


def _cache_config(client: httpx.Client) -> dict[str, str]:
    response = _optional(client, "/metrics")
    if response is None:
        return {}
    try:
        points = read_metrics(response.text, {CACHE_CONFIG})
    except ValueError:
        return {}
    return dict(points[0].labels) if points else {}


def _json_of(response: httpx.Response | None) -> Mapping[str, object]:
    try:
        value = response.json() if response is not None else {}
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _flattened(value: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, str]]:
    for key, inner in value.items():
        if isinstance(inner, dict):
            yield from _flattened(inner, f"{prefix}{key}.")
        elif inner is not None:
            yield f"{prefix}{key}", str(inner)
