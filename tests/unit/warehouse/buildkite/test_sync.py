import contextlib
import json
import random
from datetime import UTC, timedelta
from itertools import pairwise

import pytest
from fake_buildkite import NOON, PIPELINE, FakeBuildkite, Organization
from fake_store import FakeWarehouse
from hypothesis import given, settings
from hypothesis import strategies as st

from gauntlet.core.errors import (
    ConfigError,
    ExternalServiceError,
    InfrastructureError,
    UsageError,
)
from gauntlet.warehouse.buildkite.api import BuildPage, BuildQuery, Pipeline
from gauntlet.warehouse.buildkite.cursor import (
    FIRST_REACH,
    OVERLAP,
    Cursor,
    CursorFolder,
    OpenBuild,
    Window,
    plan_round,
    slices,
)
from gauntlet.warehouse.buildkite.mapping import Source, map_builds
from gauntlet.warehouse.buildkite.sync import SyncRequest, pages_from_newest, sync

DAY, HOUR, SECOND = timedelta(days=1), timedelta(hours=1), timedelta(seconds=1)


class MemoryCursors:
    def __init__(self):
        self.text = None
        self.saves = 0

    def load(self, pipeline):
        assert pipeline == PIPELINE
        return None if self.text is None else Cursor.model_validate_json(self.text)

    def save(self, cursor):
        self.saves += 1
        self.text = cursor.model_dump_json()


class Killed(BaseException):
    """The process ends here."""


class Scene:
    """An organisation, what is known of it, and faults on the way."""

    def __init__(self, **options):
        self.organization = Organization()
        self.api = FakeBuildkite(self.organization, **options)
        self.warehouse = FakeWarehouse()
        self.cursors = MemoryCursors()

    def sync(self, *, sink=None, **window):
        return sync(
            SyncRequest(pipeline=PIPELINE, **window),
            self.api,
            sink or self.warehouse,
            self.cursors,
            lambda: self.organization.now,
        )

    def stored(self):
        builds = {row["build_id"]: row for row in self.warehouse.rows("builds")}
        jobs = {row["job_id"]: row for row in self.warehouse.rows("job_attempts")}
        return builds, jobs

    def check(self):
        """What is stored is what the organisation shows now; of deleted builds, what they were."""
        builds, jobs = self.stored()
        source = Source(address="truth", pipeline=PIPELINE.slug, whole=True)
        shown = list(self.organization.builds.values())
        truth = map_builds(shown, source=source, now=self.organization.now)
        assert not truth.rejected
        for row in truth.builds:
            assert builds.pop(str(row.build_id)) == json.loads(row.model_dump_json())
        for row in truth.jobs:
            assert jobs.pop(str(row.job_id)) == json.loads(row.model_dump_json())
        left = {row["number"] for row in builds.values()}
        assert left | {row["build_number"] for row in jobs.values()} <= self.organization.deleted


def finished_build(organization, **options):
    number = organization.create(jobs=1, **options)
    organization.advance(minutes=1)
    organization.start(number, 0)
    organization.advance(minutes=5)
    organization.finish(number, 0)
    return number


# Rounds.


def test_a_first_round_looks_back_a_week_and_the_next_goes_on():
    scene = Scene()
    old = scene.organization.create(jobs=1)
    scene.organization.advance(days=8)
    finished_build(scene.organization)
    report = scene.sync()
    assert (report.builds, report.since) == (2, scene.organization.now - FIRST_REACH)
    assert report.open_builds == 1, "the old build is still scheduled, so it is listed as at work"
    scene.organization.advance(hours=1)
    finished_build(scene.organization)
    scene.sync()
    scene.check()
    assert old in {row["number"] for row in scene.warehouse.rows("builds")}


def test_an_outage_of_three_days_leaves_no_gap():
    scene = Scene()
    running = scene.organization.create(jobs=2)
    scene.organization.start(running, 0)
    scene.organization.advance(minutes=1)
    done = finished_build(scene.organization)
    scene.sync()
    for _ in range(30):
        scene.organization.advance(hours=2)
        finished_build(scene.organization)
    scene.organization.finish(running, 0)
    scene.organization.start(running, 1)
    scene.organization.finish(running, 1)
    scene.organization.advance(minutes=20)
    scene.organization.retry(done, 0)
    scene.organization.advance(hours=12)
    report = scene.sync()
    scene.check()
    assert report.builds >= 32


def test_a_long_outage_is_read_a_day_at_a_time_oldest_first():
    scene = Scene()
    scene.sync(since=NOON - HOUR)
    scene.organization.advance(days=3)
    finished_build(scene.organization)
    asked = []
    listing = scene.api.builds
    scene.api.builds = lambda pipeline, query: asked.append(query) or listing(pipeline, query)
    scene.sync()
    windows = [(q.created_from, q.created_to) for q in asked if q.created_from is not None]
    assert len(windows) == 4
    assert windows == sorted(windows)
    assert max(end - start for start, end in windows) == DAY
    assert all(a[1] == b[0] for a, b in pairwise(windows))


