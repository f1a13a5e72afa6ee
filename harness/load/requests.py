"""Requests of a workload, built to the last byte before the clock starts.

Prompts are token ids, so that no tokenizer changes their length. They depend on the seed alone:
the same seed gives both sides of a comparison the same prompts, another seed none of them.
"""

import hashlib
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass

from gauntlet.perf_eval.recipe import RandomWorkload, TokenRange
from gauntlet.perf_eval.trace import Arrival

# Ids that exist in any vocabulary in use and are special tokens in none.
_FIRST_ID, _LAST_ID = 256, 1000


@dataclass(frozen=True, slots=True)
class PlannedRequest:
    """One request: when to send it (seconds from start, None = when a stream is free)."""

    index: int
    at_s: float | None
    prompt_tokens: int
    output_tokens: int
    body: bytes


def completion_body(model: str, prompt: Sequence[int], output_tokens: int) -> bytes:
    """Body of a streamed completion that yields exactly ``output_tokens`` tokens."""
    return json.dumps(
        {
            "model": model,
            "prompt": list(prompt),
            "max_tokens": output_tokens,
            "temperature": 0,
            "ignore_eos": True,
            "stream": True,
            "stream_options": {"include_usage": True},
        },
        separators=(",", ":"),
    ).encode()


def random_requests(
    workload: RandomWorkload, *, model: str, seed: int, warmup: bool = False
) -> list[PlannedRequest]:
    """Requests of a closed loop: prompt and output lengths drawn evenly from their ranges.

    Warm-up requests come from a stream of their own, so that they warm no prompt that counts.
    """
    rng = _generator("warmup" if warmup else "random", seed)
    count = workload.warmup_requests if warmup else workload.requests
    planned = []
    for index in range(count):
        prompt = [
            rng.randint(_FIRST_ID, _LAST_ID) for _ in range(_draw(rng, workload.prompt_tokens))
        ]
        output = _draw(rng, workload.output_tokens)
        body = completion_body(model, prompt, output)
        planned.append(PlannedRequest(index, None, len(prompt), output, body))
    return planned


def trace_requests(
    arrivals: Sequence[Arrival], *, block_size: int, model: str, seed: int
) -> list[PlannedRequest]:
    """Requests of a trace: equal hash ids give equal blocks of tokens, whoever asks.

    A partial last block is a prefix of the full one. Where a row has fewer ids than its length
    needs, the rest is filled with tokens of its own, so that the length is always exact.
    """
    planned = []
    for index, arrival in enumerate(arrivals):
        prompt: list[int] = []
        for hash_id in arrival.hash_ids:
            prompt += trace_block(hash_id, block_size, seed)
        missing = arrival.prompt_tokens - len(prompt)
        if missing > 0:
            rng = _generator("tail", seed, index)
            prompt += [rng.randint(_FIRST_ID, _LAST_ID) for _ in range(missing)]
        prompt = prompt[: arrival.prompt_tokens]
        body = completion_body(model, prompt, arrival.output_tokens)
        planned.append(
            PlannedRequest(index, arrival.at_s, len(prompt), arrival.output_tokens, body)
        )
    return planned


def trace_block(hash_id: int, block_size: int, seed: int) -> list[int]:
    """Tokens of one block; a smaller ``block_size`` gives a prefix of the larger one."""
    rng = _generator("block", seed, hash_id)
    return [rng.randint(_FIRST_ID, _LAST_ID) for _ in range(block_size)]


def plan_digest(planned: Sequence[PlannedRequest]) -> str:
    """SHA-256 (hex) over everything that is sent, and when."""
    digest = hashlib.sha256()
    for request in planned:
        digest.update(f"{request.index}:{request.at_s}:".encode())
        digest.update(request.body)
    return digest.hexdigest()


def _generator(*parts: object) -> random.Random:
    # Not hash(): it is salted per process, so two runs of one seed would send other prompts.
    key = ":".join(map(str, parts)).encode()
    return random.Random(hashlib.sha256(key).digest())  # noqa: S311 - a workload, not a secret


def _draw(rng: random.Random, bounds: TokenRange) -> int:
    return rng.randint(bounds.min, bounds.max)
