"""Requests of a workload: what each kind of prompts comes to, for one seed.

Prompts made here are token ids, so that no tokenizer changes their length. They depend on the seed
alone: the same seed gives both sides of a comparison the same prompts, another seed none of them.
"""

import hashlib
import random
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from gauntlet.core.errors import ConfigError, Problem
from gauntlet.core.ids import digest, file_digest
from gauntlet.harness.load.datasets import FilePrompts, read_rows
from gauntlet.harness.load.requests import Ask, PlannedRequest, token_count
from gauntlet.harness.load.seeds import generator, random_ids
from gauntlet.harness.load.trace_prompts import trace_requests
from gauntlet.perf_eval.workloads import (
    ConversationPrompts,
    JsonlPrompts,
    RandomPrompts,
    SharedPrefixPrompts,
    TokenRange,
    TracePrompts,
    Workload,
)


def plan_requests(
    workload: Workload, *, model: str, seed: int, warmup: bool = False
) -> list[PlannedRequest]:
    """Build the requests of one repetition, or of its warm-up.

    Warm-up requests come from a stream of their own, so that they warm no prompt that counts.
    Raises ConfigError for bad data, and where the data have fewer rows than ``requests``.
    """
    ask = Ask(model=model, chat=workload.endpoint == "chat", extra=workload.body)
    count = workload.warmup_requests if warmup else workload.requests
    label = "warmup" if warmup else "load"
    prompts = workload.prompts
    if isinstance(prompts, TracePrompts):
        planned = trace_requests(prompts, ask, seed=_trace_seed(seed, warmup=warmup))
    elif isinstance(prompts, ConversationPrompts):
        planned = list(_conversations(prompts, ask, count or 0, seed, label))
    elif isinstance(prompts, RandomPrompts):
        planned = list(_random(prompts, ask, count or 0, seed, label))
    elif isinstance(prompts, SharedPrefixPrompts):
        planned = list(_shared_prefix(prompts, ask, count or 0, seed, label))
    else:
        try:
            planned = list(_texts(prompts, ask, seed, warmup=warmup, count=count))
        except ValueError as error:
            key = f"workloads.{workload.name}.endpoint"
            raise ConfigError([Problem(file="recipe", key=key, message=str(error))]) from error
    if count is None or len(planned) == count:
        return planned
    if len(planned) < count and not warmup:
        message = f"{count} requests asked, the prompts of {workload.name} have {len(planned)}"
        raise ConfigError([Problem(file="workload", key="requests", message=message)])
    return planned[:count]


def dataset_digest(workload: Workload) -> str:
    """Identity of what the prompts are drawn from: the same for every seed.

    A file counts by its content, not by where it lies. Raises OSError where it cannot be read.
    """
    prompts = workload.prompts.model_dump(mode="json")
    holder = prompts.get("source") or prompts
    if holder.get("file") is not None:
        holder["file"] = file_digest(Path(holder["file"]))
    return digest(prompts)


def _trace_seed(seed: int, *, warmup: bool) -> int:
    # Prompts that no row of the trace has, or the warm-up would fill the prefix cache.
    return ~seed & 0x7FFF_FFFF_FFFF if warmup else seed


def _random(
    prompts: RandomPrompts, ask: Ask, count: int, seed: int, label: str
) -> Iterator[PlannedRequest]:
    lengths = generator(label, "lengths", seed)
    for index in range(count):
        prompt = random_ids(_draw(lengths, prompts.prompt_tokens), label, seed, index)
        output = _draw(lengths, prompts.output_tokens)
        yield _exact(ask, index, prompt, output)


