"""What samples say about one stretch of time. Pure.

Counters are compared between the last look before a stretch and the last one in it. So looks at
both ends (:meth:`gauntlet.harness.telemetry.sampler.Sampler.mark`) make a stretch exact; without
them it is right to about a second.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from functools import partial
from itertools import pairwise

from gauntlet.harness.telemetry.samples import Sample
from gauntlet.warehouse.conditions import HARMLESS_BITS, is_throttled, throttle_reasons

_S_PER_HOUR = 3600.0
_ACCEPTED_AT = "spec_accepted_at_"
# Fewer looks than this have no slope.
_LEAST_FOR_SLOPE = 3

# (instant in Unix seconds, value)
Series = list[tuple[float, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TelemetrySummary:
    """One stretch. None: not seen. Shares lie in 0..1; several devices are added up or, for shares,
    the worst counts. ``counter_resets`` above 0 means that a server was started anew meanwhile."""

    kv_cache_usage_max: float | None
    kv_cache_usage_mean: float | None
    requests_running_max: float | None
    requests_running_mean: float | None
    requests_waiting_max: float | None
    prefix_cache_queries: float | None
    prefix_cache_hits: float | None
    prefix_cache_hit_rate: float | None
    preemptions: float | None
    prompt_tokens: float | None
    generation_tokens: float | None
    spec_acceptance_rate: float | None
    spec_acceptance_length: float | None
    spec_acceptance_by_position: tuple[float, ...]
    server_rss_start_mib: float | None
    server_rss_end_mib: float | None
    server_rss_max_mib: float | None
    server_rss_slope_mib_per_hour: float | None
    server_uss_max_mib: float | None
    server_open_files_growth: float | None
    server_cpu_s: float | None
    host_load_max: float | None
    host_memory_available_min_mib: float | None
    host_cpu_throttles: float | None
    gpu_utilization_mean_pct: float | None
    gpu_memory_used_max_mib: float | None
    gpu_power_mean_w: float | None
    gpu_sm_clock_mean_mhz: float | None
    gpu_temperature_max_c: float | None
    gpu_throttled_share: float | None
    gpu_throttle_reasons: tuple[str, ...]
    counter_resets: int

    def numbers(self) -> dict[str, float]:
        """All numbers that were seen, by name; positions of drafts as names of their own."""
        found = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, int | float):
                found[field.name] = float(value)
        for position, share in enumerate(self.spec_acceptance_by_position):
            found[f"spec_acceptance_at_{position}"] = share
        return found


def summarise(samples: Iterable[Sample], start: float, end: float) -> TelemetrySummary:
    """Sum up what was seen from ``start`` to ``end`` (Unix seconds, both included).

    Samples may come in any order and from before and after; of several servers, give only those
    that are meant.
    """
    looks = _Looks(samples, start, end)
    engine = partial(looks.level, "engine")
    process = partial(looks.level, "process", device="total")
    gpu = partial(looks.level, "gpu")
    counted = partial(looks.growth, "engine")
    queries, hits = counted("prefix_cache_queries"), counted("prefix_cache_hits")
    drafts, accepted = counted("spec_drafts"), counted("spec_accepted_tokens")
    bits = [int(value) for value in looks.values("gpu", "throttle_bits")]
    length = _ratio(accepted, drafts)
    memory = looks.series("process", "rss_mib", "total")
    files = looks.series("process", "open_files", "total")
    return TelemetrySummary(
        kv_cache_usage_max=engine("kv_cache_usage", max),
        kv_cache_usage_mean=engine("kv_cache_usage", _mean),
        requests_running_max=looks.sum_level("engine", "requests_running", max),
        requests_running_mean=looks.sum_level("engine", "requests_running", _mean),
        requests_waiting_max=looks.sum_level("engine", "requests_waiting", max),
        prefix_cache_queries=queries,
        prefix_cache_hits=hits,
        prefix_cache_hit_rate=_ratio(hits, queries),
        preemptions=counted("preemptions"),
        prompt_tokens=counted("prompt_tokens"),
        generation_tokens=counted("generation_tokens"),
        spec_acceptance_rate=_ratio(accepted, counted("spec_draft_tokens")),
        spec_acceptance_length=None if length is None else 1 + length,
        spec_acceptance_by_position=looks.acceptance_by_position(drafts),
        server_rss_start_mib=memory[0][1] if memory else None,
        server_rss_end_mib=memory[-1][1] if memory else None,
        server_rss_max_mib=process("rss_mib", max),
        server_rss_slope_mib_per_hour=_slope_per_hour(memory),
        server_uss_max_mib=process("uss_mib", max),
        server_open_files_growth=files[-1][1] - files[0][1] if files else None,
        server_cpu_s=looks.growth("process", "cpu_s", "total"),
        host_load_max=looks.level("host", "load_1m", max),
        host_memory_available_min_mib=looks.level("host", "memory_available_mib", min),
        host_cpu_throttles=looks.growth("host", "cpu_throttles"),
        gpu_utilization_mean_pct=gpu("utilization_pct", _mean),
        gpu_memory_used_max_mib=looks.sum_level("gpu", "memory_used_mib", max),
        gpu_power_mean_w=looks.sum_level("gpu", "power_w", _mean),
        gpu_sm_clock_mean_mhz=gpu("sm_clock_mhz", _mean),
        gpu_temperature_max_c=gpu("temperature_c", max),
        gpu_throttled_share=_mean([float(is_throttled(value)) for value in bits]) if bits else None,
        gpu_throttle_reasons=_reasons(bits),
        counter_resets=looks.resets,
    )


class _Looks:
    """Samples sorted into series, and the questions that a summary asks of them."""

    def __init__(self, samples: Iterable[Sample], start: float, end: float) -> None:
        self.resets = 0
        self._start = start
        self._end = end
        self._series: dict[tuple[str, str], dict[str, Series]] = defaultdict(
            lambda: defaultdict(list)
        )
        for sample in sorted(samples, key=lambda sample: sample.at):
            if sample.at <= end:
                for name, value in sample.values.items():
                    self._series[sample.source, name][sample.device].append((sample.at, value))

    def series(self, source: str, name: str, device: str) -> Series:
        """What was seen of one device in the stretch."""
        seen = self._series.get((source, name), {}).get(device, [])
        return [(at, value) for at, value in seen if at >= self._start]

    def values(self, source: str, name: str, device: str | None = None) -> list[float]:
        """All values in the stretch, of one device or of all."""
        devices = self._series.get((source, name), {}) if device is None else [device]
        return [v for each in devices for _, v in self.series(source, name, each)]

    def level(
        self,
        source: str,
        name: str,
        statistic: Callable[[Sequence[float]], float],
        device: str | None = None,
    ) -> float | None:
        """A statistic over all looks at all devices."""
        values = self.values(source, name, device)
        return statistic(values) if values else None

    def sum_level(
        self, source: str, name: str, statistic: Callable[[Sequence[float]], float]
    ) -> float | None:
        """A statistic of the sum over devices; they are looked at in the same instant."""
        sums: dict[float, float] = defaultdict(float)
        for device in self._series.get((source, name), {}):
            for at, value in self.series(source, name, device):
                sums[at] += value
        return statistic(list(sums.values())) if sums else None

    def growth(self, source: str, name: str, device: str | None = None) -> float | None:
        """By how much a counter grew, over all devices or one; None where none was seen twice.

        A counter that fell was started anew from 0, which counts as a reset.
        """
        series = self._series.get((source, name), {})
        grown = [self._grown(seen) for key, seen in series.items() if device in {None, key}]
        known = [value for value in grown if value is not None]
        return sum(known) if known else None

    def acceptance_by_position(self, drafts: float | None) -> tuple[float, ...]:
        """Share of drafts of which the token at each position was accepted."""
        if not drafts:
            return ()
        numbers = (
            int(name.removeprefix(_ACCEPTED_AT))
            for source, name in self._series
            if source == "engine" and name.startswith(_ACCEPTED_AT)
        )
        accepted = (self.growth("engine", f"{_ACCEPTED_AT}{number}") for number in sorted(numbers))
        return tuple(value / drafts for value in accepted if value is not None)

    def _grown(self, seen: Series) -> float | None:
        before = [item for item in seen if item[0] < self._start][-1:]
        used = [*before, *((at, value) for at, value in seen if at >= self._start)]
        if len(used) < 2:
            return None
        total = 0.0
        for (_, earlier), (_, later) in pairwise(used):
            if later < earlier:
                self.resets += 1
            total += later - earlier if later >= earlier else later
        return total


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _ratio(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None


def _slope_per_hour(series: Series) -> float | None:
    """Least-squares slope; None where there is too little, or no time between the looks."""
    if len(series) < _LEAST_FOR_SLOPE:
        return None
    mean_at = _mean([at for at, _ in series])
    mean_value = _mean([value for _, value in series])
    spread = sum((at - mean_at) ** 2 for at, _ in series)
    if spread == 0:
        return None
    together = sum((at - mean_at) * (value - mean_value) for at, value in series)
    return together / spread * _S_PER_HOUR


def _reasons(bits: Sequence[int]) -> tuple[str, ...]:
    """Every reason that held the clocks back at any look."""
    holding = (value & ~HARMLESS_BITS for value in bits)
    return tuple(sorted({reason for value in holding for reason in throttle_reasons(value)}))
