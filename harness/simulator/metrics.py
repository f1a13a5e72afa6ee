"""What vLLM's ``/metrics`` tells, in Prometheus' text format with vLLM's names and labels."""

import time
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from pathlib import Path

from gauntlet.harness.simulator.scheduler import Generation, Scheduler

# Bucket borders, in seconds or tokens, as vLLM sets them.
_TTFT_S = (
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40,
    80, 160, 640, 2560,
)  # fmt: skip
_TOKEN_S = (
    0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80,
)  # fmt: skip
_REQUEST_S = (
    0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680,
)  # fmt: skip
_REQUEST_TOKENS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
_STEP_TOKENS = (1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384)
_FINISH_REASONS = ("stop", "length", "abort", "error", "repetition")


class Histogram:
    """Counts of values at most each border; cheap to observe."""

    def __init__(self, name: str, text: str, borders: Sequence[float]) -> None:
        self.name = name
        self.text = text
        self._borders = borders
        self._counts = [0] * (len(borders) + 1)
        self._sum = 0.0

    def observe(self, value: float) -> None:
        """Count one value."""
        self._counts[bisect_left(self._borders, value)] += 1
        self._sum += value

    def lines(self, labels: str) -> Iterator[str]:
        """Cumulative buckets, sum and count; ``model_name`` sorts behind ``le``, as in vLLM."""
        engine, model = labels.split(",", 1)
        total = 0
        borders = [_number(float(border)) for border in self._borders]
        for border, count in zip([*borders, "+Inf"], self._counts, strict=True):
            total += count
            yield f'{self.name}_bucket{{{engine},le="{border}",{model}}} {_number(float(total))}'
        yield f"{self.name}_count{{{labels}}} {_number(float(total))}"
        yield f"{self.name}_sum{{{labels}}} {_number(self._sum)}"


