"""What decides when two builds are compared: margins, error budget, how many blocks."""

from typing import Literal

from pydantic import Field

from gauntlet.perf_eval.part import RecipePart
from gauntlet.perf_eval.workloads import Name, Range

# A B and B A.
PAIRS_PER_BLOCK = 2
LOAD_METRICS = ("ttft_ms", "tpot_ms", "itl_ms", "e2e_ms", "output_tokens_per_s")


class LoadObjective(RecipePart):
    """How much worse one statistic of a load metric may be before it is a regression."""

    workload: Name
    """Name of the workload."""
    metric: Literal["ttft_ms", "tpot_ms", "itl_ms", "e2e_ms", "output_tokens_per_s"]
    """Which metric."""
    statistic: Literal["mean", "p50", "p90", "p95", "p99", "total"]
    """Which statistic of it; total for output_tokens_per_s."""
    margin_percent: float = Field(gt=0, lt=100)
    """How much worse is still the same."""
    blocking: bool = True
    """Whether it decides; otherwise it only informs."""


class EvalObjective(RecipePart):
    """How many percentage points of accuracy may be lost before it is a regression."""

    task: Name
    """Name of the eval."""
    margin_points: float = Field(gt=0, lt=100)
    """How many points less are still the same."""
    blocking: bool = True
    """Whether it decides; otherwise it only informs."""


class Judgement(RecipePart):
    """What decides; error rates hold for the whole recipe, not for each metric."""

    false_alarm_rate: float = Field(default=0.01, gt=0, lt=0.5)
    """Chance of calling a build worse that is not, over all objectives and looks together."""
    load: tuple[LoadObjective, ...] = ()
    """Margins of loads."""
    evals: tuple[EvalObjective, ...] = ()
    """Margins of evals."""


class Blocks(Range):
    """A B B A blocks: at least ``min``, more while a blocking verdict is open, up to ``max``."""

    def looks(self, done: int) -> tuple[float, ...]:
        """Shares of all blocks that the looks up to this one had, with ``done`` blocks measured.

        There is a look after each block from ``min`` on, and one at a session that was cut short.
        """
        now = min(max(done, 1), self.max)
        return tuple(blocks / self.max for blocks in (*range(self.min, now), now))
