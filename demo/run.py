"""The main job: decide, measure, keep, judge, gate, show. Each step calls one package."""

import json
import shlex
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime

from gauntlet import __version__
from gauntlet.analyzer.compare import judge_rows, verdict_rows, worth_more
from gauntlet.analyzer.verdict import Verdict
from gauntlet.core.clock import Stopwatch, utc_now
from gauntlet.core.errors import GauntletError
from gauntlet.core.ids import digest
from gauntlet.demo.decide import Decided, decide_step, show_decision
from gauntlet.demo.engines import build_engines
from gauntlet.demo.request import DemoRequest
from gauntlet.demo.screen import Screen
from gauntlet.harness.engines.engine import Engine
from gauntlet.harness.provenance import host_name
from gauntlet.harness.schedule import Side
from gauntlet.harness.session import Session, run_session, session_length
from gauntlet.perf_eval.recipe import Recipe, load_recipe
from gauntlet.release.gates.qualification import load_policy
from gauntlet.release.gates.verdicts import Qualification, evaluate, gate_rows
from gauntlet.warehouse.batch import Batch, decision_batch
from gauntlet.warehouse.location import spool_folder
from gauntlet.warehouse.rows.measurement import DecisionRow, RunRow, RunStatus
from gauntlet.warehouse.shipping import ship_all
from gauntlet.warehouse.spool import Spool
from gauntlet.warehouse.store import open_store


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoResult:
    """How a demo ended."""

    run_id: str
    qualification: Qualification
    verdicts: tuple[Verdict, ...]
    blocks: int
    seconds: float

    def to_json(self) -> str:
        """The whole result as one JSON object."""
        record = asdict(self) | {
            "outcome": self.qualification.outcome,
            "verdicts": [verdict.plain() for verdict in self.verdicts],
        }
        return json.dumps(record, indent=2, sort_keys=True)


class _Demo:
    """One run of the demo and what its steps share."""

    def __init__(self, request: DemoRequest, screen: Screen) -> None:
        self.request = request
        self.screen = screen
        self.recipe = load_recipe(request.recipe)
        self.spool = Spool(spool_folder(request.warehouse))
        self.started_at = utc_now()
        self._version = 0

    def note_run(self, status: RunStatus, reason: str = "") -> None:
        """Spool the run's next state."""
        row = _run_row(self.request, self.recipe, self.started_at, self._version, status, reason)
        batch_id = f"{self.request.run_id}/run/{self._version}"
        self.spool.add(Batch.of(batch_id, (row,)))
        self._version += 1

    @contextmanager
    def recorded(self) -> Iterator[None]:
        """Keep the run's end on record, whatever it is, and ship what was measured so far."""
        self.note_run("running")
        try:
            yield
        except BaseException as error:
            interrupted = isinstance(error, KeyboardInterrupt)
            reason = "" if interrupted else str(error).splitlines()[0]
            self.note_run("interrupted" if interrupted else "failed", reason)
            self._ship_rest(error)
            raise
        self.note_run("complete")
        with open_store(self.request.warehouse) as store:
            ship_all(self.spool, store)

    def _ship_rest(self, cause: BaseException) -> None:
        try:
            with open_store(self.request.warehouse, wait_s=2.0) as store:
                ship_all(self.spool, store)
        except GauntletError as error:
            cause.add_note(f"measured so far is in the spool: {error.message}")
            self.screen.detail("measured so far waits in the spool: gauntlet ingest replay")

    def measure(self, engines: Mapping[Side, Engine]) -> int:
        with self.screen.step(2) as step, ExitStack() as stack:
            with self.screen.bar() as bar:
                least, _ = session_length(self.recipe)
                bar.update(0, least, "both engines start")
                for engine in engines.values():
                    stack.callback(engine.close)
                    engine.launch()
                for engine in engines.values():
                    engine.start()
                session = Session(
                    run_id=self.request.run_id,
                    recipe=self.recipe,
                    engines=engines,
                    seed=self.request.seed,
                    workdir=self.request.workdir,
                    keep=self.spool.add,
                    progress=bar.update,
                )
                blocks = run_session(session, lambda _: worth_more(self._judge()))
            versions = ", ".join(str(engine.endpoint.version) for engine in engines.values())
            done = session_length(
                self.recipe.model_copy(
                    update={"blocks": self.recipe.blocks.model_copy(update={"min": blocks})}
                )
            )[0]
            step.summary = (
                f"{done} repetitions in {blocks} x A B B A, {self.request.engine}: {versions}"
            )
        return blocks

    def _judge(self) -> list[Verdict]:
        with open_store(self.request.warehouse) as store:
            ship_all(self.spool, store)
            return judge_rows(store, self.request.run_id, self.recipe)

    def keep(self) -> None:
        with self.screen.step(3) as step, open_store(self.request.warehouse) as store:
            ship_all(self.spool, store)
            run_id = self.request.run_id
            counted = {
                name: store.sql(
                    f"SELECT count() AS n FROM {name} WHERE run_id = {{run_id: String}}",  # noqa: S608
                    {"run_id": run_id},
                )[0]["n"]
                for name in ("repetitions", "requests", "eval_samples")
            }
            rows = ", ".join(f"{count:,} {name}" for name, count in counted.items())
            step.summary = f"run {run_id}: {rows} in {self.request.warehouse}"

    def judge(self) -> list[Verdict]:
        with self.screen.step(4) as step:
            verdicts = self._judge()
            now = utc_now()
            rows = verdict_rows(self.request.run_id, verdicts, now)
            self.spool.add(decision_batch(self.request.run_id, "verdicts", rows, now))
            outcomes = [verdict.outcome for verdict in verdicts if verdict.blocking]
            counts = {name: outcomes.count(name) for name in dict.fromkeys(sorted(outcomes))}
            step.summary = ", ".join(f"{count} {name}" for name, count in counts.items())
        self.screen.verdicts([v for v in verdicts if not _is_quiet(v)])
        return verdicts

    def gate(self) -> Qualification:
        with self.screen.step(5) as step, open_store(self.request.warehouse) as store:
            ship_all(self.spool, store)
            policy = load_policy()
            decisions = store.query("run_decisions", run_id=self.request.run_id)
            result = evaluate(policy, decisions)
            now = utc_now()
            rows = gate_rows(self.request.run_id, result, now)
            self.spool.add(decision_batch(self.request.run_id, "gates", rows, now))
            step.summary = self.screen.coloured(result.outcome)
        self.screen.gates(result)
        return result

    def show(self) -> None:
        with self.screen.step(6) as step:
            step.summary = "[bold]make hud[/] (or gauntlet hud) shows this run in the browser"


