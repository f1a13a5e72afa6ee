"""Read a workload file of vLLM's perf-eval and write it as a recipe.

Every key that has no counterpart is reported; nothing is left out without a word.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import JsonValue

from gauntlet.core.errors import ConfigError, Problem
from gauntlet.core.yaml_file import KeyPath, YamlDocument, dump_yaml, parse_yaml, validate_model
from gauntlet.perf_eval.arguments import canonical, find_flag, set_flag
from gauntlet.perf_eval.checks import examine
from gauntlet.perf_eval.engine import NIGHTLY
from gauntlet.perf_eval.overrides import COMMAND_LINE, PathError, set_value
from gauntlet.perf_eval.parallelism import EXPERT_FLAG, FLAGS
from gauntlet.perf_eval.vllm_bench_config import translate_config
from gauntlet.perf_eval.vllm_schema import Loose, VllmWorkload

_ALTERNATIVES = {"--tp": FLAGS["tp"], "--dp": FLAGS["dp"], "--pp": FLAGS["pp"]}
_NAMED = {
    "--served-model-name": "served_name",
    "--revision": "revision",
    "--tokenizer": "tokenizer",
}
_CHOSEN_HERE = ("--host", "--port", "--uds", "--model")
# What lm-eval's model arguments are called in a recipe.
_MODEL_ARGS = {"num_concurrent": "concurrency", "timeout": "timeout_s"}
_SET_BY_THE_HARNESS = ("base_url", "max_retries", "model", "seed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """A recipe as YAML text, and what of the file it does not hold."""

    text: str
    warnings: tuple[Problem, ...]


@dataclass(slots=True, kw_only=True)
class _Import:
    """One file on its way: its document, its data, the names given and what was reported."""

    document: YamlDocument
    source: VllmWorkload
    names: set[str] = field(default_factory=set)
    warnings: list[Problem] = field(default_factory=list)

    def report(self, path: KeyPath, message: str) -> None:
        self.warnings.append(self.document.problem(path, message))

    def unknown(self, part: Loose | None, path: KeyPath) -> None:
        for key in part.unknown if part else ():
            self.report((*path, key), "unknown key, not translated")

    def name(self, text: str, path: KeyPath) -> str:
        """A name of ours for a load or an eval, told where it differs; no two are equal."""
        plain = _slug(text)
        name, number = plain, 1
        while name in self.names:
            number += 1
            name = f"{plain}-{number}"
        if name != text:
            self.report(path, f"the name {text!r} becomes {name!r}")
        self.names.add(name)
        return name


def import_workload(
    document: YamlDocument,
    *,
    stem: str,
    owner: str,
    settings: Mapping[str, JsonValue] | None = None,
) -> Imported:
    """Translate one file; ``stem`` names the recipe where the file does not.

    ``settings`` (path to value) are applied to what is written.

    Raises ConfigError for a file that is none of perf-eval's, or from which no valid recipe comes.
    """
    source = validate_model(document, VllmWorkload)
    name = _slug(source.name or stem)
    work = _Import(document=document, source=source)
    work.unknown(source, ())
    if source.name not in (None, name):
        work.report(("name",), f"the name {source.name!r} becomes {name!r}")
    work.unknown(source.vllm, ("vllm",))
    loads, sweep, repetitions = _loads(work)
    evals = _evals(work)
    if not loads and not evals:
        raise ConfigError([document.problem((), "nothing in it can be translated")])
    engine, topology, count = _server(work)
    recipe: dict[str, Any] = {
        "name": name,
        "description": f"Imported from the perf-eval workload {document.file.rsplit('/', 1)[-1]}.",
        "owner": owner,
        "nightly": source.nightly,
        "timeout_minutes": source.timeout_in_minutes,
        "engine": engine,
        **({"topology": {"parallel": topology}} if topology else {}),
        "hardware": {"accelerator": source.gpu, "count": count},
        **({"workloads": loads} if loads else {}),
        **({"sweep": sweep} if sweep else {}),
        **({"evals": evals} if evals else {}),
        "repetitions": repetitions,
        "between_repetitions": "new_seed",
    }
    _apply(recipe, settings or {})
    text = dump_yaml(recipe)
    # What is written must be readable, whatever the file asked for.
    examine(parse_yaml(text, file=f"recipe from {document.file}"))
    return Imported(text=text, warnings=tuple(dict.fromkeys(work.warnings)))


def _apply(recipe: dict[str, Any], settings: Mapping[str, JsonValue]) -> None:
    """Set values in what is about to be written; validation follows."""
    for path, value in settings.items():
        try:
            set_value(recipe, path, value)
        except PathError as error:
            problem = COMMAND_LINE.problem(path, error.message, allowed=error.known)
            raise ConfigError([problem]) from error


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9_-]+", "-", text.lower()).strip("-_") or "unnamed"


def _loads(work: _Import) -> tuple[list[dict[str, Any]], list[dict[str, Any]], int]:
    bench = work.source.vllm_bench
    work.unknown(bench, ("vllm_bench",))
    loads, sweep, repetitions = [], [], set()
    for index, config in enumerate(bench.configs if bench else ()):
        path: KeyPath = ("vllm_bench", "configs", index)
        name = work.name(config.name, (*path, "name"))
        load = translate_config(config, name, path, work.document, work.report)
        if load is not None:
            loads.append(load.workload)
            sweep += [load.sweep] if load.sweep else []
            repetitions.add(config.repetitions)
    most = max(repetitions, default=1)
    if len(repetitions) > 1:
        counts = ", ".join(str(count) for count in sorted(repetitions))
        work.report(("vllm_bench", "configs"), f"repetitions differ ({counts}): all get {most}")
    return loads, sweep, most


def _evals(work: _Import) -> list[dict[str, Any]]:
    source = work.source
    if source.bench_only:
        if source.lm_eval or source.bfcl:
            work.report(("bench_only",), "its accuracy tasks are not run upstream, and left out")
        return []
    return [*_lm_eval(work), *_bfcl(work)]


def _lm_eval(work: _Import) -> list[dict[str, Any]]:
    block = work.source.lm_eval
    work.unknown(block, ("lm_eval",))
    tasks = []
    for index, task in enumerate(block.tasks if block else ()):
        path: KeyPath = ("lm_eval", "tasks", index)
        work.unknown(task, path)
        general = (block.model_args if block else None) or {}
        own = task.model_args or {}
        found: dict[str, Any] = {
            "name": work.name(task.name, (*path, "name")),
            "kind": "lm_eval",
            "task": task.name,
            "fewshot": task.num_fewshot,
        }
        for key, value in {**general, **own}.items():
            where: KeyPath = ("lm_eval", "model_args", key)
            _model_argument(work, found, key, value, (*path, *where[1:]) if key in own else where)
        tasks.append(found)
    return tasks


def _model_argument(
    work: _Import, found: dict[str, Any], key: str, value: JsonValue, path: KeyPath
) -> None:
    """Put one of lm-eval's model arguments where a recipe has it."""
    if value is None or isinstance(value, dict | list):
        work.report(path, f"lm-eval's argument {key} has no plain value, not translated")
    elif key in _MODEL_ARGS:
        found[_MODEL_ARGS[key]] = value
    elif key == "max_gen_toks":
        found["generation"] = {"max_tokens": value}
    elif key in _SET_BY_THE_HARNESS:
        work.report(path, f"lm-eval's argument {key} is set by the harness, not translated")
    else:
        found.setdefault("model_arguments", {})[key] = value


