"""One stage of a run: its engines turn by turn, each repetition from its folder to its rows."""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path

from gauntlet.core.clock import utc_now
from gauntlet.core.errors import InfrastructureError
from gauntlet.core.files import write_atomic
from gauntlet.core.ids import digest
from gauntlet.harness.bench.calibrations import Calibrated, Calibrations
from gauntlet.harness.bench.engines import engine_of
from gauntlet.harness.bench.folder import RunFolder
from gauntlet.harness.bench.report import RepetitionReport, report_of
from gauntlet.harness.bench.request import BenchRequest
from gauntlet.harness.bench.servers import Servers
from gauntlet.harness.bench.steps import Stage, Step
from gauntlet.harness.bench.telemetry import Watched
from gauntlet.harness.context import Measured, Measurement
from gauntlet.harness.engines.errors import EngineDeath, EngineError
from gauntlet.harness.engines.packages import engine_packages
from gauntlet.harness.engines.running import RunningEngine
from gauntlet.harness.load.client import LoadError
from gauntlet.harness.load.event_reader import compress_log
from gauntlet.harness.load.metrics import Goodput, Metric
from gauntlet.harness.load.plan import REQUESTS
from gauntlet.harness.load.results import Outcome
from gauntlet.harness.measure_eval import measure_eval
from gauntlet.harness.measure_load import (
    DEFAULT_JUDGED,
    Conditions,
    Loaded,
    hit_share,
    load_rows,
    plan_load,
    run_repetition,
)
from gauntlet.harness.schedule import Side, Slot
from gauntlet.harness.telemetry.gpu.accelerator import Accelerator
from gauntlet.harness.telemetry.gpu.choose import accelerators
from gauntlet.perf_eval.facts import dies_per_device
from gauntlet.perf_eval.parallelism import gpus_needed
from gauntlet.perf_eval.recipe import Recipe
from gauntlet.perf_eval.workloads import Workload
from gauntlet.warehouse.batch import Batch
from gauntlet.warehouse.rows.measurement import MetricRow, RepetitionRow

_DEATH_SETTLES_S = 1.0
IDENTITY = "identity.json"


class RunDeadlineError(InfrastructureError):
    """The recipe's ``timeout_minutes`` are over."""


@dataclass(frozen=True)
class StageContext:
    """What the stages of one run share.

    ``history`` gives earlier scores of a series. ``deadline_s`` is when the run is given up, on
    the monotonic clock.
    """

    request: BenchRequest
    recipe: Recipe
    run_id: str
    folder: RunFolder
    keep: Callable[[Batch], object]
    say: Callable[[str], object]
    history: Callable[[str], Sequence[float]]
    deadline_s: float
    # Cache hits of texts when they were new to their engine, by engine and point.
    first_hits: dict[tuple[str, ...], float] = field(default_factory=dict)

    def check_deadline(self) -> None:
        """Raise RunDeadlineError once the run has taken longer than its recipe allows."""
        if time.monotonic() > self.deadline_s:
            minutes = self.recipe.timeout_minutes
            msg = f"the run took longer than the recipe's timeout_minutes, {minutes:g}"
            raise RunDeadlineError(msg, hint="--resume measures what is missing")

    @cached_property
    def calibrations(self) -> Calibrations:
        """Calibrations of the client, each shape of load once a run."""
        return Calibrations(
            self.folder.path / "calibration", workers=self.request.workers, say=self.say
        )

    @cached_property
    def accelerators(self) -> tuple[Accelerator, ...]:
        """Accelerators of this host."""
        return accelerators()


def run_stage(context: StageContext, stage: Stage) -> Iterator[RepetitionReport]:
    """Make every repetition of a stage that is not there yet, and report each.

    Raises InfrastructureError where nothing can be written.
    """
    with make_servers(context, stage) as servers:
        for number, turn in enumerate(stage.turns):
            todo = []
            for step in turn.steps:
                done = context.folder.done(step.key)
                if done is None:
                    todo.append(step)
                else:
                    yield RepetitionReport(**{**done, "resumed": True})
            if not todo:
                continue
            reset = _prepare(context, servers, stage, turn.slot, first=number == 0)
            for step in todo:
                yield _run_step(context, servers, step, reset)


