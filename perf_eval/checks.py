"""Examine a recipe as a whole: every mistake, every doubt, and the numbers behind both."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from gauntlet.core.errors import ConfigError, Problem
from gauntlet.core.yaml_file import KeyPath, YamlDocument, validate_model
from gauntlet.perf_eval.definition import Recipe
from gauntlet.perf_eval.expand import Expansion, Variant, expand, request_count
from gauntlet.perf_eval.overrides import override
from gauntlet.perf_eval.parallelism import Check, check_parallelism
from gauntlet.perf_eval.workloads import Workload

# Their text is the same in every repetition, whatever the seed.
_FIXED_TEXT = ("sharegpt", "jsonl", "questions")
_FEWEST_FOR_P99 = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """A recipe that can be run, what was checked in it, and what is doubtful."""

    expansion: Expansion
    checks: tuple[tuple[Variant, Check], ...]
    warnings: tuple[Problem, ...]

    @property
    def recipe(self) -> Recipe:
        """The recipe with its settings applied."""
        return self.expansion.recipe


def examine(
    document: YamlDocument,
    settings: Mapping[str, JsonValue] | None = None,
    *,
    reference: str | None = None,
    said: Sequence[str] = (),
) -> Examined:
    """Validate a document, apply ``settings``, expand it and check how models are divided.

    ``said`` are the settings as they were typed, for the commands. Raises ConfigError with every
    problem found.
    """
    recipe = override(validate_model(document, Recipe), settings or {})
    expansion = expand(recipe, reference=reference, settings=said, document=document)
    checks = tuple(
        (variant, check)
        for variant in expansion.variants
        for check in check_parallelism(variant.engine, variant.topology, variant.hardware)
    )
    errors = _told(document, checks, "error")
    if errors:
        raise ConfigError(errors)
    doubts = [
        *(document.problem(path, text) for path, text in _doubts(expansion)),
        *_told(document, checks, "warning"),
    ]
    return Examined(expansion=expansion, checks=checks, warnings=tuple(dict.fromkeys(doubts)))


def _told(
    document: YamlDocument, checks: Sequence[tuple[Variant, Check]], outcome: str
) -> list[Problem]:
    problems: list[Problem] = []
    for variant, check in checks:
        if check.outcome == outcome:
            which = f" (with {variant.label})" if variant.label else ""
            problem = document.problem(check.path, f"{check.text}{which}")
            problems += [problem] if problem not in problems else []
    return problems


def _doubts(expansion: Expansion) -> Iterator[tuple[KeyPath, str]]:
    recipe = expansion.recipe
    for variant in expansion.variants:
        engine = variant.engine
        if engine is not None and engine.why_not_pinned:
            yield ("engine",), f"not pinned: {engine.why_not_pinned}"
        if engine is not None and engine.kind == "vllm" and engine.precision is None:
            text = "precision is not declared: results will carry none, it is never guessed"
            yield ("engine",), text
    yield from _idle_devices(expansion)
    yield from _drafts_on_random_tokens(expansion)
    yield from _thin_tails(recipe)
    yield from _replayed_text(recipe)


def _idle_devices(expansion: Expansion) -> Iterator[tuple[KeyPath, str]]:
    """Devices that no variant uses; in a sweep over sizes some idle in some variants."""
    hardware = expansion.recipe.hardware
    if hardware is not None and 0 < expansion.gpus < hardware.count:
        idle = hardware.count - expansion.gpus
        yield ("hardware", "count"), f"{idle} of {hardware.count} devices are never used"


def _deciding(recipe: Recipe) -> Iterator[tuple[KeyPath, str, str]]:
    """Where, workload and statistic of everything that decides about a load."""
    for index, objective in enumerate(recipe.judge.load):
        if objective.blocking:
            yield ("judge", "load", index), objective.workload, objective.statistic
    for index, limit in enumerate(recipe.objectives):
        yield ("objectives", index), limit.workload, limit.statistic


def _drafts_on_random_tokens(expansion: Expansion) -> Iterator[tuple[KeyPath, str]]:
    words = [variant.engine for variant in expansion.variants if variant.engine]
    if not any(engine.speculates for engine in words):
        return
    loads = {workload.name: workload for workload in expansion.recipe.workloads}
    for place, name, _ in _deciding(expansion.recipe):
        if loads[name].prompts.kind in ("random", "shared_prefix", "trace"):
            text = f"speculative decoding is judged on {name}: no draft foresees random tokens"
            yield place, f"{text}, judge a workload of text, or set blocking: false"


def _thin_tails(recipe: Recipe) -> Iterator[tuple[KeyPath, str]]:
    loads = {workload.name: workload for workload in recipe.workloads}
    for place, name, statistic in _deciding(recipe):
        count = request_count(loads[name])
        if statistic == "p99" and count is not None and count < _FEWEST_FOR_P99:
            text = f"p99 of {name} decides, but rests on less than one of its {count} requests"
            yield place, f"{text}: give it {_FEWEST_FOR_P99} or take another statistic"


def _replayed_text(recipe: Recipe) -> Iterator[tuple[KeyPath, str]]:
    again = recipe.repetitions > 1 or recipe.comparison is not None
    if not again or recipe.between_repetitions != "new_seed":
        return
    for index, workload in enumerate(recipe.workloads):
        if _is_fixed(workload):
            text = f"{workload.prompts.kind} prompts stay the same whatever the seed, so they are"
            text += " found cached: set between_repetitions to reset_cache or restart"
            yield ("workloads", index), text


def _is_fixed(workload: Workload) -> bool:
    return workload.prompts.kind in _FIXED_TEXT
