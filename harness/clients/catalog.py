"""The clients that are known, and the loads that are asked of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx

from gauntlet.core.errors import InfrastructureError, UsageError, unknown_name
from gauntlet.harness.clients.aiperf import Aiperf
from gauntlet.harness.clients.guidellm import Guidellm
from gauntlet.harness.clients.own import OwnClient
from gauntlet.harness.clients.port import ClientLoad, LoadClient
from gauntlet.harness.clients.vllm_bench import VllmBench

NAMES = ("own", "vllm-rs", "vllm", "aiperf", "guidellm")
_LEAST_REQUESTS = 20
_WAVES = 4
_OPEN_S = 10.0
_ASK_S = 10.0
# Of a client's time limit: what one silent stream may take before the client itself gives it up.
_IDLE_SHARE, _MOST_IDLE_S = 0.25, 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where clients are looked for; None: on PATH (``workers``: of our own client)."""

    engine_venv: Path | None = None
    vllm_rs: Path | None = None
    aiperf_venv: Path | None = None
    guidellm_venv: Path | None = None
    workers: int | None = None


def clients_of(names: Sequence[str], places: Places) -> tuple[LoadClient, ...]:
    """The named clients in that order; all of them without names.

    A client that was asked for by name has to be there: raises UsageError where it is not.
    """
    known: dict[str, LoadClient] = {
        "own": OwnClient(places.workers),
        # An engine's environment has the Rust client too, from vLLM 0.33 on.
        "vllm-rs": VllmBench("vllm-rs", places.vllm_rs or places.engine_venv),
        "vllm": VllmBench("vllm", places.engine_venv),
        "aiperf": Aiperf(places.aiperf_venv),
        "guidellm": Guidellm(places.guidellm_venv),
    }
    for name in names:
        if name not in known:
            raise unknown_name("client", name, known)
        if (how := known[name].available()) is not None:
            msg = f"the client {name!r} was asked for and is not there"
            raise UsageError(msg, hint=how)
    return tuple(known[name] for name in dict.fromkeys(names or NAMES))


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadRequest:
    """The loads that a comparison is asked for: one for each concurrency, or one at ``rate``."""

    concurrencies: Sequence[int]
    rate: float | None
    requests: int | None
    input_tokens: int
    output_tokens: int
    seed: int = 0


def loads_of(
    asked: LoadRequest, *, base_url: str, model: str, tokenizer: Path, limit_s: float
) -> tuple[ClientLoad, ...]:
    """Plan the loads. Without a count: four waves of a closed loop, ten seconds of an open one.

    ``limit_s`` is what a run may take. Raises UsageError without concurrency and rate.
    """
    return tuple(
        ClientLoad(
            base_url=base_url.rstrip("/"),
            model=model,
            requests=asked.requests or _requests(concurrency, asked.rate),
            input_tokens=asked.input_tokens,
            output_tokens=asked.output_tokens,
            concurrency=concurrency,
            rate=asked.rate,
            seed=asked.seed,
            tokenizer=tokenizer,
            idle_s=min(_MOST_IDLE_S, _IDLE_SHARE * limit_s),
        )
        for concurrency in asked.concurrencies or (None,)
    )


def _requests(concurrency: int | None, rate: float | None) -> int:
    wanted = rate * _OPEN_S if rate is not None else _WAVES * (concurrency or 1)
    return max(_LEAST_REQUESTS, round(wanted))


def model_of(base_url: str) -> str:
    """Ask a server which model it serves. Raises InfrastructureError where it does not tell."""
    url = f"{base_url.rstrip('/')}/v1/models"
    try:
        answer = httpx.get(url, timeout=_ASK_S, trust_env=False).raise_for_status()
        return str(answer.json()["data"][0]["id"])
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, LookupError, TypeError) as error:
        msg = f"{url} does not tell a model: {error}"
        raise InfrastructureError(
            msg, hint="is the server up? --model NAME asks nothing"
        ) from error