def make_servers(context: StageContext, stage: Stage) -> Servers:
    """The engines of a stage, not started yet."""
    workdir = context.folder.path / "engines" / (stage.variant.replace("/", "-") or "all")
    workdir.mkdir(parents=True, exist_ok=True)

    def make(side: Side) -> RunningEngine:
        return engine_of(
            stage.sides[side],
            side,
            context.request.engines,
            workdir=workdir,
            # Seeds of simulators differ by side: two builds share no noise.
            seed=2 * context.request.seed + (side == "candidate"),
            evals=context.recipe.evals,
        )

    return Servers(make)


def _prepare(
    context: StageContext, servers: Servers, stage: Stage, slot: Slot, *, first: bool
) -> str:
    """Bring the prefix cache into the state that the recipe asks for; say what was done."""
    how = context.recipe.between_repetitions
    if how == "restart":
        for side in stage.sides:
            servers.stop(side)
        return "restart"
    try:
        if first:
            for side in stage.sides:
                servers.launch(side)
        if how == "reset_cache":
            return "reset" if servers.ready(slot.side).reset_prefix_cache() else "not-confirmed"
    except EngineError:
        # Told by the step that needs the engine next.
        return "failed"
    return how


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """One repetition of a search: its report, and the requests that a probe is judged by."""

    report: RepetitionReport
    outcomes: Sequence[Outcome]


def run_probe(context: StageContext, servers: Servers, step: Step) -> Probe:
    """Make one repetition of a load for a search. Raises EngineError where the engine is lost."""
    folder = context.folder.begin(step.key)
    engine = servers.ready(step.slot.side)
    measurement = _measurement(context, step, engine, folder, "new_seed")
    loaded: list[Loaded] = []
    measured = _measure(context, measurement, step, folder, loaded.append)
    engine.ensure_alive(f"during {step.key}", settle_s=0.0)
    _tidy(folder)
    return Probe(report=_record(context, folder, measured), outcomes=loaded[0].outcomes)


def _run_step(context: StageContext, servers: Servers, step: Step, reset: str) -> RepetitionReport:
    """Make one repetition, whatever becomes of it.

    Raises RunDeadlineError where the run has no time left for it: it stays to be done.
    """
    context.check_deadline()
    folder = context.folder.begin(step.key)
    context.say(step.key)
    started_at = utc_now()
    side = step.slot.side
    try:
        engine = servers.ready(side)
        measurement = _measurement(context, step, engine, folder, reset)
        measured = _measure(context, measurement, step, folder)
        settle_s = 0.0 if measured.repetition.status == "valid" else _DEATH_SETTLES_S
        engine.ensure_alive(f"during {step.key}", settle_s=settle_s)
    except EngineError as error:
        measurement = _measurement(context, step, servers.describe(side), folder, reset)
        servers.failed(side, error)
        measured = _failed(measurement, step, _class_of(error), error.message, started_at)
    except (LoadError, RunDeadlineError) as error:
        kind = "client" if isinstance(error, LoadError) else "timeout"
        measurement = _measurement(context, step, servers.describe(side), folder, reset)
        measured = _failed(measurement, step, kind, error.message, started_at)
    _tidy(folder)
    return _record(context, folder, measured)


def _record(context: StageContext, folder: Path, measured: Measured) -> RepetitionReport:
    """Keep the rows, then close the record: what is closed is surely kept."""
    repetition = measured.repetition
    context.keep(
        Batch.of(
            repetition.repetition_id,
            (*measured.rows, repetition),
            created_at=repetition.ended_at,
        )
    )
    report = report_of(repetition, measured.rows, context.recipe.objectives)
    context.folder.close(folder, report.as_data())
    return report


def _measurement(
    context: StageContext, step: Step, engine: RunningEngine, folder: Path, reset: str
) -> Measurement:
    found = context.accelerators
    hardware = context.recipe.hardware
    packages = engine_packages(engine.spec, context.request.engines.lock)
    return Measurement(
        run_id=context.run_id,
        recipe=context.recipe.name,
        engine=engine,
        slot=step.slot,
        seed=context.request.seed,
        workdir=folder,
        point=step.point,
        accelerator=found[0].name if found else hardware.accelerator if hardware else None,
        driver=found[0].driver_version if found else None,
        settings={"between_repetitions": reset, **packages.told, **_told_by(engine, folder)},
        drift=packages.drift,
        configuration=configuration_of(context.recipe, step.variant),
        artifact=str(folder),
        build_id=context.request.build_id,
    )