def test_the_job_of_an_old_build_that_was_retried_is_found():
    scene = Scene()
    old = finished_build(scene.organization)
    scene.sync()
    scene.organization.advance(days=2)
    scene.sync()
    scene.organization.retry(old, 0)
    scene.organization.advance(minutes=1)
    scene.sync()
    scene.check()
    scene.organization.start(old, 1)
    scene.organization.finish(old, 1, state="failed")
    scene.organization.advance(minutes=30)
    scene.sync()
    scene.check()
    first, second = sorted(scene.warehouse.rows("job_attempts"), key=lambda row: row["attempt"])
    assert (first["retried"], second["retried"]) == (True, False)
    assert (first["attempt"], second["attempt"]) == (1, 2)
    assert second["retried_from"] == first["job_id"]


def test_a_blocked_build_rests_until_somebody_unblocks_it():
    scene = Scene()
    number = scene.organization.create(jobs=1, block=True)
    scene.organization.start(number, 0)
    scene.organization.advance(minutes=1)
    scene.organization.finish(number, 0)
    assert scene.organization.builds[number]["state"] == "blocked"
    scene.organization.advance(minutes=1)
    assert scene.sync().open_builds == 0
    scene.organization.advance(days=3)
    scene.sync()
    scene.organization.unblock(number)
    scene.organization.advance(minutes=1)
    assert scene.sync().open_builds == 1
    scene.check()


def test_builds_that_end_without_an_end_are_looked_at_again():
    scene = Scene()
    number = scene.organization.create()
    scene.organization.advance(minutes=1)
    assert scene.sync().open_builds == 1
    scene.organization.advance(hours=3)
    scene.organization.skip(number)
    assert scene.sync().open_builds == 0
    scene.check()


def test_a_deleted_build_is_no_longer_open():
    scene = Scene()
    number = scene.organization.create()
    scene.organization.advance(minutes=1)
    scene.sync()
    scene.organization.advance(hours=3)
    scene.organization.delete(number)
    report = scene.sync()
    assert (report.gone_builds, report.open_builds) == (1, 0)


def test_reading_again_stores_the_same_batches():
    scene = Scene()
    for _ in range(4):
        finished_build(scene.organization)
    scene.sync(since=NOON - HOUR)
    batches = set(scene.warehouse.batches)
    scene.sync(since=NOON - HOUR)
    assert set(scene.warehouse.batches) == batches


def test_a_rejected_build_is_one_row_however_often_it_is_read():
    scene = Scene()
    number = finished_build(scene.organization)
    scene.organization.builds[number]["message"] = 5
    scene.sync(since=NOON - HOUR)
    scene.organization.advance(minutes=5)
    report = scene.sync(since=NOON - HOUR)
    assert report.rejected == 1
    (row,) = scene.warehouse.rows("rejected_rows")
    assert row["position"] == "build.message"
    assert row["origin"].endswith("/builds/1")
    assert len(scene.warehouse.batches) == 1


# Interruptions.


@pytest.mark.parametrize("stop", range(1, 30))
def test_a_killed_round_is_continued(stop):
    """Whichever request, batch or save of the cursor is the last one of a round."""
    scene = Scene(per_page=2)
    for _ in range(9):
        finished_build(scene.organization)
        scene.organization.create()
        scene.organization.advance(hours=5)
    steps = []

    def step(what):
        steps.append(what)
        if len(steps) == stop:
            raise Killed

    def sink(batch):
        step("before the batch")
        scene.warehouse(batch)
        step("after the batch")

    scene.api.before = lambda: step("request")
    with pytest.raises(Killed):
        scene.sync(sink=sink)
    scene.api.before = lambda: None
    scene.organization.advance(minutes=3)
    scene.sync()
    scene.check()


def test_what_a_killed_round_has_read_is_not_listed_again():
    scene = Scene(per_page=2)
    for _ in range(20):
        finished_build(scene.organization)
        scene.organization.advance(hours=4)
    calls = []

    def sink(batch):
        if len(calls) == 8:
            raise InfrastructureError("the disk is full")
        calls.append(batch)
        scene.warehouse(batch)

    with pytest.raises(InfrastructureError):
        scene.sync(sink=sink)
    cursor = scene.cursors.load(PIPELINE)
    read = {row["created_at"] for row in scene.warehouse.rows("builds")}
    assert len(read) >= 8
    unread = sum((w.end - w.start for w in cursor.unread), timedelta())
    assert unread < timedelta(hours=4 * 13)
    assert cursor.known_until < scene.organization.now - DAY, "not known before the round's end"
    scene.sync()
    scene.check()