def _bfcl(work: _Import) -> list[dict[str, Any]]:
    block = work.source.bfcl
    if block is None:
        return []
    work.unknown(block, ("bfcl",))
    found: dict[str, Any] = {
        "name": work.name("bfcl", ("bfcl",)),
        "kind": "bfcl",
        "categories": block.test_categories,
        "threads": block.num_threads,
        "temperature": block.temperature,
        "maximum_steps": block.maximum_step_limit or 10,
    }
    if block.max_test_cases is not None:
        found["max_cases"] = block.max_test_cases
    return [found]


def _server(work: _Import) -> tuple[dict[str, Any], dict[str, Any], int]:
    """The engine, how it is divided, and the devices that takes."""
    server = work.source.vllm
    arguments = _words(server.serve_args)
    parallel, arguments = _parallel(work, arguments)
    engine: dict[str, Any] = {"kind": "vllm"}
    engine |= {"image": server.image} if server.image else {"version": NIGHTLY}
    engine["model"] = server.model
    for flag in _CHOSEN_HERE:
        if find_flag(arguments, flag):
            work.report(("vllm", "serve_args"), f"{flag} is chosen here, not translated")
            arguments = set_flag(arguments, flag, None)
    for flag, key in _NAMED.items():
        given = find_flag(arguments, flag)
        if given is not None:
            engine[key] = given.values[0] if given.values else ""
            for alias in given.values[1:]:
                work.report(("vllm", "serve_args"), f"second value of {flag}, {alias}, left out")
            arguments = set_flag(arguments, flag, None)
    _metadata(work, engine, parallel)
    engine["arguments"] = arguments
    if server.env:
        engine["env"] = {key: str(value) for key, value in server.env.items()}
    used = _ranks(parallel)
    if used != work.source.num_gpus:
        text = (
            f"reserves {work.source.num_gpus}, the arguments use {used}: hardware.count is {used}"
        )
        work.report(("num_gpus",), text)
    return engine, parallel, used


