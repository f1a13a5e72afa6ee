"""Make a history: plan the statements, run those that the ledger does not know, roll up."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta

from gauntlet.core.clock import Stopwatch
from gauntlet.core.errors import UsageError
from gauntlet.warehouse.batch import NO_DAY, batch_number
from gauntlet.warehouse.rollups import roll_up
from gauntlet.warehouse.store import Store
from gauntlet.warehouse.synth import sql, sql_perf
from gauntlet.warehouse.synth.shape import Shape, draw_shape, scale_named

_EPOCH = date(1970, 1, 1)
# Raw test results are as young as the retention keeps them whole: 30 days, and today is one.
_RAW_DAYS = 29
_EVAL_SAMPLE_DAYS = 14
_COARSE_STEP_S = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class SynthRequest:
    """What to make: ``days`` whole days up to and including ``until`` (UTC)."""

    days: int
    until: date
    scale: str
    seed: int

    def shape(self) -> Shape:
        """Draw what the rows are made from. Raises UsageError for an unknown scale or no days."""
        if self.days < 1:
            raise UsageError(f"--days {self.days}: at least 1")
        last = (self.until - _EPOCH).days
        return draw_shape(
            scale_named(self.scale), seed=self.seed, first_day=last - self.days + 1, days=self.days
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One statement: the table that it fills and the batch that its rows belong to."""

    table: str
    day: date
    batch_id: str
    statement: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """What was made: rows by table, seconds, and how many statements had been run before."""

    rows: dict[str, int]
    seconds: float
    skipped: int
    rolled_up: int


def plan_history(request: SynthRequest) -> Iterator[Step]:
    """Yield the statements in order: for each day the rows that others refer to come last."""
    shape = request.shape()
    last = shape.first_day + shape.days - 1

    def step(table: str, day: int, statement: str, name: str = "") -> Step:
        when = NO_DAY if day == 0 else _EPOCH + timedelta(days=day)
        batch_id = f"synth/{request.scale}/{request.seed}/{when}/{name or table}"
        return Step(table=table, day=when, batch_id=batch_id, statement=statement)

    yield step("tests", 0, sql.insert_tests(shape, 0))
    yield step("queue_prices", 0, sql.insert_prices(shape, 0))
    for day in range(shape.first_day, last + 1):
        young = day > last - _RAW_DAYS
        if young:
            yield step("test_details", day, sql.insert_details(shape, day))
            yield step("test_results", day, sql.insert_results(shape, day))
        yield step("job_failures", day, sql.insert_failures(shape, day))
        yield step("job_attempts", day, sql.insert_attempts(shape, day))
        yield step("builds", day, sql.insert_builds(shape, day))
        yield step("commits", day, sql.insert_commits(shape, day))
        rate = 60 if young else _COARSE_STEP_S
        yield step("queue_samples", day, sql.insert_queue_samples(shape, day, rate))
        yield step("metrics", day, sql_perf.insert_metrics(shape, day))
        yield step("repetitions", day, sql_perf.insert_repetitions(shape, day))
        if day > last - _EVAL_SAMPLE_DAYS:
            yield step("eval_samples", day, sql_perf.insert_eval_samples(shape, day))
        yield step("eval_results", day, sql_perf.insert_eval_results(shape, day))
        evals = sql_perf.insert_eval_repetitions(shape, day)
        yield step("repetitions", day, evals, "eval_repetitions")


def make_history(
    store: Store, request: SynthRequest, progress: Callable[[date, int], None]
) -> Made:
    """Run the plan; a statement whose batch the ledger knows is left out, so a cut run goes on."""
    watch = Stopwatch()
    rows: dict[str, int] = {}
    skipped = 0
    resuming = True
    for each in plan_history(request):
        if store.knows(each.table, each.day, each.batch_id):
            skipped += 1
            continue
        days = () if each.day == NO_DAY else (each.day,)
        number = batch_number(each.batch_id)
        if resuming and store.batch_counts(each.table, [number], days):
            # A run that was killed died in the first statement that the ledger lacks.
            store.forget(each.table, [number], days)
        resuming = False
        store.command(each.statement, {"batch": number})
        count = store.note_statement(each.table, each.day, each.batch_id, source="synth")
        rows[each.table] = rows.get(each.table, 0) + count
        progress(each.day, sum(rows.values()))
    rolled_up = len(roll_up(store))
    return Made(rows=rows, seconds=watch.seconds, skipped=skipped, rolled_up=rolled_up)