def configuration_of(recipe: Recipe, variant: str) -> dict[str, object]:
    """How engines are set up apart from which build they are; the same for both sides.

    What a comparison changes on purpose is left out, or no two sides could be compared.
    """
    builds = {"version", "commit", "image"}
    engine = recipe.engine.model_dump(mode="json", exclude=builds) if recipe.engine else {}
    topology = recipe.topology.model_dump(mode="json") if recipe.topology else {}
    return {"engine": engine, "topology": topology, "variant": variant}


# Of what a server says of itself: enough to see in a row why its cache or its limits differ.
_TOLD = ("block_size", "enable_prefix_caching", "num_gpu_blocks", "cache_dtype")


def _told_by(engine: RunningEngine, folder: Path) -> dict[str, str]:
    """What a running engine says of its own settings: all of it to a file, the gist for the row."""
    try:
        identity = engine.identity
    except EngineError:
        return {}
    write_atomic(folder / IDENTITY, json.dumps(asdict(identity), indent=1))
    cache = identity.cache_config
    told = {f"cache.{key}": cache[key] for key in _TOLD if key in cache}
    if identity.arguments:
        told["engine.arguments_digest"] = digest(dict(identity.arguments))[:16]
    if identity.max_model_len is not None:
        told["engine.max_model_len"] = str(identity.max_model_len)
    return told


def _measure(
    context: StageContext,
    measurement: Measurement,
    step: Step,
    folder: Path,
    take: Callable[[Loaded], object] = lambda _loaded: None,
) -> Measured:
    engine = measurement.engine
    with Watched(engine, folder, extra=context.recipe.server_metrics) as watched:
        if isinstance(step.task, Workload):
            measured = _measure_load(context, measurement, step.task, folder, watched, take)
        else:
            series = measurement.key(step.name)["series_id"]
            scores = context.history(series)
            with _death_noted(engine) as check:
                measured = measure_eval(measurement, step.task, history=scores)
                check()
    summary = watched.summary()
    rows = (
        *_telemetry_metrics(measurement, step.name, summary.numbers()),
        *watched.rows(context.run_id, measured.repetition.repetition_id),
    )
    troubles = {
        f"telemetry.{name}": f"{trouble.count} x {trouble.first_error}"[:300]
        for name, trouble in watched.troubles.items()
    }
    repetition = measured.repetition
    if troubles:
        settings = {**repetition.settings, **troubles}
        repetition = repetition.model_copy(update={"settings": settings})
    return replace(measured, repetition=repetition, rows=(*measured.rows, *rows))


def _measure_load(
    context: StageContext,
    measurement: Measurement,
    workload: Workload,
    folder: Path,
    watched: Watched,
    take: Callable[[Loaded], object],
) -> Measured:
    schedule = plan_load(measurement, workload).schedule
    wanted = workload.calibration if context.request.calibration else "off"
    calibrated = context.calibrations.of(schedule, wanted)
    with _death_noted(measurement.engine) as check_alive:

        def watch() -> None:
            check_alive()
            context.check_deadline()

        seen = (measurement.point, measurement.slot.side, workload.name)
        conditions = Conditions(
            folder=folder,
            warm_up=True,
            calibration=calibrated.calibration,
            judged=judged_of(context.recipe, workload.name),
            goodput=goodput_of(workload),
            workers=context.request.workers,
            watch=watch,
            server_hit_share=watched.hit_share,
            expected_hits=context.first_hits.get(seen),
            proxy=context.request.engines.proxy,
        )
        loaded = run_repetition(measurement, workload, conditions)
    hits = hit_share(loaded.metrics, conditions)
    if hits is not None:
        context.first_hits.setdefault(seen, hits)
    loaded = replace(loaded, metrics=[*loaded.metrics, *normalised(context.recipe, loaded.metrics)])
    take(loaded)
    measured = load_rows(measurement, workload, loaded)
    repetition = _with_calibration(measured.repetition, calibrated)
    return replace(measured, repetition=_with_reset(repetition))