class EngineMetrics:
    """Counters and histograms of one engine; all times in seconds."""

    def __init__(self) -> None:
        self.prompt_tokens = 0
        self.cached_tokens = 0
        self.generation_tokens = 0
        self.finished = dict.fromkeys(_FINISH_REASONS, 0)
        self.ttft = Histogram(
            "vllm:time_to_first_token_seconds", "Time to first token in seconds.", _TTFT_S
        )
        self.itl = Histogram(
            "vllm:inter_token_latency_seconds", "Time between tokens in seconds.", _TOKEN_S
        )
        self.tpot = Histogram(
            "vllm:request_time_per_output_token_seconds",
            "Time per output token of a request in seconds.",
            _TOKEN_S,
        )
        self.e2e = _request_seconds("e2e_request_latency_seconds", "End to end latency")
        self.queue = _request_seconds("request_queue_time_seconds", "Time in the WAITING phase")
        self.prefill = _request_seconds("request_prefill_time_seconds", "Time in the PREFILL phase")
        self.decode = _request_seconds("request_decode_time_seconds", "Time in the DECODE phase")
        self.inference = _request_seconds(
            "request_inference_time_seconds", "Time in the RUNNING phase"
        )
        self.prompt_size = Histogram(
            "vllm:request_prompt_tokens", "Prefill tokens of a request.", _REQUEST_TOKENS
        )
        self.reply_size = Histogram(
            "vllm:request_generation_tokens", "Generated tokens of a request.", _REQUEST_TOKENS
        )
        self.step_size = Histogram(
            "vllm:iteration_tokens_total", "Tokens of an engine step.", _STEP_TOKENS
        )

    def first_token(self, generation: Generation, now_s: float) -> None:
        """Count the end of a prefill."""
        generation.first_token_s = now_s
        self.prompt_tokens += len(generation.prompt)
        self.cached_tokens += generation.cached
        self.ttft.observe(now_s - generation.arrival_s)

    def finish(self, generation: Generation, reason: str) -> None:
        """Count the end of a request that emitted its last token, or was aborted."""
        self.finished[reason] += 1
        if reason == "abort" or generation.admitted_s is None:
            return
        first, last = generation.first_token_s, generation.last_token_s
        self.e2e.observe(last - generation.arrival_s)
        self.queue.observe(max(0.0, generation.admitted_s - generation.arrival_s))
        self.prefill.observe(max(0.0, first - generation.admitted_s))
        self.decode.observe(last - first)
        self.inference.observe(max(0.0, last - generation.admitted_s))
        self.prompt_size.observe(len(generation.prompt))
        self.reply_size.observe(generation.emitted)
        if generation.emitted > 1:
            self.tpot.observe((last - first) / (generation.emitted - 1))

    def render(self, scheduler: Scheduler, *, model: str, started: float) -> str:
        """Everything as text; ``started`` is the process's start in Unix seconds."""
        labels = f'engine="0",model_name="{_escaped(model)}"'
        lines = [*_process_lines(started), *self._counter_lines(scheduler, labels)]
        name = "vllm:request_success"
        lines += _head(f"{name}_total", "counter", "Count of successfully processed requests.")
        engine, served = labels.split(",", 1)
        for reason, count in self.finished.items():
            lines.append(
                f'{name}_total{{{engine},finished_reason="{reason}",{served}}} {float(count)}'
            )
        for histogram in (value for value in vars(self).values() if isinstance(value, Histogram)):
            lines += _head(histogram.name, "histogram", f"Histogram: {histogram.text}")
            lines += histogram.lines(labels)
        cache = scheduler.cache
        lines += _head("vllm:cache_config_info", "gauge", "Information of the cache configuration")
        lines.append(
            f'vllm:cache_config_info{{block_size="{cache.block_size}",'
            f'enable_prefix_caching="{cache.prefix_caching}",engine="0",'
            f'num_gpu_blocks="{cache.blocks}"}} 1.0'
        )
        return "\n".join(lines) + "\n"

    def _counter_lines(self, scheduler: Scheduler, labels: str) -> Iterator[str]:
        cache = scheduler.cache
        for name, kind, value, text in (
            ("num_requests_running", "gauge", len(scheduler.running), "Requests in the batch."),
            ("num_requests_waiting", "gauge", len(scheduler.waiting), "Requests that wait."),
            ("kv_cache_usage_perc", "gauge", cache.usage, "KV-cache usage. 1 means 100 percent."),
            ("prefix_cache_queries_total", "counter", cache.queries, "Queried tokens."),
            ("prefix_cache_hits_total", "counter", cache.hits, "Cached tokens among them."),
            ("num_preemptions_total", "counter", scheduler.preemptions, "Preemptions."),
            ("prompt_tokens_total", "counter", self.prompt_tokens, "Prefill tokens processed."),
            ("prompt_tokens_cached_total", "counter", self.cached_tokens, "Cached prompt tokens."),
            ("generation_tokens_total", "counter", self.generation_tokens, "Generated tokens."),
        ):
            yield from _head(f"vllm:{name}", kind, text)
            yield f"vllm:{name}{{{labels}}} {_number(float(value))}"


def _request_seconds(name: str, text: str) -> Histogram:
    return Histogram(f"vllm:{name}", f"{text} of a request in seconds.", _REQUEST_S)


def _head(name: str, kind: str, text: str) -> tuple[str, str]:
    return f"# HELP {name} {text}", f"# TYPE {name} {kind}"


def _process_lines(started: float) -> Iterator[str]:
    resident = resident_bytes()
    for name, kind, value, text in (
        ("process_resident_memory_bytes", "gauge", resident, "Resident memory size in bytes."),
        ("process_start_time_seconds", "gauge", started, "Start time in Unix seconds."),
        ("process_cpu_seconds_total", "counter", time.process_time(), "User and system CPU time."),
    ):
        if value is not None:
            yield from _head(name, kind, text)
            yield f"{name} {_number(float(value))}"


def resident_bytes() -> int | None:
    """Resident memory of this process in bytes, None where the system does not tell."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        return None
    for line in status.splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return None


def _number(value: float) -> str:
    """Write a number as Prometheus' client does: ``1.5e+06`` from a million up."""
    text = repr(value)
    digits, _, fraction = text.partition(".")
    if "e" in text or len(digits) <= 6:
        return text
    mantissa = f"{digits[0]}.{digits[1:]}{fraction}".rstrip("0").rstrip(".")
    return f"{mantissa}e+{len(digits) - 1:02d}"


def _escaped(label: str) -> str:
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
