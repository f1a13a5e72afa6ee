"""Run a recipe: every stage, turn and step, each repetition on record as soon as it exists."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from gauntlet import __version__
from gauntlet.core.clock import utc_now
from gauntlet.core.errors import ConfigError, ExitCode, GauntletError, Problem, UsageError
from gauntlet.core.ids import digest, new_run_id
from gauntlet.harness.bench.folder import RunFolder, RunRecord
from gauntlet.harness.bench.report import RepetitionReport
from gauntlet.harness.bench.request import BenchRequest, EngineOptions
from gauntlet.harness.bench.search import SearchResult, run_search
from gauntlet.harness.bench.soak import judge_soak
from gauntlet.harness.bench.stage import StageContext, run_stage
from gauntlet.harness.bench.steps import Stage, Step, plan_stages
from gauntlet.harness.load.prompts import plan_requests
from gauntlet.harness.provenance import host_name
from gauntlet.harness.soak import Growth
from gauntlet.locks.lock_file import load_lock
from gauntlet.perf_eval.expand import Expansion, expand
from gauntlet.perf_eval.recipe import Recipe, examine_recipe
from gauntlet.perf_eval.workloads import Workload
from gauntlet.warehouse.batch import Batch
from gauntlet.warehouse.location import spool_folder
from gauntlet.warehouse.rows.measurement import RunRow, RunStatus
from gauntlet.warehouse.shipping import ship
from gauntlet.warehouse.spool import Spool
from gauntlet.warehouse.store import open_store

_SHIP_WAIT_S = 5.0
# Below this much room on the disk a run would break in the middle.
_LEAST_ROOM = 256 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchPlan:
    """All that is decided before anything starts."""

    expansion: Expansion
    stages: tuple[Stage, ...]

    @property
    def recipe(self) -> Recipe:
        """The recipe with its settings applied."""
        return self.expansion.recipe

    @property
    def steps(self) -> tuple[Step, ...]:
        """All repetitions in order."""
        return tuple(step for stage in self.stages for step in stage.steps)


@dataclass(slots=True)
class BenchResult:
    """How a run ended: every repetition, and the errors that were not those of one repetition."""

    run_id: str
    reports: list[RepetitionReport] = field(default_factory=list)
    unshipped: str = ""
    growth: Growth | None = None

    @property
    def exit_code(self) -> ExitCode:
        """5 where a repetition is not valid, 6 where an objective is missed, else 0."""
        if any(report.status != "valid" for report in self.reports):
            return ExitCode.INVALID_MEASUREMENT
        missed = any(report.missed for report in self.reports)
        if missed or (self.growth is not None and self.growth.grows):
            return ExitCode.NOT_QUALIFIED
        return ExitCode.OK


def plan_bench(request: BenchRequest) -> BenchPlan:
    """Plan a run, from the recipe or from the run that is resumed.

    Raises UsageError and ConfigError for whatever is wrong with either.
    """
    if request.resume:
        expansion = _resumed(request)
    else:
        expansion = examine_recipe(request.recipe, request.settings).expansion
    urls = request.engines
    if urls.candidate_url is not None and urls.base_url is None:
        msg = "--candidate-url is one side of a comparison; the other is --base-url"
        raise UsageError(msg)
    if urls.base_url is not None and expansion.recipe.between_repetitions == "restart":
        msg = "between_repetitions: restart needs a server that is started here, not --base-url"
        raise UsageError(msg, hint="--set between_repetitions=new_seed, or reset_cache")
    stages = plan_stages(expansion, point=request.point, two_servers=urls.candidate_url is not None)
    plan = BenchPlan(expansion=expansion, stages=stages)
    _check_data(plan)
    _check_lock(request.engines, expansion.recipe)
    return plan


def _check_lock(engines: EngineOptions, recipe: Recipe) -> None:
    """Refuse a lock that nothing would be held against, or that cannot be read, before a start."""
    if engines.lock is None:
        return
    load_lock(engines.lock)
    runtime = engines.runtime or ("docker" if recipe.engine and recipe.engine.image else "process")
    if engines.base_url is not None or runtime in {"docker", "kubernetes"}:
        what = "a server that runs already" if engines.base_url else f"--runtime {runtime}"
        msg = f"--engine-lock is held against a Python of this machine, and this is {what}"
        raise UsageError(msg, hint="gauntlet images verify --image holds an image against a lock")


def run_bench(
    request: BenchRequest,
    plan: BenchPlan,
    *,
    show: Callable[[RepetitionReport], object],
    say: Callable[[str], object],
) -> BenchResult:
    """Run it. ``show`` gets each repetition, ``say`` a line about what goes on.

    A repetition that fails does not stop the others. Raises InfrastructureError where nothing can
    be written any more; what was measured until then is kept.
    """
    with _begun(request, plan, say) as (context, result):
        for stage in plan.stages:
            for report in run_stage(context, stage):
                result.reports.append(report)
                show(report)
        if plan.recipe.soak is not None and request.point is None:
            result.growth = judge_soak(request.out, result.reports, plan.recipe.soak, say)
    return result


def search_bench(
    request: BenchRequest,
    plan: BenchPlan,
    *,
    show: Callable[[RepetitionReport], object],
    say: Callable[[str], object],
) -> SearchResult:
    """Search instead of measuring every point; the same record is kept, a repetition a probe."""
    with _begun(request, plan, say) as (context, _):
        return run_search(context, plan.recipe, plan.stages[0], show=show)


@contextmanager
def _begun(
    request: BenchRequest, plan: BenchPlan, say: Callable[[str], object]
) -> Iterator[tuple[StageContext, BenchResult]]:
    """Begin, or go on with, a run; its end is on record whatever it is."""
    folder = RunFolder(request.out)
    record = _begin(request, plan, folder)
    if folder.room() < _LEAST_ROOM:
        msg = f"less than {_LEAST_ROOM >> 20} MiB are free where {request.out} is"
        raise UsageError(msg, hint="free some space, or give another --out")
    spool = Spool(spool_folder(request.warehouse))
    result = BenchResult(run_id=record.run_id)
    context = StageContext(
        request=request,
        recipe=plan.recipe,
        run_id=record.run_id,
        folder=folder,
        keep=spool.add,
        say=say,
        history=_history(request.warehouse),
        deadline_s=time.monotonic() + plan.recipe.timeout_minutes * 60,
    )
    with _recorded(request, record, folder, spool, result, say):
        yield context, result


def _begin(request: BenchRequest, plan: BenchPlan, folder: RunFolder) -> RunRecord:
    if request.resume:
        record = folder.read_run()
        return record.model_copy(update={"version": record.version + 1, "status": "running"})
    definition = plan.recipe.model_dump_json()
    now = utc_now().isoformat()
    record = RunRecord(
        run_id=new_run_id(),
        status="running",
        recipe=plan.recipe.name,
        recipe_digest=digest(plan.recipe.model_dump(mode="json")),
        recipe_definition=definition,
        seed=request.seed,
        gauntlet_version=__version__,
        started_at=now,
        updated_at=now,
        command=request.command,
    )
    folder.create(record)
    folder.note_commands(record, _commands_of(plan))
    return record


def _commands_of(plan: BenchPlan) -> list[str]:
    lines = []
    for stage in plan.stages:
        for side, variant in stage.sides.items():
            what = f"{stage.variant} {side}".strip()
            for server in variant.servers:
                env = " ".join(f"{key}={value}" for key, value in server.env.items())
                lines.append(f"# server of {what}: {env} {' '.join(server.argv)}".rstrip())
    return lines or ["# The server was there already."]


@contextmanager
def _recorded(
    request: BenchRequest,
    record: RunRecord,
    folder: RunFolder,
    spool: Spool,
    result: BenchResult,
    say: Callable[[str], object],
) -> Iterator[None]:
    """Keep the run's end on record, whatever it is, and ship what was measured so far."""

    def note(status: RunStatus, version: int, reason: str = "") -> None:
        now = utc_now()
        state = {"status": status, "version": version, "reason": reason}
        folder.write_run(record.model_copy(update={**state, "updated_at": now.isoformat()}))
        row = _run_row(record, status, version, reason, now)
        spool.add(Batch.of(f"{record.run_id}/run/{version}", (row,), created_at=now))

    note("running", record.version)
    try:
        yield
    except BaseException as error:
        interrupted = isinstance(error, KeyboardInterrupt)
        reason = "" if interrupted else (str(error).splitlines() or [type(error).__name__])[0]
        note("interrupted" if interrupted else "failed", record.version + 1, reason)
        _ship(request.warehouse, spool, result, say)
        raise
    note("complete", record.version + 1)
    _ship(request.warehouse, spool, result, say)


