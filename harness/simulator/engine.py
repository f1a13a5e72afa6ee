"""The engine loop: drives the scheduler's nominal clock in real time.

Steps end at absolute deadlines. A busy engine starts its next step at the nominal end of the one
before, not when the event loop got round to it, so lag of this process shows as jitter of single
tokens and never adds up.
"""

import asyncio
import contextlib
import time
from collections import deque

from gauntlet.harness.simulator.config import SimulatorConfig
from gauntlet.harness.simulator.kv_cache import KvCache
from gauntlet.harness.simulator.metrics import EngineMetrics
from gauntlet.harness.simulator.scheduler import Generation, Scheduler, lognormal_noise
from gauntlet.harness.simulator.timer import DeadlineTimer

# A process that was stopped for longer than this goes on from now instead of catching up.
_MAX_CATCH_UP_S = 1.0


class Engine:
    """One simulated engine on the running event loop."""

    def __init__(self, config: SimulatorConfig, loop: asyncio.AbstractEventLoop) -> None:
        cache = KvCache(
            blocks=config.kv_cache.blocks,
            block_size=config.kv_cache.block_size,
            prefix_caching=config.kv_cache.prefix_caching,
        )
        noise = lognormal_noise(config.timing.noise_cv, config.seed)
        self.scheduler = Scheduler(config.scheduler, config.timing, cache, noise=noise)
        self.metrics = EngineMetrics()
        self.steps = 0
        self.max_lag_s = 0.0
        self._overhead_s = config.timing.request_overhead_ms / 1000
        self._started_s = time.monotonic()
        # In order of the instant at which the scheduler may see them.
        self._arrivals: deque[Generation] = deque()
        self._step_end_s: float | None = None
        self._timer = DeadlineTimer(loop, self._due)

    def submit(self, generation: Generation) -> None:
        """Hand a sequence to the scheduler once the request overhead after its arrival is over."""
        self._arrivals.append(generation)
        if self._step_end_s is None and len(self._arrivals) == 1:
            self._timer.arm(generation.arrival_s + self._overhead_s)

    def abort(self, generation: Generation) -> None:
        """Drop a sequence whose client left; one that is done stays done."""
        if generation.done:
            return
        with contextlib.suppress(ValueError):
            self._arrivals.remove(generation)
        self.scheduler.abort(generation)
        self.metrics.finish(generation, "abort")

    def reset_prefix_cache(self) -> None:
        """Forget all cached prefixes."""
        self.scheduler.cache.reset()

    def close(self) -> None:
        """Stop the loop; sequences in flight emit nothing more."""
        self._timer.close()

    def _due(self) -> None:
        """End the step in progress, if any, and begin the next."""
        now = time.monotonic()
        start = self._step_end_s
        if start is None:
            start = self._arrivals[0].arrival_s + self._overhead_s if self._arrivals else now
        else:
            self.max_lag_s = max(self.max_lag_s, now - start)
            self._emit(now)
        self._begin(start if now - start < _MAX_CATCH_UP_S else now)

    def _emit(self, now: float) -> None:
        metrics = self.metrics
        emitting = self.scheduler.finish()
        for generation in emitting:
            if generation.emitted == 1:
                metrics.first_token(generation, now)
            else:
                metrics.itl.observe(now - generation.last_token_s)
            generation.last_token_s = now
            # A fault in mid-stream aborts the sequence, and is counted there.
            last = generation.done
            generation.emit(generation.emitted - 1, now)
            if last:
                metrics.finish(generation, generation.finish_reason)
        metrics.generation_tokens += len(emitting)
        metrics.step_size.observe(self.scheduler.step_tokens)
        self.steps += 1

    def _begin(self, start: float) -> None:
        arrivals = self._arrivals
        while arrivals and arrivals[0].arrival_s + self._overhead_s <= start:
            self.scheduler.add(arrivals.popleft())
        cost = self.scheduler.begin(start, age_s=start - self._started_s)
        if cost is not None:
            self._step_end_s = start + cost
            self._timer.arm(self._step_end_s)
            return
        self._step_end_s = None
        if arrivals:
            self._timer.arm(arrivals[0].arrival_s + self._overhead_s)