def _shared_prefix(
    prompts: SharedPrefixPrompts, ask: Ask, count: int, seed: int, label: str
) -> Iterator[PlannedRequest]:
    lengths = generator(label, "lengths", seed)
    prefixes = [
        random_ids(_draw(lengths, prompts.prefix_tokens), label, "prefix", seed, group)
        for group in range(prompts.groups)
    ]
    seen: set[int] = set()
    for index in range(count):
        group = lengths.randrange(prompts.groups)
        suffix = random_ids(_draw(lengths, prompts.suffix_tokens), label, "suffix", seed, index)
        output = _draw(lengths, prompts.output_tokens)
        shared = len(prefixes[group]) if group in seen else 0
        seen.add(group)
        yield _exact(ask, index, prefixes[group] + suffix, output, shared_tokens=shared)


def _conversations(
    prompts: ConversationPrompts, ask: Ask, count: int, seed: int, label: str
) -> Iterator[PlannedRequest]:
    """Turns in the order of their conversations.

    The answers that a later turn sends back are made here too, of the length that was asked: what
    the server really said is known only while the load runs, and by then nothing may be built.
    """
    index = conversation = 0
    system = random_ids(prompts.system_tokens.max, label, "system", seed)
    while index < count:
        rng = generator(label, "conversation", seed, conversation)
        history = system[: _draw(rng, prompts.system_tokens)]
        shared = len(history) if conversation else 0
        for turn in range(rng.randint(prompts.turns.min, prompts.turns.max)):
            if index == count:
                return
            asked = _draw(rng, prompts.turn_tokens)
            prompt = history + random_ids(asked, label, seed, conversation, turn)
            output = _draw(rng, prompts.output_tokens)
            think_s = rng.uniform(*prompts.think_s) if turn else 0.0
            yield _exact(
                ask,
                index,
                prompt,
                output,
                conversation=conversation,
                turn=turn,
                think_s=think_s,
                shared_tokens=shared,
            )
            # Of the next prompt, this one was sent before; the answer in it was not.
            shared = len(prompt)
            history = prompt + random_ids(output, label, "answer", seed, conversation, turn)
            index += 1
        conversation += 1


def _texts(
    prompts: FilePrompts, ask: Ask, seed: int, *, warmup: bool, count: int | None
) -> Iterator[PlannedRequest]:
    """Rows of a file in an order that the seed decides; the warm-up takes them from the end."""
    rows = read_rows(prompts)
    if not any(row.due_s is not None for row in rows):
        # By content, not by position: a row added to the file moves no other.
        rows.sort(key=lambda row: hashlib.sha256(f"{seed}:{row.prompt}".encode()).digest())
    lengths = generator("lengths", seed)
    exact = isinstance(prompts, JsonlPrompts) and prompts.ignore_eos
    for index, row in enumerate(islice(reversed(rows) if warmup else rows, count)):
        output = row.max_tokens or _draw(lengths, prompts.output_tokens)
        yield PlannedRequest(
            index=index,
            body=ask.body(row.prompt, output, exact=exact),
            prompt_tokens=token_count(row.prompt),
            output_tokens=output,
            exact=exact,
            due_s=row.due_s,
        )


def _exact(
    ask: Ask,
    index: int,
    prompt: Sequence[int],
    output: int,
    *,
    conversation: int | None = None,
    turn: int = 0,
    think_s: float = 0.0,
    shared_tokens: int = 0,
) -> PlannedRequest:
    return PlannedRequest(
        index=index,
        body=ask.body(_for_endpoint(ask, prompt), output, exact=True),
        prompt_tokens=None if ask.chat else len(prompt),
        output_tokens=output,
        conversation=conversation,
        turn=turn,
        think_s=think_s,
        shared_tokens=shared_tokens,
    )


def _for_endpoint(ask: Ask, prompt: Sequence[int]) -> str | Sequence[int]:
    """Token ids where the endpoint takes them, else one short word per id.

    Over the chat endpoint lengths are therefore about right, not exact, and the server's own count
    stands in the result.
    """
    if not ask.chat:
        return prompt
    return " ".join(f"w{token}" for token in prompt)


def _draw(rng: random.Random, bounds: TokenRange) -> int:
    return rng.randint(bounds.min, bounds.max)