def test_the_cursor_does_not_move_past_a_page_that_the_sink_refused():
    scene = Scene()
    finished_build(scene.organization)

    def sink(_):
        raise InfrastructureError("the disk is full")

    with pytest.raises(InfrastructureError):
        scene.sync(sink=sink, since=NOON - HOUR)
    cursor = scene.cursors.load(PIPELINE)
    assert cursor.unread == (Window(start=NOON - HOUR, end=scene.organization.now),)
    assert cursor.known_until == NOON - HOUR


def test_a_retry_that_came_and_went_is_found_though_a_round_was_killed_since():
    scene = Scene()
    old = finished_build(scene.organization)
    scene.organization.advance(days=1)
    scene.sync()
    scene.organization.advance(hours=1)
    scene.organization.retry(old, 0)
    scene.organization.start(old, 1)
    scene.organization.finish(old, 1)
    scene.organization.advance(hours=5)
    finished_build(scene.organization)

    def refuse(_):
        raise InfrastructureError("the disk is full")

    with pytest.raises(InfrastructureError):
        scene.sync(sink=refuse)
    scene.organization.advance(hours=5)
    scene.sync()
    scene.check()


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32), per_page=st.integers(1, 4), rounds=st.integers(1, 8))
def test_whatever_happens_the_last_round_knows_everything(seed, per_page, rounds):
    """Builds come, run, are retried, unblocked, skipped and deleted between and during requests;
    requests, the sink and the process fail anywhere; then one round succeeds.
    """
    chance = random.Random(seed)
    trouble, bustle = chance.choice([0.02, 0.1, 0.3]), chance.choice([0.1, 0.5, 1.0])
    scene = Scene(per_page=per_page)
    scene.organization.create()

    def fail(*kinds):
        if chance.random() < trouble:
            raise chance.choice(kinds)

    def before():
        if chance.random() < bustle:
            scene.organization.tick(chance)
        fail(ExternalServiceError("503"), Killed())

    def sink(batch):
        fail(InfrastructureError("the disk is full"))
        scene.warehouse(batch)
        fail(Killed())

    # Where nothing was known before, the first round is told to start at the beginning.
    window = {"since": NOON - HOUR}
    for _ in range(rounds):
        for _ in range(chance.choice([0, 5, 40])):
            scene.organization.tick(chance)
        scene.organization.advance(seconds=1)
        scene.api.before = before
        with contextlib.suppress(ExternalServiceError, InfrastructureError, Killed):
            scene.sync(sink=sink, **window)
        window = {} if scene.cursors.text else window
    scene.api.before = lambda: None
    scene.organization.advance(seconds=1)
    scene.sync(**window)
    scene.check()


# Paging.


def all_pages(api, query):
    return [page for page, _ in pages_from_newest(api, PIPELINE, query)]


def test_builds_that_leave_a_listing_meanwhile_hide_no_others():
    organization = Organization()
    for _ in range(12):
        organization.create(jobs=1)
        organization.advance(minutes=1)
    left = []

    def leave():
        if api.requests in (2, 3):
            number = 12 - len(left)
            left.append(number)
            organization.skip(number)

    api = FakeBuildkite(organization, before=leave)
    pages = all_pages(api, BuildQuery(states=("scheduled", "running")))
    assert sorted(b["number"] for page in pages for b in page.builds) == list(range(1, 13))
    assert left == [12, 11]


@pytest.mark.parametrize("per_page", [1, 2, 3, 7, 50])
def test_many_builds_of_one_second_are_all_listed(per_page):
    organization = Organization()
    for number in range(20):
        organization.create(jobs=1)
        if number % 7 == 0:
            organization.advance(milliseconds=700)
    api = FakeBuildkite(organization, per_page=per_page)
    end = organization.now + SECOND
    pages = list(pages_from_newest(api, PIPELINE, BuildQuery(created_to=end)))
    assert {b["number"] for page, _ in pages for b in page.builds} == set(range(1, 21))
    assert pages[-1][1] is None
    reached = [to for _, to in pages[:-1]]
    assert reached == sorted(reached, reverse=True)


def test_builds_without_a_readable_time_are_paged_by_position():
    class Odd:
        def builds(self, pipeline, query):
            for n in range(3):
                yield BuildPage(address="odd", builds=({"number": n},), is_last=n == 2)

    assert len(all_pages(Odd(), BuildQuery())) == 3


# Plans.


def cursor(**changes):
    fields = {
        "organization": "acme",
        "pipeline": "engine",
        "created_until": NOON,
        "known_until": NOON,
    }
    return Cursor(**(fields | changes))


def planned(known=None, *, since=None, until=None, now=NOON + DAY):
    return plan_round(PIPELINE, known, since=since, until=until, now=now)