def _is_quiet(verdict: Verdict) -> bool:
    """Failures of requests need a row only where there are any."""
    return verdict.subject.startswith("requests/") and verdict.outcome == "same"


def run_demo(request: DemoRequest, screen: Screen) -> DemoResult:
    """Run the whole main job once.

    Raises UsageError for bad options and settings, EngineError where an engine fails; what was
    measured until then is in the warehouse, or in its spool.
    """
    watch = Stopwatch()
    demo = _Demo(request, screen)
    decided = decide_step(request, screen)
    show_decision(decided, screen)
    engines = build_engines(request, demo.recipe)
    # On record from here: a mistake in an option is no run.
    with demo.recorded():
        demo.spool.add(_selection_batch(request.run_id, decided))
        blocks = demo.measure(engines)
        demo.keep()
        verdicts = demo.judge()
        qualification = demo.gate()
    demo.show()
    return DemoResult(
        run_id=request.run_id,
        qualification=qualification,
        verdicts=tuple(verdicts),
        blocks=blocks,
        seconds=watch.seconds,
    )


def plan_demo(request: DemoRequest, screen: Screen) -> None:
    """Decide, and print what would be started and measured; nothing is started or recorded."""
    recipe = load_recipe(request.recipe)
    show_decision(decide_step(request, screen), screen)
    least, most = session_length(recipe)
    blocks = recipe.blocks
    screen.detail(f"recipe {recipe.name}: {blocks.min} to {blocks.max} blocks A B B A,")
    screen.detail(f"  {least} to {most} repetitions")
    for task in (*recipe.workloads, *recipe.evals):
        screen.detail(f"  {task.kind:10} {task.name}")
    for side, engine in build_engines(request, recipe).items():
        screen.detail(f"{side}: {shlex.join(engine.spec.argv)}")
    screen.detail(f"would be kept in {request.warehouse}")


def _run_row(
    request: DemoRequest,
    recipe: Recipe,
    started_at: datetime,
    version: int,
    status: RunStatus,
    reason: str,
) -> RunRow:
    definition = recipe.model_dump_json()
    return RunRow(
        run_id=request.run_id,
        version=version,
        recipe=recipe.name,
        recipe_digest=digest(recipe.model_dump(mode="json")),
        recipe_definition=definition,
        engine_kind=request.engine,
        gauntlet_version=__version__,
        host=host_name(),
        seed=request.seed,
        status=status,
        reason=reason,
        started_at=started_at,
        updated_at=utc_now(),
    )


def _selection_batch(run_id: str, decided: Decided) -> Batch:
    """Put the decision on record, also where it was skipped."""
    now = utc_now()
    if decided.result is None:
        subject, outcome, reason, evidence = "engine", "skipped", decided.skipped, {}
    else:
        counts, engine = decided.result.counts, decided.result.request.engine
        subject = f"{engine.name} {engine.version or ''}".strip()
        outcome = f"{counts.selected} of {counts.jobs} jobs"
        reasons = decided.result.summary_reasons()
        reason = "; ".join(f"{r.jobs} by {r.rule}: {r.evidence}" for r in reasons)
        evidence = {"artifacts": str(decided.out), "changed_files": str(counts.changed_files)}
    row = DecisionRow.of(
        run_id,
        "selection",
        subject,
        outcome,
        reason=reason,
        evidence=evidence,
        at=now,
        blocking=False,
    )
    return Batch.of(f"{run_id}/selection", (row,), created_at=now)
