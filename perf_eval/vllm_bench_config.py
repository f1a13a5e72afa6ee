"""From one bench configuration of vLLM's perf-eval to a workload and its sweep."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import JsonValue

from gauntlet.core.errors import ConfigError
from gauntlet.core.yaml_file import KeyPath, YamlDocument
from gauntlet.perf_eval.vllm_schema import BenchConfig

Report = Callable[[KeyPath, str], None]
_ENDPOINTS = {"openai": "completions", "vllm": "completions", "openai-chat": "chat"}
_SAMPLING = ("temperature", "top-p", "top-k", "min-p", "frequency-penalty", "presence-penalty")
_OWNED = (
    *("backend", "base-url", "host", "port", "model", "dataset-name", "num-prompts"),
    *("max-concurrency", "trust-remote-code", "random-input-len", "random-output-len"),
    *("ignore-eos", "dataset-path", "speed-bench-output-len", "speed-bench-dataset-subset"),
    *("speed-bench-category", "skip-tokenizer-init", "save-result", "result-filename"),
)
_GOODPUT = {"ttft": "ttft_ms", "tpot": "tpot_ms", "e2el": "e2e_ms"}


@dataclass(slots=True, kw_only=True)
class Load:
    """A workload as plain data, and the part of the sweep that belongs to it."""

    workload: dict[str, Any]
    sweep: dict[str, Any] | None = None


@dataclass(slots=True, kw_only=True)
class _Args:
    """The ``args`` of a configuration, taken out one by one; what is left is reported."""

    values: dict[str, JsonValue] = field(default_factory=dict)

    def take(self, name: str) -> JsonValue:
        return self.values.pop(name, None)


def translate_config(
    config: BenchConfig, name: str, path: KeyPath, document: YamlDocument, report: Report
) -> Load | None:
    """Make a workload; None, with a report, where the load cannot be expressed.

    Raises ConfigError where lists do not fit together or a number is none.
    """
    for key in config.unknown:
        report((*path, key), "unknown key, not translated")
    endpoint = _ENDPOINTS.get(config.backend or "openai")
    if endpoint is None:
        report((*path, "backend"), f"backend {config.backend} is not translated: load left out")
        return None
    if config.dataset != "random":
        report((*path, "dataset"), f"dataset {config.dataset} is not translated: load left out")
        return None
    for key in ("speed_bench_dataset_subset", "speed_bench_category"):
        if getattr(config, key) is not None:
            report((*path, key), "has no effect with dataset random, not translated")
    args = _Args(values=dict(_normalised(config.args or {}, path, report)))
    concurrency, requests, sweep = _points(config, name, path, document)
    workload: dict[str, Any] = {
        "name": name,
        "arrivals": _arrivals(args, concurrency, path, document),
        "prompts": _prompts(config, args),
        "requests": requests,
    }
    if endpoint != "completions":
        workload["endpoint"] = endpoint
    workload |= _extras(args, (*path, "args"), report)
    if sweep and "concurrency" not in workload["arrivals"]:
        old, new = "concurrency", "max_concurrency"
        sweep = {"zip": {key.replace(f".{old}", f".{new}"): v for key, v in sweep["zip"].items()}}
    for left in args.values:
        report((*path, "args", left), f"--{left} is not translated")
    return Load(workload=workload, sweep=sweep)


def _normalised(
    args: Mapping[str, JsonValue], path: KeyPath, report: Report
) -> Iterator[tuple[str, JsonValue]]:
    for key, value in args.items():
        name = key.lstrip("-").replace("_", "-")
        if name in _OWNED:
            report((*path, "args", key), f"--{name} belongs to the wrapper, not translated")
        elif value is not None and value is not False:
            yield name, value


def _points(
    config: BenchConfig, name: str, path: KeyPath, document: YamlDocument
) -> tuple[int, int, dict[str, Any] | None]:
    streams, prompts = config.max_concurrency, config.num_prompts
    if isinstance(streams, int):
        if isinstance(prompts, list):
            message = "a list needs a list of max_concurrency beside it"
            raise ConfigError([document.problem((*path, "num_prompts"), message)])
        return streams, prompts, None
    columns: dict[str, Any] = {f"workloads.{name}.arrivals.concurrency": streams}
    if isinstance(prompts, list):
        if len(prompts) != len(streams) or not streams:
            message = f"{len(prompts)} values beside {len(streams)} of max_concurrency"
            raise ConfigError([document.problem((*path, "num_prompts"), message)])
        columns[f"workloads.{name}.requests"] = prompts
        prompts = prompts[0]
    if not streams:
        raise ConfigError([document.problem((*path, "max_concurrency"), "an empty list")])
    return streams[0], prompts, {"zip": columns}


def _arrivals(
    args: _Args, concurrency: int, path: KeyPath, document: YamlDocument
) -> dict[str, Any]:
    rate, burstiness = args.take("request-rate"), args.take("burstiness")
    if rate is None or rate == "inf":
        return {"kind": "closed", "concurrency": concurrency}
    open_loop = {"rate": _number(rate, (*path, "args"), document), "max_concurrency": concurrency}
    if burstiness is None or burstiness == 1:
        return {"kind": "poisson", **open_loop}
    shape = _number(burstiness, (*path, "args"), document)
    return {"kind": "gamma", "burstiness": shape, **open_loop}


def _number(value: JsonValue, path: KeyPath, document: YamlDocument) -> float:
    if isinstance(value, int | float):
        return value
    try:
        return float(str(value))
    except ValueError as error:
        raise ConfigError([document.problem(path, f"{value!r} is no number")]) from error


def _prompts(config: BenchConfig, args: _Args) -> dict[str, Any]:
    lengths: dict[str, Any] = {
        "prompt_tokens": config.input_len,
        "output_tokens": config.output_len,
    }
    ratio = args.take("random-range-ratio")
    if ratio:
        lengths = {key: {"mean": mean, "range_ratio": ratio} for key, mean in lengths.items()}
    return {"kind": "random", **lengths}


def _extras(args: _Args, path: KeyPath, report: Report) -> dict[str, Any]:
    """Warm-up, sampling parameters and goodput limits, as keys of the workload."""
    extras: dict[str, Any] = {}
    warmups = args.take("num-warmups")
    if warmups:
        extras["warmup_requests"] = warmups
    body = {name.replace("-", "_"): args.take(name) for name in _SAMPLING if name in args.values}
    body |= _extra_body(args, path, report)
    if body:
        extras["body"] = body
    limits = _goodput(args, path, report)
    if limits:
        extras["goodput"] = limits
    return extras


def _extra_body(args: _Args, path: KeyPath, report: Report) -> dict[str, JsonValue]:
    given = args.values.get("extra-body")
    if not isinstance(given, dict):
        return {}
    args.take("extra-body")
    for key, value in given.items():
        if isinstance(value, dict | list):
            report((*path, "extra-body"), f"{key} is no single value, not translated")
    return {key: value for key, value in given.items() if not isinstance(value, dict | list)}


def _goodput(args: _Args, path: KeyPath, report: Report) -> dict[str, float]:
    given = args.take("goodput")
    limits: dict[str, float] = {}
    items = given if isinstance(given, list) else [given] if given else []
    for item in items:
        metric, _, limit = str(item).partition(":")
        if metric in _GOODPUT and limit.replace(".", "", 1).isdigit():
            limits[_GOODPUT[metric]] = float(limit)
        else:
            report((*path, "goodput"), f"{item!r} is not translated")
    return limits