def test_a_round_looks_back_a_little_and_asks_for_what_finished_since():
    plan = planned(cursor(known_until=NOON - HOUR))
    assert plan.windows[0].start == plan.older_than == NOON - OVERLAP
    assert plan.finished_from == NOON - HOUR - OVERLAP
    assert plan.windows[-1].end == plan.cursor.created_until == NOON + DAY
    assert plan.cursor.known_until == NOON - HOUR, "moves at the end of the round"


def test_a_round_reads_what_earlier_ones_left():
    left = Window(start=NOON - 5 * DAY, end=NOON - 5 * DAY + HOUR)
    open_build = OpenBuild(number=7, build_id="b", created_at=NOON)
    plan = planned(cursor(unread=(left,), open=(open_build,)))
    assert plan.windows[0] == left
    assert plan.cursor.open == (open_build,)


@pytest.mark.parametrize(
    ("since", "until", "detached"),
    [
        pytest.param(NOON - DAY, None, False, id="from before what is known"),
        pytest.param(NOON + HOUR, None, True, id="from after what is known"),
        pytest.param(NOON - 3 * DAY, NOON - 2 * DAY, True, id="wholly before what is known"),
        pytest.param(None, NOON + HOUR, False, id="from the cursor on"),
        pytest.param(None, NOON - DAY, False, id="nothing new"),
    ],
)
def test_a_round_that_would_tear_a_gap_leaves_the_cursor_alone(since, until, detached):
    plan = planned(cursor(), since=since, until=until)
    assert plan.detached is detached
    assert plan.cursor.created_until >= NOON


def test_a_detached_round_saves_no_cursor():
    scene = Scene()
    scene.sync(since=NOON - HOUR)
    before = scene.cursors.text
    scene.organization.advance(days=2)
    finished_build(scene.organization)
    report = scene.sync(since=scene.organization.now - HOUR)
    assert (report.detached, report.builds) == (True, 1)
    assert scene.cursors.text == before


@pytest.mark.parametrize(
    ("since", "until"),
    [
        pytest.param(NOON, NOON, id="empty"),
        pytest.param(NOON + 2 * DAY, None, id="from the future"),
        pytest.param(None, NOON + 2 * DAY, id="to the future"),
    ],
)
def test_windows_that_are_none_are_refused(since, until):
    with pytest.raises(UsageError):
        planned(since=since, until=until)


instants = st.integers(0, 500).map(lambda hours: NOON + hours * HOUR)
windows = st.tuples(instants, st.integers(1, 60)).map(
    lambda found: Window(start=found[0], end=found[0] + found[1] * HOUR)
)


@given(st.lists(windows, max_size=6))
def test_slices_cover_the_same_time_once_in_short_pieces(given_windows):
    def hours(found):
        return [w.start + n * HOUR for w in found for n in range(int((w.end - w.start) / HOUR))]

    cut = slices(tuple(given_windows))
    assert hours(cut) == sorted(set(hours(given_windows)))
    assert all(w.end - w.start <= DAY for w in cut)


# Cursor files.


def test_cursors_of_two_pipelines_do_not_meet(tmp_path):
    folder = CursorFolder(tmp_path)
    for slug in ("engine", "docs"):
        folder.save(cursor(pipeline=slug, created_until=NOON + len(slug) * HOUR))
    found = folder.load(PIPELINE)
    assert found == cursor(created_until=NOON + 6 * HOUR)
    assert found.created_until.tzinfo is UTC
    assert folder.load(Pipeline(organization="acme", slug="other")) is None


def test_a_broken_cursor_is_said_with_a_remedy_and_not_started_anew(tmp_path):
    folder = CursorFolder(tmp_path)
    path = folder.path("acme", "engine")
    path.parent.mkdir(parents=True)
    path.write_text('{"organization": "acme"')
    with pytest.raises(ConfigError) as caught:
        folder.load(PIPELINE)
    assert str(path) in caught.value.message
    assert "--since" in caught.value.hint


@pytest.mark.parametrize("slug", ["../x", "", "a/b", ".hidden"])
def test_a_slug_is_no_path(tmp_path, slug):
    with pytest.raises(UsageError, match="no slug"):
        CursorFolder(tmp_path).path("acme", slug)


def test_two_syncs_of_a_pipeline_do_not_run_at_once(tmp_path):
    folder = CursorFolder(tmp_path)
    with folder.exclusive(PIPELINE):
        with pytest.raises(InfrastructureError, match="acme/engine"), folder.exclusive(PIPELINE):
            raise AssertionError("both run")
        with folder.exclusive(Pipeline(organization="acme", slug="docs")):
            pass
    with folder.exclusive(PIPELINE):
        folder.save(cursor())