def normalised(recipe: Recipe, metrics: Sequence[Metric]) -> list[Metric]:
    """Throughput per GPU or per die, where the recipe asks for it; latencies stay as they are."""
    hardware = recipe.hardware
    if recipe.normalise == "none" or hardware is None:
        return []
    devices = gpus_needed(recipe.engine, recipe.topology, hardware) or hardware.count
    parts = devices * (dies_per_device(hardware) or 1 if recipe.normalise == "die" else 1)
    return [
        replace(
            metric,
            name=f"{metric.name}_per_{recipe.normalise}",
            value=None if metric.value is None else metric.value / parts,
        )
        for metric in metrics
        if metric.name.endswith("_tokens_per_s")
    ]


def judged_of(recipe: Recipe, workload: str) -> Sequence[tuple[str, str]]:
    """The (metric, statistic) pairs that decide something about a workload."""
    pairs: list[tuple[str, str]] = [
        (o.metric, o.statistic) for o in recipe.judge.load if o.workload == workload
    ]
    pairs += [(o.metric, o.statistic) for o in recipe.objectives if o.workload == workload]
    return tuple(dict.fromkeys(pairs)) or DEFAULT_JUDGED


def _with_calibration(repetition: RepetitionRow, calibrated: Calibrated) -> RepetitionRow:
    settings = dict(repetition.settings)
    update: dict[str, object] = {"settings": settings}
    if calibrated.calibration is None:
        settings["calibration"] = calibrated.missing
        if calibrated.blocking and repetition.status == "valid":
            reason = f"client not calibrated: {calibrated.missing}"
            update |= {"status": "invalid", "reasons": (*repetition.reasons, reason)}
        return repetition.model_copy(update=update)
    for reading in calibrated.calibration.readings:
        name = f"calibration.{reading.metric}.{reading.statistic}"
        settings[name] = f"{reading.error_percent:+.2f} %"
    return repetition.model_copy(update=update)


def _with_reset(repetition: RepetitionRow) -> RepetitionRow:
    """A cache that was to be empty and perhaps was not makes a repetition invalid."""
    how = repetition.settings["between_repetitions"]
    if how != "not-confirmed" or repetition.status != "valid":
        return repetition
    reason = "warm-cache: the server did not confirm that its prefix cache was reset"
    reasons = (*repetition.reasons, reason)
    return repetition.model_copy(update={"status": "invalid", "reasons": reasons})


def goodput_of(workload: Workload) -> Goodput | None:
    """The limits that a request has to keep, None where the workload has none."""
    limits = workload.goodput
    if limits is None:
        return None
    return Goodput(ttft_ms=limits.ttft_ms, tpot_ms=limits.tpot_ms, e2e_ms=limits.e2e_ms)


@contextmanager
def _death_noted(engine: RunningEngine) -> Iterator[Callable[[], None]]:
    """Give a function that raises, in the thread that calls it, what the watcher found out."""
    deaths: list[EngineDeath] = []

    def check() -> None:
        if deaths:
            raise deaths[0]

    with engine.on_death(deaths.append):
        yield check


def _class_of(error: EngineError) -> str:
    return error.failure.failure if isinstance(error, EngineDeath) else "not-ready"


def _failed(
    measurement: Measurement, step: Step, kind: str, message: str, started_at: datetime
) -> Measured:
    """The row of a repetition that measured nothing."""
    repetition = measurement.row(
        step.task,
        status="failed",
        reasons=(f"{kind}: {message}"[:2000],),
        client="gauntlet",
        dataset_digest="unknown",
        started_at=started_at,
        ended_at=utc_now(),
        completed=0,
        failed=0,
    )
    return Measured(repetition=repetition, rows=())


def _telemetry_metrics(
    measurement: Measurement, workload: str, numbers: dict[str, float]
) -> tuple[MetricRow, ...]:
    return tuple(
        MetricRow(
            **measurement.key(workload),
            workload=workload,
            metric=f"server.{name}",
            statistic="total",
            value=value,
            unit=_unit_of(name),
            direction="lower",
            n=1,
        )
        for name, value in numbers.items()
    )


def _unit_of(name: str) -> str:
    suffixes = ("mib_per_hour", "mib", "pct", "mhz", "w", "c", "s", "rate", "share")
    return next((suffix for suffix in suffixes if name.endswith(f"_{suffix}")), "count")


def _tidy(folder: Path) -> None:
    """Compress the raw log; what can be made again from the seed goes."""
    (folder / REQUESTS).unlink(missing_ok=True)
    workers = len(list(folder.glob("events-*.bin")))
    compress_log(folder, workers)
    for leftover in (*folder.glob("ready-*"), *folder.glob("go")):
        leftover.unlink()
