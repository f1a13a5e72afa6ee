"""Continuous batching on a nominal clock: what each engine step computes, and what it costs.

The scheduler knows no wall clock. Its owner calls :meth:`Scheduler.begin` at a nominal instant,
waits for as long as the step costs, and calls :meth:`Scheduler.finish` for the tokens.

One step, with a budget of ``max_num_batched_tokens``:

1. Each decoding sequence gets one token, in order of admission.
2. Sequences in the middle of their prefill, then waiting ones (first come, first served, at most
   ``max_num_seqs`` running), take what is left of the budget: chunked prefill. Tokens that the
   prefix cache holds cost neither budget nor time. A prompt's blocks are taken on admission.
3. Where a running sequence needs a block and none is free, the sequence admitted last is
   preempted: it loses its blocks and computes everything again once there is room; nothing
   is admitted in that step.

The step costs ``(decode_step_ms + decode_ms_per_seq x decoding + prefill_ms_per_token x
prefilled) x noise x drift``, never less than half a millisecond. The noise is lognormal with mean
1, so that it adds no bias. A sequence's first token comes at the end of the step that finishes
its prefill.
"""

import math
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from gauntlet.harness.simulator.config import SchedulerConfig, TimingConfig
from gauntlet.harness.simulator.kv_cache import KvCache, block_hashes

MIN_STEP_S = 0.0005
_MIN_DRIFT = 0.05

Noise = Callable[[], float]


@dataclass(slots=True, eq=False)
class Generation:
    """One prompt and the tokens that will answer it. Instants are monotonic seconds.

    ``reply`` holds at least one token id. ``emit`` is called with the number of a token (from 0)
    and the instant at which it came out.
    """

    prompt: list[int]
    reply: list[int]
    emit: Callable[[int, float], None]
    # Why it will end, as the request metrics call it.
    finish_reason: str = "stop"
    arrival_s: float = 0.0
    admitted_s: float | None = None
    first_token_s: float = 0.0
    last_token_s: float = 0.0
    emitted: int = 0
    # Tokens whose KV entries exist, and those of them that the prefix cache gave at first.
    computed: int = 0
    cached: int = 0
    running: bool = False
    done: bool = False
    blocks: list[int] = field(default_factory=list)
    hashes: list[int] = field(default_factory=list)
    # The prompt and what was emitted after it: what has to be in the KV cache to go on.
    tokens: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.tokens = list(self.prompt)

    @property
    def decoding(self) -> bool:
        """Whether only the newest token is left to compute."""
        return self.emitted > 0 and self.computed == len(self.tokens) - 1