def _ship(location: str, spool: Spool, result: BenchResult, say: Callable[[str], object]) -> None:
    try:
        with open_store(location, wait_s=_SHIP_WAIT_S) as store:
            shipped = ship(spool, store)
    except GauntletError as error:
        result.unshipped = error.message
    else:
        if shipped.stopped is not None:
            result.unshipped = shipped.stopped.message
    if result.unshipped:
        say(f"waits in the spool: {result.unshipped}; `gauntlet ingest replay` sends it")


def _run_row(
    record: RunRecord, status: RunStatus, version: int, reason: str, now: datetime
) -> RunRow:
    return RunRow(
        run_id=record.run_id,
        version=version,
        recipe=record.recipe,
        recipe_digest=record.recipe_digest,
        recipe_definition=record.recipe_definition,
        engine_kind="",
        gauntlet_version=record.gauntlet_version,
        host=host_name(),
        seed=record.seed,
        status=status,
        reason=reason,
        started_at=datetime.fromisoformat(record.started_at),
        updated_at=now,
    )


def _resumed(request: BenchRequest) -> Expansion:
    record = RunFolder(request.out).read_run()
    recipe = Recipe.model_validate_json(record.recipe_definition)
    if request.recipe != record.recipe and not Path(request.recipe).exists():
        msg = f"{request.out} holds a run of {record.recipe}, not of {request.recipe}"
        raise UsageError(msg)
    return expand(recipe, reference=request.recipe, settings=request.settings)


def _history(location: str) -> Callable[[str], Sequence[float]]:
    """Earlier accuracies of one series; none where the warehouse cannot be asked."""

    def scores(series_id: str) -> Sequence[float]:
        try:
            with open_store(location, wait_s=_SHIP_WAIT_S) as store:
                rows = store.query("accuracy_history", series_id=series_id)
        except GauntletError:
            return ()
        return [float(row["value"]) for row in rows if row["value"] is not None]

    return scores


def _check_data(plan: BenchPlan) -> None:
    """Read every file that a workload needs before an engine is started. Raises ConfigError."""
    problems: list[Problem] = []
    loads = {step.name: step.task for step in plan.steps if isinstance(step.task, Workload)}
    for workload in loads.values():
        prompts = workload.prompts
        source = getattr(prompts, "source", prompts)
        if getattr(source, "file", None) is not None:
            try:
                plan_requests(workload, model="any", seed=0)
            except ConfigError as error:
                problems += [
                    replace(problem, key=problem.key or f"workloads.{workload.name}.prompts")
                    for problem in error.problems
                ]
    if problems:
        raise ConfigError(problems)
