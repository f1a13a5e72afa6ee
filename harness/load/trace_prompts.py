"""Requests of a trace in Mooncake's format: equal hash ids give equal blocks of tokens."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gauntlet.core.errors import ConfigError, Problem
from gauntlet.core.ids import digest
from gauntlet.harness.load.requests import Ask, PlannedRequest
from gauntlet.harness.load.seeds import random_ids
from gauntlet.perf_eval.trace import Arrival, TraceRow, generate_trace, read_trace, slice_rows
from gauntlet.perf_eval.workloads import TracePrompts


def trace_requests(prompts: TracePrompts, ask: Ask, *, seed: int) -> list[PlannedRequest]:
    """Build the requests of a trace's slice.

    Raises ConfigError for a bad trace, one that ends before the slice does, or the chat endpoint.
    """
    source = prompts.source
    if ask.chat:
        message = "a trace needs the completions endpoint: its prompts are token ids"
        raise ConfigError([Problem(file="workload", key="endpoint", message=message)])
    rows = (
        read_trace(source.file)
        if source.file is not None
        else generate_trace(source.generate or 0, source.seed)
    )
    arrivals = slice_rows(
        rows,
        skip=prompts.skip_rows,
        count=prompts.rows,
        window_s=prompts.window_s,
        length_scale=prompts.length_scale,
        max_output_tokens=prompts.max_output_tokens,
    )
    identity = trace_digest(rows)
    shared = ideal_shared_tokens(arrivals, prompts.block_size)
    cache: dict[int, list[int]] = {}
    planned = []
    for index, (arrival, hit) in enumerate(zip(arrivals, shared, strict=True)):
        prompt = trace_prompt(arrival, prompts.block_size, identity, seed, index, cache)
        planned.append(
            PlannedRequest(
                index=index,
                body=ask.body(prompt, arrival.output_tokens, exact=True),
                prompt_tokens=len(prompt),
                output_tokens=arrival.output_tokens,
                due_s=arrival.at_s,
                shared_tokens=hit,
            )
        )
    return planned


def trace_digest(rows: Iterable[TraceRow]) -> str:
    """Identity of a trace: two traces that use the same small hash ids share no block."""
    return digest([row.model_dump(mode="json") for row in rows])[:16]


def trace_prompt(
    arrival: Arrival,
    block_size: int,
    identity: str,
    seed: int,
    index: int,
    cache: dict[int, list[int]] | None = None,
) -> list[int]:
    """Token ids of one arrival, exactly as many as it says.

    A partial last block is a prefix of the full one. Where a row has fewer ids than its length
    needs, the rest are tokens of its own.
    """
    blocks: dict[int, list[int]] = {} if cache is None else cache
    prompt: list[int] = []
    for hash_id in arrival.hash_ids:
        if hash_id not in blocks:
            blocks[hash_id] = trace_block(hash_id, block_size, identity, seed)
        prompt += blocks[hash_id]
    missing = arrival.prompt_tokens - len(prompt)
    if missing > 0:
        prompt += random_ids(missing, "tail", identity, seed, index)
    return prompt[: arrival.prompt_tokens]


def trace_block(hash_id: int, block_size: int, identity: str, seed: int) -> list[int]:
    """Tokens of one block; a smaller ``block_size`` gives a prefix of the larger one."""
    return random_ids(block_size, "block", identity, seed, hash_id)


@dataclass(slots=True)
class _Node:
    """One block in the tree of all prompts sent so far."""

    children: "dict[int, _Node]"


def ideal_shared_tokens(arrivals: Sequence[Arrival], block_size: int) -> list[int]:
    """Leading tokens of each prompt that earlier prompts had: what an unlimited cache would hit.

    Whole blocks only, and never the whole prompt, of which an engine computes the last token anew.
    """
    root = _Node({})
    shared = []
    for arrival in arrivals:
        node, hits, known = root, 0, True
        whole = min(len(arrival.hash_ids), arrival.prompt_tokens // block_size)
        for hash_id in arrival.hash_ids[:whole]:
            child = node.children.get(hash_id)
            known = known and child is not None
            hits += known
            if child is None:
                child = node.children[hash_id] = _Node({})
            node = child
        shared.append(min(hits * block_size, max(0, arrival.prompt_tokens - 1)))
    return shared


def ideal_hit_share(planned: Sequence[PlannedRequest]) -> float | None:
    """Share of prompt tokens that an unlimited prefix cache, empty at first, would answer.

    None where the plan does not know its prompts' tokens.
    """
    known = [r for r in planned if r.shared_tokens is not None and r.prompt_tokens]
    total = sum(request.prompt_tokens or 0 for request in known)
    if len(known) < len(planned) or not total:
        return None
    return sum(request.shared_tokens or 0 for request in known) / total