class Scheduler:
    """Waiting and running sequences, and the step in progress."""

    def __init__(
        self, limits: SchedulerConfig, timing: TimingConfig, cache: KvCache, *, noise: Noise
    ) -> None:
        """``noise`` gives each step's factor; see :func:`lognormal_noise`."""
        self._limits = limits
        self._timing = timing
        self._noise = noise
        self.cache = cache
        self.waiting: deque[Generation] = deque()
        self.running: list[Generation] = []
        self.preemptions = 0
        self.step_tokens = 0
        self._step: dict[Generation, int] = {}

    def add(self, generation: Generation) -> None:
        """Queue a sequence behind all that wait."""
        self.waiting.append(generation)

    def abort(self, generation: Generation) -> None:
        """Drop a sequence wherever it is, and free its blocks."""
        if generation.running:
            self._leave(generation)
        elif generation in self.waiting:
            self.waiting.remove(generation)
        generation.done = True

    def begin(self, now_s: float, *, age_s: float = 0.0) -> float | None:
        """Plan a step at instant ``now_s``; return its cost in seconds, None if nothing is to do.

        ``age_s`` is the time since the engine started, for the drift.
        """
        self._step = {}
        budget, preempted = self._plan_decode(self._limits.max_num_batched_tokens)
        decoding = len(self._step)
        left = self._plan_prefill(budget)
        if not preempted:
            left = self._admit(left, now_s)
        if not self._step:
            return None
        prefilled = budget - left
        self.step_tokens = decoding + prefilled
        return self._cost_s(decoding, prefilled, age_s)

    def finish(self) -> list[Generation]:
        """End the step; return the sequences that now emit one token each.

        ``emitted`` already counts the token, and ``done`` is set where it is the last.
        """
        emitting = []
        for generation, count in self._step.items():
            if generation.done:
                continue
            generation.computed += count
            if generation.computed < len(generation.tokens):
                continue
            generation.emitted += 1
            if generation.emitted == len(generation.reply):
                generation.done = True
                self._leave(generation)
            else:
                generation.tokens.append(generation.reply[generation.emitted - 1])
            emitting.append(generation)
        self._step = {}
        return emitting

    def _cost_s(self, decoding: int, prefilled: int, age_s: float) -> float:
        timing = self._timing
        cost_ms = (
            timing.decode_step_ms
            + timing.decode_ms_per_seq * decoding
            + timing.prefill_ms_per_token * prefilled
        )
        drift = 1 + timing.drift_percent_per_minute / 100 * age_s / 60
        return max(MIN_STEP_S, cost_ms / 1000 * self._noise() * max(_MIN_DRIFT, drift))

    def _plan_decode(self, budget: int) -> tuple[int, bool]:
        """Give each decoding sequence its token; return the budget left, and any preemption."""
        preempted = False
        size = self.cache.block_size
        for generation in list(self.running):
            if not budget:
                break
            if not generation.running or not generation.decoding:
                continue
            if generation.computed == len(generation.blocks) * size:
                preempted = self._make_room(generation) or preempted
                if not generation.blocks:
                    continue
                generation.blocks += self.cache.allocate(1)
            self._schedule(generation, 1)
            budget -= 1
        return budget, preempted

    def _make_room(self, generation: Generation) -> bool:
        """Preempt from the back until a block is free, this sequence itself at the worst."""
        before = self.preemptions
        while not self.cache.free_blocks and generation.running:
            self._preempt(self.running[-1])
        return self.preemptions > before

    def _plan_prefill(self, budget: int) -> int:
        """Go on with prefills that earlier steps began; return the budget left."""
        for generation in self.running:
            if not budget:
                break
            if generation not in self._step and not generation.decoding:
                budget -= self._schedule_prefill(generation, budget)
        return budget

    def _admit(self, budget: int, now_s: float) -> int:
        """Admit waiting sequences while budget, places and blocks last; return the budget left."""
        cache = self.cache
        while self.waiting and budget and len(self.running) < self._limits.max_num_seqs:
            generation = self.waiting[0]
            tokens = len(generation.tokens)
            found = self._cached_prefix(generation)
            fresh = -(-tokens // cache.block_size) - len(found)
            if fresh > cache.free_blocks - cache.unheld(found):
                break
            self.waiting.popleft()
            cache.take(found)
            generation.blocks = found + cache.allocate(fresh)
            generation.computed = len(found) * cache.block_size
            if generation.admitted_s is None:
                generation.admitted_s = now_s
                generation.cached = generation.computed
                cache.count(queried=tokens, hit=generation.computed)
            generation.running = True
            self.running.append(generation)
            budget -= self._schedule_prefill(generation, budget)
        return budget

    def _cached_prefix(self, generation: Generation) -> list[int]:
        cache = self.cache
        if not cache.prefix_caching:
            return []
        block_hashes(generation.tokens, cache.block_size, generation.hashes)
        return cache.lookup(generation.hashes, len(generation.tokens))

    def _schedule_prefill(self, generation: Generation, budget: int) -> int:
        count = min(budget, len(generation.tokens) - generation.computed)
        self._schedule(generation, count)
        return count

    def _schedule(self, generation: Generation, count: int) -> None:
        """Put tokens into the step, and make the blocks that they fill findable at once."""
        self._step[generation] = count
        cache = self.cache
        first = generation.computed // cache.block_size
        full = (generation.computed + count) // cache.block_size
        if full > first and cache.prefix_caching:
            block_hashes(generation.tokens, cache.block_size, generation.hashes)
            for index in range(first, full):
                cache.publish(generation.blocks[index], generation.hashes[index])

    def _preempt(self, generation: Generation) -> None:
        self._step.pop(generation, None)
        self._leave(generation)
        generation.computed = 0
        self.waiting.appendleft(generation)
        self.preemptions += 1

    def _leave(self, generation: Generation) -> None:
        self.running.remove(generation)
        generation.running = False
        self.cache.release(generation.blocks)
        generation.blocks = []


def lognormal_noise(cv: float, seed: int) -> Noise:
    """Make a seeded source of factors with mean 1 and coefficient of variation ``cv``."""
    if not cv:
        return lambda: 1.0
    variance = math.log1p(cv * cv)
    rng = random.Random(f"step-noise:{seed}")  # noqa: S311 - simulated noise, not a secret
    return lambda: rng.lognormvariate(-variance / 2, math.sqrt(variance))
