"""What a made-up organisation looks like: jobs, queues, recipes, and what goes wrong when.

Names are invented; the numbers of the scale ``vllm`` follow what is public about that project's
CI: 64 commits a day on main, 200 builds a day, 37 groups with 266 jobs, 58 queues, 20 recipes.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from gauntlet.core.errors import unknown_name

_AREAS = (
    "attention", "basic-correctness", "benchmarks", "compile", "cuda-graphs", "distributed",
    "engine", "entrypoints", "evals", "examples", "expert-parallel", "frontend", "kernels",
    "kv-cache", "lora", "metrics", "models-language", "models-multimodal", "moe", "parsers",
    "platforms", "plugins", "pooling", "prefix-caching", "quantization", "ray", "reasoning",
    "sampler", "scheduler", "spec-decode", "structured-output", "tensorizer", "tokenizer",
    "tool-use", "tracing", "transfer", "weights",
)  # fmt: skip
_QUEUE_KINDS = (
    # name, vendor, accelerator, USD an hour, agents
    ("cpu-small", "cpu", "", 0.4, 120), ("cpu-large", "cpu", "", 1.6, 60),
    ("l4-1", "nvidia", "L4", 0.9, 160), ("l4-4", "nvidia", "L4", 3.6, 40),
    ("a100-1", "nvidia", "A100", 2.2, 48), ("h100-1", "nvidia", "H100", 3.1, 64),
    ("h200-1", "nvidia", "H200", 3.8, 56), ("h200-mig-3g", "nvidia", "H200", 1.7, 64),
    ("h200-8", "nvidia", "H200", 30.4, 8), ("b200-1", "nvidia", "B200", 5.5, 24),
    ("mi300x-1", "amd", "MI300X", 2.5, 40), ("mi355x-8", "amd", "MI355X", 24.0, 6),
    ("gaudi-1", "intel", "Gaudi 3", None, 8), ("tpu-1", "google", "TPU v6e", 2.7, 8),
)  # fmt: skip
_CLASSES = (
    "test_regression",
    "build_regression",
    "accuracy_regression",
    "dependency",
    "infra_network",
)
_MODELS = (
    "atlas-8b",
    "atlas-70b",
    "boreal-moe-120b",
    "cinder-32b",
    "drift-mla-670b",
    "ember-vl-30b",
)
_ACCELERATORS = ("H200", "B200", "MI300X", "MI355X")

ScaleName = Literal["vllm", "small"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """How much happens: per day, per build, per job."""

    commits_per_day: int
    other_builds_per_day: int
    groups: int
    jobs: int
    cases_per_job: int
    queues: int
    recipes: int
    eval_items: int

    @property
    def builds_per_day(self) -> int:
        """Builds of main and of pull requests together."""
        return self.commits_per_day + self.other_builds_per_day


SCALES: dict[str, Scale] = {
    "vllm": Scale(
        commits_per_day=64, other_builds_per_day=136, groups=37, jobs=266, cases_per_job=110,
        queues=58, recipes=20, eval_items=1319,
    ),
    # The same with fewer cases a job: made while somebody waits.
    "demo": Scale(
        commits_per_day=64, other_builds_per_day=136, groups=37, jobs=266, cases_per_job=70,
        queues=58, recipes=20, eval_items=1319,
    ),
    "small": Scale(
        commits_per_day=8, other_builds_per_day=8, groups=6, jobs=24, cases_per_job=20,
        queues=6, recipes=4, eval_items=60,
    ),
}  # fmt: skip


def scale_named(name: str) -> Scale:
    """Find a scale. Raises UsageError where there is none of that name."""
    if name not in SCALES:
        raise unknown_name("scale", name, SCALES)
    return SCALES[name]


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """One queue and the price of an hour on it (None: nobody says)."""

    name: str
    vendor: str
    accelerator: str
    usd_per_hour: float | None
    agents: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One job definition; ``flaky_case`` is -1 where no test of it is flaky."""

    index: int
    group: str
    key: str
    name: str
    queue: int
    mean_s: float
    growth: float
    cases: int
    flaky_case: int
    flaky_rate: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """A job that is broken on main from one commit position to another, both included."""

    job: int
    first: int
    last: int
    failure_class: str
    case: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PerfChange:
    """From a day on, a recipe's times are multiplied; ``config`` where its recipe was edited."""

    recipe: int
    day: int
    factor: float
    config: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """One nightly recipe."""

    index: int
    name: str
    model: str
    accelerator: str
    tpot_ms: float
    accuracy: float


