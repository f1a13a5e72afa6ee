"""One page on a recipe: what is measured, on what, what was checked, what decides, and why so."""

from collections.abc import Iterator

from pydantic import BaseModel

from gauntlet.perf_eval.checks import Examined
from gauntlet.perf_eval.definition import Recipe
from gauntlet.perf_eval.expand import Variant, request_count
from gauntlet.perf_eval.facts import dies_per_device
from gauntlet.perf_eval.render import expansion_table
from gauntlet.perf_eval.workloads import Range, Workload

_BETWEEN = {
    "new_seed": "every repetition has prompts of its own, so none finds those of the last cached",
    "reset_cache": "the prefix cache is emptied, because the prompts are the same each time",
    "restart": "a new process each time: caches, memory and warm-up are part of what varies",
}
_CALIBRATION = {
    "required": "the client's own lag is measured first; above 5 % of the smallest judged latency "
    "the result is invalid, not slow",
    "when_possible": "measured if it can be; the result says whether it was",
    "off": "not measured: a slow client would look like a slow engine",
}


def explain(examined: Examined) -> str:
    """The page as text."""
    recipe = examined.recipe
    parts = [
        ("", _head(recipe)),
        ("What is measured", _measured(recipe)),
        ("On what", _servers(examined)),
        ("What was checked", _checked(examined)),
        ("What decides", _decides(recipe)),
        ("Why so", _reasons(recipe)),
        ("Written out", iter([expansion_table(examined.expansion)])),
    ]
    sections = [[title, *found] if title else list(found) for title, found in parts]
    return "\n\n".join("\n".join(lines) for lines in sections)


def _head(recipe: Recipe) -> Iterator[str]:
    yield f"{recipe.name}: {recipe.description}"
    words = [f"owner {recipe.owner}", *(["nightly"] if recipe.nightly else []), *recipe.tags]
    if recipe.expected_minutes is not None:
        words.append(f"about {recipe.expected_minutes:g} minutes")
    yield ", ".join([*words, f"given up after {recipe.timeout_minutes:g} minutes"])


def _measured(recipe: Recipe) -> Iterator[str]:
    for workload in recipe.workloads:
        yield f"- load {workload.name}: {_load(workload)}"
    for task in recipe.evals:
        yield f"- eval {task.name}: {_described(task, leave_out=('name',))}"
    for index, part in enumerate(recipe.sweep, start=1):
        yield f"- sweep {index}: {part.size} combinations of {', '.join(part.paths)}"
    if recipe.comparison is not None:
        for side in ("baseline", "candidate"):
            paths = getattr(recipe.comparison, side)
            changed = ", ".join(f"{path} {value}" for path, value in paths.items())
            yield f"- {side}: {changed or 'as the recipe says'}"
    for goal in (recipe.search, recipe.soak):
        if goal is not None:
            name = recipe.goal_workload(goal).name
            told = _described(goal, leave_out=("workload",))
            yield f"- {type(goal).__name__.lower()} on {name}: {told}"


def _load(workload: Workload) -> str:
    count = request_count(workload)
    requests = "all requests of its prompts" if count is None else f"{count} requests"
    warm = f" after {workload.warmup_requests} to warm up" if workload.warmup_requests else ""
    sent = f"sent {_described(workload.arrivals)}"
    return f"{requests}{warm}, {sent}; prompts {_described(workload.prompts)}; {workload.endpoint}"


def _described(part: BaseModel, leave_out: tuple[str, ...] = ()) -> str:
    """A part by its kind and every key that is set."""
    told = []
    for name, info in type(part).model_fields.items():
        value = getattr(part, name)
        if name in ("kind", *leave_out) or value is None or value == info.default:
            continue
        told.append(f"{name} {_value(value)}")
    kind = str(getattr(part, "kind", "")).replace("_", " ")
    return " ".join(filter(None, (kind, f"({', '.join(told)})" if told else "")))


def _value(value: object) -> str:
    if isinstance(value, Range):
        return str(value.min) if value.min == value.max else f"{value.min}..{value.max}"
    if isinstance(value, BaseModel):
        return _described(value)
    if isinstance(value, tuple):
        return "[" + ", ".join(_value(each) for each in value) + "]"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _servers(examined: Examined) -> Iterator[str]:
    recipe = examined.recipe
    hardware = recipe.hardware
    if hardware is not None:
        dies = dies_per_device(hardware)
        each = f", {dies} dies each" if dies and dies > 1 else ""
        yield f"- hardware: {hardware.count} x {hardware.accelerator}{each}"
    for variant in examined.expansion.variants:
        yield f"- {_engine(variant)}"


def _engine(variant: Variant) -> str:
    name = " ".join(filter(None, ("server", variant.label, variant.side)))
    engine = variant.engine
    if engine is None:
        return f"{name}: none of its own, it runs against what it is given"
    build = f" {engine.image or engine.commit or engine.version or 'of whatever build'}"
    if engine.kind == "simulator":
        build = f" with {engine.config or 'its default settings'}"
    model = f", {engine.model}" if engine.model else ""
    precision = f" in {engine.precision}" if engine.precision else ""
    devices = f"{variant.gpus} GPUs" if variant.gpus else "no GPU"
    return f"{name}: {engine.kind}{build}{model}{precision}, {devices}"


def _checked(examined: Examined) -> Iterator[str]:
    for variant, check in examined.checks:
        which = f" [{variant.label}]" if variant.label else ""
        yield f"- {check.outcome}: {check.rule}{which}: {check.text}"
    for warning in examined.warnings:
        yield f"- doubt: {warning.message}"
    combinations = len(examined.expansion.variants)
    yield f"- ok: the whole recipe is valid with every combination ({combinations} servers)"


def _decides(recipe: Recipe) -> Iterator[str]:
    for limit in recipe.objectives:
        bound = f"at most {limit.at_most:g}" if limit.at_most else f"at least {limit.at_least:g}"
        yield f"- {limit.statistic} {limit.metric} of {limit.workload}: {bound}"
    for load in recipe.judge.load:
        what = f"{load.statistic} {load.metric} of {load.workload}"
        yield f"- {what}: at most {load.margin_percent:g} % worse{_informs(load.blocking)}"
    for task in recipe.judge.evals:
        what = f"accuracy of {task.task}: at most {task.margin_points:g} points less"
        yield f"- {what}{_informs(task.blocking)}"
    if not (recipe.objectives or recipe.judge.load or recipe.judge.evals):
        yield "- nothing: the figures are kept and compared with their history"


def _informs(blocking: bool) -> str:
    return "" if blocking else " (informs only)"


def _reasons(recipe: Recipe) -> Iterator[str]:
    between = recipe.between_repetitions
    yield f"- between_repetitions {between}: {_BETWEEN[between]}"
    for kind in sorted({workload.calibration for workload in recipe.workloads}):
        yield f"- calibration {kind}: {_CALIBRATION[kind]}"
    if recipe.comparison is not None:
        blocks = recipe.blocks
        yield f"- blocks {blocks.min} to {blocks.max}: A B B A cancels a drift of the host"
    else:
        spread = (
            "no spread can be told from one" if recipe.repetitions == 1 else "they show the spread"
        )
        yield f"- repetitions {recipe.repetitions}: {spread}"
    rate = recipe.judge.false_alarm_rate
    yield f"- false_alarm_rate {rate:g}: shared by all objectives, so that many alarm no more"
    if any(workload.arrivals.kind == "closed" for workload in recipe.workloads):
        yield "- closed loops start staggered: equal requests would else queue in waves"
