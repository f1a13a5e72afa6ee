"""Make a history: plan the statements, run those that the ledger does not know, roll up."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta

from gauntlet.core.clock import Stopwatch
from gauntlet.core.errors import UsageError
from gauntlet.warehouse.batch import NO_DAY, Batch, batch_number
from gauntlet.warehouse.rollups import roll_up
from gauntlet.warehouse.store import Store
from gauntlet.warehouse.synth import sql, sql_machines, sql_perf
from gauntlet.warehouse.synth.decisions import Commit, made_decisions
from gauntlet.warehouse.synth.shape import Shape, draw_shape, scale_named

_EPOCH = date(1970, 1, 1)
# Raw test results are as young as the retention keeps them whole: 30 days, and today is one.
_RAW_DAYS = 29
_EVAL_SAMPLE_DAYS = 14
_REQUEST_DAYS = 2
_GPU_DAYS = 2
_COARSE_STEP_S = 600
_NOTED_TOGETHER = 24
_SOURCE = "synth"

Progress = Callable[[date, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SynthRequest:
    """What to make: ``days`` days up to and including ``until`` (UTC).

    ``test_days`` is for how many of them single test results are made, ``nights`` for how many
    days measurements are (None: all days). ``now`` breaks the last day off at an instant: what
    would end later is under way.
    """

    days: int
    until: date
    scale: str
    seed: int
    test_days: int = _RAW_DAYS
    nights: int | None = None
    now: datetime | None = None

    def shape(self) -> Shape:
        """Draw what the rows are made from. Raises UsageError for an unknown scale or no days."""
        if self.days < 1:
            raise UsageError(f"--days {self.days}: at least 1")
        return draw_shape(
            scale_named(self.scale),
            seed=self.seed,
            first_day=self.last_day - max(self.days, self.nights or 0) + 1,
            days=max(self.days, self.nights or 0),
            now_s=int(self.now.timestamp()) if self.now else None,
        )

    @property
    def last_day(self) -> int:
        """Last day, counted from 1970-01-01."""
        return (self.until - _EPOCH).days

    @property
    def ends(self) -> datetime:
        """The instant at which the history ends."""
        midnight = datetime.combine(self.until + timedelta(days=1), time(), tzinfo=UTC)
        return self.now or midnight


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
    for stream in plan_streams(request):
        yield from stream


def plan_streams(request: SynthRequest) -> tuple[Iterator[Step], Iterator[Step]]:
    """Plan what CI did, and what was measured: neither needs the other."""
    shape = request.shape()
    return _plan_ci(request, shape), _plan_measured(request, shape)


def _step(request: SynthRequest, table: str, day: int, statement: str, name: str = "") -> Step:
    when = NO_DAY if day == 0 else _EPOCH + timedelta(days=day)
    batch_id = f"synth/{request.scale}/{request.seed}/{when}/{name or table}"
    return Step(table=table, day=when, batch_id=batch_id, statement=statement)


def _plan_ci(request: SynthRequest, shape: Shape) -> Iterator[Step]:
    last = request.last_day
    yield _step(request, "tests", 0, sql.insert_tests(shape, 0))
    yield _step(request, "queue_prices", 0, sql.insert_prices(shape, 0))
    for day in range(last - request.days + 1, last + 1):
        if day > last - request.test_days:
            yield _step(request, "test_details", day, sql.insert_details(shape, day))
            yield _step(request, "test_results", day, sql.insert_results(shape, day))
        yield _step(request, "job_failures", day, sql.insert_failures(shape, day))
        yield _step(request, "job_attempts", day, sql.insert_attempts(shape, day))
        yield _step(request, "builds", day, sql.insert_builds(shape, day))
        yield _step(request, "commits", day, sql.insert_commits(shape, day))


def _plan_measured(request: SynthRequest, shape: Shape) -> Iterator[Step]:
    last = request.last_day
    for day in range(last - request.days + 1, last + 1):
        rate = 60 if day > last - request.test_days else _COARSE_STEP_S
        samples = sql.insert_queue_samples(shape, day, rate)
        yield _step(request, "queue_samples", day, samples)
        if day > last - _GPU_DAYS:
            step_s = 60 if day == last else _COARSE_STEP_S
            gpus = sql_machines.insert_gpu_samples(shape, day, step_s)
            yield _step(request, "gpu_samples", day, gpus)
    # A night begins at 22:00: where the history breaks off today, last night was yesterday's.
    last -= request.now is not None
    for day in range(last - (request.nights or request.days) + 1, last + 1):
        yield _step(request, "metrics", day, sql_perf.insert_metrics(shape, day))
        yield _step(request, "repetitions", day, sql_perf.insert_repetitions(shape, day))
        if day > last - _REQUEST_DAYS:
            yield _step(request, "requests", day, sql_machines.insert_requests(shape, day))
        if day > last - _EVAL_SAMPLE_DAYS:
            yield _step(request, "eval_samples", day, sql_perf.insert_eval_samples(shape, day))
        yield _step(request, "eval_results", day, sql_perf.insert_eval_results(shape, day))
        evals = sql_perf.insert_eval_repetitions(shape, day)
        yield _step(request, "repetitions", day, evals, "eval_repetitions")


@dataclass(slots=True)
class _Tally:
    progress: Progress
    rows: dict[str, int] = field(default_factory=dict)
    skipped: int = 0

    def add(self, table: str, day: date, count: int) -> None:
        self.rows[table] = self.rows.get(table, 0) + count
        self.progress(day, sum(self.rows.values()))


def make_history(
    store: Store, request: SynthRequest, progress: Progress, second: Store | None = None
) -> Made:
    """Run the plan; a statement whose batch the ledger knows is left out, so a cut run goes on.

    With a ``second`` store of the same warehouse, measurements are made beside the rest.
    """
    watch = Stopwatch()
    tally = _Tally(progress)
    known = store.known_of_source(_SOURCE)
    # A run that was killed leaves rows that the ledger lacks.
    fresh = not known and not any(store.count(table) for table in ("tests", "metrics"))
    ci, measured = plan_streams(request)
    if second is None:
        _run(store, (*ci, *measured), known, tally, fresh=fresh)
    else:
        with ThreadPoolExecutor(1) as pool:
            beside = pool.submit(_run, second, measured, known, tally, fresh=fresh)
            _run(store, ci, known, tally, fresh=fresh)
            beside.result()
    _decide(store, request)
    rolled_up = len(roll_up(store))
    return Made(rows=tally.rows, seconds=watch.seconds, skipped=tally.skipped, rolled_up=rolled_up)


def _run(
    store: Store, steps: Iterable[Step], known: set[int], tally: _Tally, *, fresh: bool
) -> None:
    """Run steps; some of them go into the ledger together, for a line costs as much as a step."""
    unnoted: list[Step] = []
    for each in steps:
        number = batch_number(each.batch_id)
        if number in known:
            tally.skipped += 1
            continue
        days = () if each.day == NO_DAY else (each.day,)
        if not fresh and store.batch_counts(each.table, [number], days):
            store.forget(each.table, [number], days)
        store.command(each.statement, {"batch": number})
        unnoted.append(each)
        if len(unnoted) == _NOTED_TOGETHER:
            _note(store, unnoted, tally)
            unnoted = []
    _note(store, unnoted, tally)


def _note(store: Store, steps: Sequence[Step], tally: _Tally) -> None:
    by_table: dict[str, dict[str, date]] = {}
    for each in steps:
        by_table.setdefault(each.table, {})[each.batch_id] = each.day
    for table, batch_days in by_table.items():
        rows = store.note_statements(table, batch_days, source=_SOURCE)
        tally.add(table, max(batch_days.values()), rows)


def _decide(store: Store, request: SynthRequest) -> None:
    shape = request.shape()
    rows = store.sql(
        "SELECT position, any(sha) AS sha, any(title) AS title, any(author) AS author,"
        " any(pull_request) AS pull_request, any(committed_at) AS at FROM commits"
        " WHERE branch = 'main' AND committed_at > {after: DateTime64(3)} GROUP BY position",
        {"after": request.ends - timedelta(days=31)},
    )
    commits = {row["position"]: Commit(**row) for row in rows}
    decided = list(made_decisions(shape, commits, request.ends))
    if decided:
        name = f"synth/{request.scale}/{request.seed}/{request.until}/decisions"
        store.insert(Batch.of(name, decided, source=_SOURCE, created_at=request.ends))