_NEVER_S = 4_102_444_800  # 2100-01-01


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Everything that the rows are made from; days are counted from 1970-01-01."""

    seed: int
    scale: Scale
    first_day: int
    days: int
    queues: Sequence[Queue]
    jobs: Sequence[Job]
    incidents: Sequence[Incident]
    recipes: Sequence[Recipe]
    changes: Sequence[PerfChange]
    # Seconds since 1970: what ends later has not ended yet.
    now_s: int = _NEVER_S

    def position(self, day: int) -> int:
        """Commit position just before the first commit of a day."""
        return (day - _COMMITS_BEGIN) * self.scale.commits_per_day

    def position_at(self, at: datetime) -> int:
        """Commit position that the branch has reached at an instant."""
        days = at.timestamp() / 86_400 - _COMMITS_BEGIN
        return int(days * self.scale.commits_per_day)


# Positions must not depend on the range that is made: 2023-12-09, when positions are 0.
_COMMITS_BEGIN = 19_700


def draw_shape(
    scale: Scale, *, seed: int, first_day: int, days: int, now_s: int | None = None
) -> Shape:
    """Draw jobs, queues and mishaps; the same arguments give the same shape.

    ``now_s`` (seconds since 1970) is where the history breaks off; without it, all has ended.
    """
    dice = random.Random(f"{seed}/{scale}")  # noqa: S311
    queues = [_queue(index) for index in range(scale.queues)]
    jobs = [_job(index, scale, dice) for index in range(scale.jobs)]
    recipes = [_recipe(index, dice) for index in range(scale.recipes)]
    begin = (first_day - _COMMITS_BEGIN) * scale.commits_per_day
    incidents, changes = [], []
    for offset in range(days):
        # Drawn by the day, not the range: a longer history keeps the days it shares.
        daily = random.Random(f"{seed}/{scale}/{first_day + offset}")  # noqa: S311
        incidents.extend(_incidents(begin + offset * scale.commits_per_day, jobs, scale, daily))
        if daily.random() < scale.recipes / 200:
            changes.append(
                PerfChange(
                    recipe=daily.randrange(scale.recipes),
                    day=first_day + offset,
                    factor=daily.choice((0.94, 0.97, 1.03, 1.05, 1.08, 1.15)),
                    config=daily.random() < 0.25,
                )
            )
    return Shape(
        seed=seed,
        scale=scale,
        first_day=first_day,
        days=days,
        queues=queues,
        jobs=jobs,
        incidents=incidents,
        recipes=recipes,
        changes=changes,
        now_s=_NEVER_S if now_s is None else now_s,
    )


def _queue(index: int) -> Queue:
    name, vendor, accelerator, price, agents = _QUEUE_KINDS[index % len(_QUEUE_KINDS)]
    site = index // len(_QUEUE_KINDS)
    return Queue(
        name=name if site == 0 else f"{name}-site{site + 1}",
        vendor=vendor,
        accelerator=accelerator,
        usd_per_hour=price,
        agents=max(2, agents // (site + 1)),
    )


def _job(index: int, scale: Scale, dice: random.Random) -> Job:
    group = _AREAS[index % scale.groups % len(_AREAS)]
    number = index // scale.groups + 1
    queue = min(int(dice.expovariate(1 / 3.0)), scale.queues - 1)
    cases = max(1, round(dice.lognormvariate(0, 0.9) * scale.cases_per_job / 1.5))
    flaky = dice.random() < 0.2
    return Job(
        index=index,
        group=group,
        key=f"{group}-{number}",
        name=f"{group.replace('-', ' ').title()} {number}",
        queue=queue,
        mean_s=dice.lognormvariate(6.4, 0.6),
        growth=dice.choice((0.0, 0.0, 0.0, 0.0, 0.15, 0.4)),
        cases=cases,
        flaky_case=dice.randrange(cases) if flaky else -1,
        flaky_rate=dice.uniform(0.005, 0.05) if flaky else 0.0,
    )


def _recipe(index: int, dice: random.Random) -> Recipe:
    model = _MODELS[index % len(_MODELS)]
    accelerator = _ACCELERATORS[index // len(_MODELS) % len(_ACCELERATORS)]
    return Recipe(
        index=index,
        name=f"{model}-{accelerator.lower()}",
        model=f"example/{model}",
        accelerator=accelerator,
        tpot_ms=dice.uniform(4, 30),
        accuracy=dice.uniform(0.62, 0.95),
    )


def _incidents(
    begin: int, jobs: Sequence[Job], scale: Scale, dice: random.Random
) -> list[Incident]:
    found = []
    for _ in range(dice.choice((0, 1, 1, 2, 3))):
        job = dice.choice(jobs)
        first = begin + 1 + dice.randrange(scale.commits_per_day)
        length = max(1, round(dice.expovariate(1 / (scale.commits_per_day * 0.6))))
        found.append(
            Incident(
                job=job.index,
                first=first,
                last=first + length - 1,
                failure_class=dice.choices(_CLASSES, (70, 10, 5, 8, 7))[0],
                case=dice.randrange(job.cases),
            )
        )
    return found