def _words(text: str) -> list[str]:
    """Words of ``serve_args``. The shell there keeps quotes as they are, as in unquoted JSON;

    only where a word begins with a quote was quoting meant.
    """
    words = text.split()
    if any(word.startswith(("'", '"')) or "='" in word for word in words):
        return shlex.split(text)
    return words


def _parallel(work: _Import, words: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """Take the sizes out of the arguments; they become ``topology.parallel``."""
    arguments = [_ALTERNATIVES.get(word, word) for word in words]
    parallel: dict[str, Any] = {}
    for key, flag in FLAGS.items():
        given = find_flag(arguments, flag)
        if given is None:
            continue
        size = " ".join(given.values)
        if not size.isdecimal():
            message = f"{flag} {size or '(nothing)'} is no whole number"
            raise ConfigError([work.document.problem(("vllm", "serve_args"), message)])
        parallel[key] = int(size)
        arguments = set_flag(arguments, flag, None)
    if find_flag(arguments, EXPERT_FLAG):
        parallel["ep"] = True
        arguments = set_flag(arguments, canonical(EXPERT_FLAG), None)
    return parallel, arguments


def _ranks(parallel: Mapping[str, Any]) -> int:
    ranks = 1
    for key in ("tp", "pp", "dp", "pcp"):
        ranks *= int(parallel.get(key, 1))
    return ranks


def _metadata(work: _Import, engine: dict[str, Any], parallel: Mapping[str, JsonValue]) -> None:
    bench = work.source.vllm_bench
    metadata = bench.metadata if bench else None
    path: KeyPath = ("vllm_bench", "metadata")
    work.unknown(metadata, path)
    if metadata is None or metadata.precision is None:
        text = "no vllm_bench.metadata.precision: declare engine.precision, it is not guessed"
        work.report(("vllm", "model"), text)
    else:
        engine["precision"] = metadata.precision.lower()
    if metadata is None:
        return
    if metadata.device is not None and metadata.device.lower() != work.source.gpu.lower():
        text = f"device {metadata.device} differs from gpu {work.source.gpu}, not translated"
        work.report((*path, "device"), text)
    ranks = _ranks(parallel)
    if metadata.tp is not None and metadata.tp != ranks:
        work.report((*path, "tp"), f"tp {metadata.tp} differs from the {ranks} ranks of serve_args")
