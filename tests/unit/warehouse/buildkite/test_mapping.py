import copy
import json
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from uuid import UUID

import pytest
from fake_buildkite import NOON, Organization
from hypothesis import given, settings
from hypothesis import strategies as st

from gauntlet.warehouse.buildkite.job_keys import Shard, job_key, shard_in_name
from gauntlet.warehouse.buildkite.mapping import Source, map_builds, map_event
from gauntlet.warehouse.buildkite.payloads import parse_instant
from gauntlet.warehouse.buildkite.rejections import MAX_RAW_BYTES
from gauntlet.warehouse.buildkite.versions import job_version

REST = Source(address="https://api/builds?page=1", pipeline="engine", whole=True)
HOOK = Source(address="webhook job.finished", pipeline=None, whole=False)


def a_build(**changes):
    """A build with one running job, as REST gives it."""
    organization = Organization()
    number = organization.create(jobs=2)
    organization.advance(minutes=1)
    organization.start(number, 0)
    return organization.builds[number] | changes


def mapped(*builds, source=REST, now=NOON + timedelta(days=1)):
    return map_builds(builds, source=source, now=now)


def map_job(**changes):
    """The row of a job, or its rejection."""
    build = a_build()
    build["jobs"] = [build["jobs"][0] | changes]
    found = mapped(build)
    assert len(found.builds) == 1, "a job never costs its build"
    return (found.jobs or found.rejected)[0]


# Payloads of the public documentation.


def samples(shared, pattern):
    return sorted((shared / "data" / "samples" / "buildkite").glob(pattern))


def listed(path):
    value = json.loads(path.read_text())
    return value if isinstance(value, list) else [value]


def test_every_build_of_the_documentation_becomes_rows(shared):
    paths = samples(shared, "rest_api_builds.*.json")
    found = [mapped(*listed(path)) for path in paths]
    assert [(len(m.builds), len(m.jobs), len(m.rejected)) for m in found] == [
        (1, 1, 0),
        (0, 0, 1),  # a trigger job alone
        (1, 1, 0),
        (1, 1, 0),
        (1, 1, 0),
    ]


def test_a_build_of_the_documentation_field_by_field(shared):
    (path,) = samples(shared, "rest_api_builds.1.json")
    found = mapped(*listed(path))
    (build,), (job,) = found.builds, found.jobs
    made = datetime(2015, 5, 9, 21, 5, 59, 874_000, tzinfo=UTC)
    assert build.model_dump(exclude={"version"}) == {
        "build_id": UUID("f62a1b4d-10f9-4790-bc1c-e2c3a0c80983"),
        "pipeline": "great-pipeline",
        "number": 2,
        "sha": "abcd0b72a1e580e90712cdd9eb26d3fb41cd09c8",
        "branch": "main",
        "pull_request": None,
        "state": "passed",
        "blocked": False,
        "source": "webhook",
        "message": "Bumping to version 0.2-beta.6",
        "author": "Person Name",
        "url": "https://buildkite.com/my-great-org/my-pipeline/builds/2",
        "rebuilt_from": UUID("812135b3-eee7-408c-9f63-760538b96bd5"),
        "environment": {},
        "created_at": made.replace(microsecond=0),
        "scheduled_at": made,
        "started_at": made,
        "finished_at": made + timedelta(minutes=3),
    }
    assert job.model_dump(exclude={"version", "url"}) == {
        "job_id": UUID("b63254c0-3271-4a98-8270-7cfbd6c2f14e"),
        "build_id": build.build_id,
        "pipeline": "great-pipeline",
        "build_number": 2,
        "sha": build.sha,
        "branch": "main",
        "group_key": "tests",
        "job_key": "rspec",
        "job_name": "RSpec",
        "shard": None,
        "shards": None,
        "attempt": 2,
        "retried": False,
        "retried_from": UUID("0194b92a-4d74-46bb-a1bf-61c73c5642af"),
        "retry_type": "manual",
        "queue": "default",
        "agent": "my-agent",
        "host": "localhost",
        "state": "passed",
        "soft_failed": False,
        "exit_status": 0,
        "signal": "",
        "signal_reason": "",
        "created_at": made.replace(microsecond=0),
        "scheduled_at": made,
        "runnable_at": made + timedelta(minutes=1),
        "started_at": made + timedelta(minutes=2),
        "finished_at": made + timedelta(minutes=3),
    }
    assert found.seen[0].is_open is False


def test_every_job_of_the_documentation_becomes_a_row_of_its_build(shared):
    outcomes = {}
    for path in samples(shared, "rest_api_*.json"):
        value = listed(path)
        jobs = value[0].get("items", value)
        if "type" not in jobs[0]:
            continue
        found = mapped(a_build(jobs=jobs))
        assert not found.rejected
        outcomes[path.name] = [row.job_key for row in found.jobs] or f"{found.idle_jobs} idle"
    assert outcomes == {
        "rest_api_builds.2.json": ["deploy-production"],
        "rest_api_jobs.1.json": ["build"],
        "rest_api_jobs.2.json": ["build"],
        "rest_api_jobs.3.json": ["package"],
        "rest_api_jobs.4.json": ["package"],
        "rest_api_jobs.5.json": "1 idle",
    }


def test_what_is_no_build_is_rejected_and_stops_nothing(shared):
    for path in samples(shared, "*.json"):
        payloads = listed(path)
        found = mapped(*payloads, a_build())
        assert len(found.builds) + len(found.rejected) == len(payloads) + 1, path.name
        assert found.builds[-1].number == 1
        assert all(len(row.raw.encode()) <= MAX_RAW_BYTES for row in found.rejected)


def test_the_elided_events_of_the_documentation_are_rejected_with_reasons(shared):
    for path in samples(shared, "webhook_*_events.*.json"):
        event = json.loads(path.read_text())
        if event["event"] == "ping":
            continue
        (row,) = map_event(event, source=HOOK, now=NOON).rejected
        assert "number: it is missing" in row.reasons


# Times.


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-02T12:00:00.500Z",
        "2026-11-02T13:00:00.500+01:00",
        "2026-11-02T07:00:00.500-0500",
        "2026-11-02 12:00:00.500 UTC",
        " 2026-11-02 12:00:00.5UTC",
    ],
)
def test_one_instant_in_any_spelling_is_one_row(text):
    plain = map_job(started_at="2026-11-02T12:00:00.500Z")
    assert map_job(started_at=text) == plain
    assert plain.started_at == NOON + timedelta(milliseconds=500)


def test_times_of_webhooks_have_a_zone_in_words():
    assert parse_instant("2013-09-03 13:24:38 UTC") == datetime(2013, 9, 3, 13, 24, 38, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        pytest.param("2013-09-03 13:24:38", "needs a zone", id="without zone"),
        pytest.param(1_700_000_000, "must be text", id="seconds"),
        pytest.param("yesterday", "no ISO 8601 time", id="words"),
        pytest.param("0001-01-01T00:00:00+14:00", "no ISO 8601 time", id="before all time"),
        pytest.param({}, "must be text", id="object"),
    ],
)
def test_times_that_are_none_reject_the_row_by_field_and_value(value, words):
    row = map_job(started_at=value)
    assert (row.target, row.position) == ("job_attempts", "build.jobs[0].started_at")
    assert row.origin == a_build()["url"]
    (reason,) = row.reasons
    assert reason.startswith("started_at: ")
    assert words in reason
    assert "got" in reason


@pytest.mark.parametrize(
    ("times", "position", "words"),
    [
        pytest.param(
            {"started_at": "2026-11-02T12:05:00Z", "finished_at": "2026-11-02T12:04:59Z"},
            "build.jobs[0].finished_at",
            "2026-11-02T12:04:59+00:00 lies before started_at, 2026-11-02T12:05:00+00:00",
            id="finish before start",
        ),
        pytest.param(
            {"started_at": "2027-01-01T00:00:00Z"},
            "build.jobs[0].started_at",
            "lies in the future",
            id="future",
        ),
        pytest.param(
            {"created_at": "1970-01-01T00:00:00Z"},
            "build.jobs[0].created_at",
            "lies before 2015",
            id="epoch",
        ),
    ],
)
def test_times_that_cannot_be_reject_the_row_alone(times, position, words):
    row = map_job(**times)
    assert row.position == position
    assert words in row.reasons[0]


def test_several_things_wrong_are_all_said():
    row = map_job(started_at="x", exit_status="0", id="7")
    assert row.position == "build.jobs[0]"
    assert [reason.split(":")[0] for reason in row.reasons] == ["id", "exit_status", "started_at"]


def test_a_build_that_cannot_be_stored_does_not_cost_its_jobs():
    found = mapped(a_build(finished_at="2000-01-01T00:00:00Z"))
    assert (len(found.builds), len(found.jobs)) == (0, 2)
    assert found.rejected[0].position == "build.finished_at"


def test_a_build_without_identity_says_what_is_lost_with_it():
    found = mapped(a_build(commit=None))
    assert (len(found.builds), len(found.jobs)) == (0, 0)
    assert found.rejected[0].reasons[-1] == "jobs: not stored either: 2"


def test_a_build_without_an_address_is_placed_in_the_listing():
    found = mapped(a_build(), a_build(url=None, state=3))
    row = found.rejected[0]
    assert (row.origin, row.position) == (REST.address, "builds[1].state")


def test_a_scheduled_time_before_the_creation_is_no_fault():
    """A job that was uploaded later inherits the build's time."""
    assert map_job(scheduled_at="2026-11-02T11:00:00Z").scheduled_at < NOON


# Absent, null and wrong.


MAY_BE_NULL = (
    "agent",
    "agent_query_rules",
    "exit_status",
    "finished_at",
    "group_key",
    "retried",
    "retries_count",
    "retry_source",
    "runnable_at",
    "signal",
    "soft_failed",
    "web_url",
)


@pytest.mark.parametrize("field", MAY_BE_NULL)
def test_what_may_be_null_may_be_absent(field):
    build = a_build()
    build["jobs"][0][field] = None
    with_null = mapped(copy.deepcopy(build))
    del build["jobs"][0][field]
    without = mapped(build)
    assert with_null.jobs == without.jobs
    assert len(without.jobs) == 2


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("exit_status", "0"),
        ("exit_status", 2**31),
        ("exit_status", True),
        ("retries_count", -1),
        ("retries_count", 255),
        ("soft_failed", "no"),
        ("agent_query_rules", "queue=a"),
        ("agent_query_rules", [1]),
        ("agent", "host-1"),
        ("parallel_group_index", 65_536),
        ("state", ""),
        ("type", "robot"),
        ("type", None),
    ],
)
def test_what_has_the_wrong_type_is_rejected(field, value):
    row = map_job(**{field: value})
    assert row.position.startswith(f"build.jobs[0].{field}")
    assert row.model_dump_json().encode()


def test_half_a_character_is_replaced():
    assert map_job(name="a\ud800").job_name == "a?"
    assert map_job(name=["\ud800"]).model_dump_json().encode()
    (build,) = mapped(a_build(env={"NIGHTLY": "\ud800"})).builds
    assert build.environment == {"NIGHTLY": "?"}


def test_a_list_of_jobs_that_is_none_is_rejected():
    found = mapped(a_build(jobs="none"))
    assert (len(found.builds), found.rejected[0].position) == (1, "build.jobs")


@pytest.mark.parametrize(
    ("state", "finished_at", "job_state", "is_open"),
    [
        ("running", None, "running", True),
        ("scheduled", None, "scheduled", True),
        ("canceling", None, "canceling", True),
        ("new_word", None, "scheduled", True),
        ("blocked", None, "passed", False),
        ("skipped", None, "skipped", False),
        ("passed", "2026-11-02T12:10:00Z", "passed", False),
        ("failed", "2026-11-02T12:10:00Z", "running", True),
        ("failed", "2026-11-02T12:10:00Z", "waiting_failed", False),
    ],
)
def test_a_build_is_open_while_it_can_change_by_itself(state, finished_at, job_state, is_open):
    build = a_build(state=state, finished_at=finished_at)
    for job in build["jobs"]:
        job["state"] = job_state
    (seen,) = mapped(build).seen
    assert seen.is_open is is_open


# What is never stored.


def test_variables_are_stored_by_name_and_secrets_are_not():
    env = {"NIGHTLY": "1", "RUN_ALL": 1, "NOAUTO": None, "HF_TOKEN": "hf_secret"}
    (build,) = mapped(a_build(env=env)).builds
    assert build.environment == {"NIGHTLY": "1", "RUN_ALL": "1"}


def test_addresses_are_not_stored():
    message = "Fix it (by ada@example.com)\n\nSigned-off-by: Ada <ada@example.com>"
    creator = {"name": "bob@example.com", "email": "bob@example.com"}
    (build,) = mapped(a_build(message=message, creator=creator)).builds
    assert (build.message, build.author) == ("Fix it (by ***)", "***")


def test_a_rejection_shows_nothing_secret_and_little_of_anything():
    build = a_build(
        state=None,
        env={"HF_TOKEN": "hf_secret"},
        meta_data={"key": "hf_secret"},
        message="x" * 9000 + " ada@example.com",
    )
    text = mapped(build).rejected[0].model_dump_json()
    assert "hf_secret" not in text
    assert "@example.com" not in text
    assert len(json.loads(text)["raw"].encode()) <= MAX_RAW_BYTES


def test_variables_of_the_wrong_shape_are_not_shown():
    row = mapped(a_build(env="HF_TOKEN=hf_secret")).rejected[0]
    assert row.reasons == ("env: Input should be a valid dictionary (got str)",)
    assert "hf_secret" not in row.model_dump_json()


# Fields that follow a rule.


@pytest.mark.parametrize(
    ("given", "attempt"),
    [
        ({}, 1),
        ({"retries_count": 0}, 1),
        ({"retries_count": 3}, 4),
        ({"retry_source": {"job_id": str(UUID(int=9))}}, 2),
        ({"retry_source": {"job_id": str(UUID(int=9))}, "retries_count": 2}, 3),
    ],
)
def test_attempts_count_from_one(given, attempt):
    assert map_job(**given).attempt == attempt


@pytest.mark.parametrize(
    ("given", "queue"),
    [
        ({"agent_query_rules": ["os=linux", "queue=gpu_4"]}, "gpu_4"),
        ({"agent_query_rules": ["queue = gpu_4 "]}, "gpu_4"),
        ({"agent_query_rules": ["*"]}, "default"),
        ({"agent_query_rules": [], "cluster_queue_id": str(UUID(int=5))}, str(UUID(int=5))),
        ({"agent_query_rules": ["queue=a"], "cluster_queue_id": str(UUID(int=5))}, "a"),
        ({"type": "trigger", "agent_query_rules": None}, ""),
    ],
)
def test_the_queue_is_what_the_rules_ask_for(given, queue):
    assert map_job(**given).queue == queue


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ({"state": "running", "exit_status": 0}, None),
        ({"finished_at": "2026-11-02T12:10:00Z", "exit_status": 3}, 3),
        ({"finished_at": "2026-11-02T12:10:00Z", "exit_status": -1}, None),
    ],
    ids=["running", "failed", "agent lost"],
)
def test_a_status_is_what_the_command_ended_with(given, status):
    assert map_job(**given).exit_status == status


@pytest.mark.parametrize(
    ("pull_request", "number"),
    [(None, None), ({}, None), ({"id": "1234"}, 1234), ({"id": 1234}, 1234)],
)
def test_pull_requests_are_numbers(pull_request, number):
    assert mapped(a_build(pull_request=pull_request)).builds[0].pull_request == number


def test_jobs_that_run_nothing_are_counted_and_not_stored():
    waiters = [{"id": "w", "type": kind} for kind in ("waiter", "manual", "block", "input")]
    found = mapped(a_build(jobs=waiters))
    assert (found.idle_jobs, found.jobs, found.rejected) == (4, [], [])


@pytest.mark.parametrize(
    ("name", "shard", "key"),
    [
        ("Kernels Attention Test 2", Shard(index=1, total=4), "kernels-attention-test"),
        ("Kernels Attention Test 1", Shard(index=1, total=4), "kernels-attention-test"),
        ("Kernels Attention Test 3", Shard(index=0, total=4), "kernels-attention-test-3"),
        ("Kernels Attention Test %N", Shard(index=0, total=4), "kernels-attention-test"),
        ("Kernels (%n/%t)", None, "kernels"),
        ("LoRA TP 2/4", None, "lora-tp"),
        ("LoRA TP (2 of 4)", Shard(index=1, total=4), "lora-tp"),
        ("LoRA - shard 3", None, "lora"),
        (":nvidia: (H200 MIG 18GB) Sampler unit", None, "h200-mig-18gb-sampler-unit"),
        ("V1 Test e2e + engine", None, "v1-test-e2e-engine"),
        ("Python 3.12", None, "python-3-12"),
        ("Ratio 3/2", None, "ratio-3-2"),
        ("2025/01/02", None, "2025-01-02"),
        ("Größe 1/2", None, "grösse"),
        ("2/4", None, "2-4"),
        (":rocket:", None, "unnamed"),
    ],
)
def test_the_key_of_a_name_has_no_shard(name, shard, key):
    assert job_key(step_key=None, name=name, shard=shard) == key


@pytest.mark.parametrize(
    ("step_key", "key"),
    [
        ("kernels-4", "kernels-4"),
        ("lora-2-of-4", "lora"),
        ("lora-shard-2", "lora"),
        ("shard-2", "shard-2"),
    ],
)
def test_the_key_of_a_step_loses_only_a_shard_in_words(step_key, key):
    assert job_key(step_key=step_key, name="x 1/2", shard=Shard(index=0, total=2)) == key


def test_the_parallel_group_is_the_truth_of_a_shard():
    group = {"parallel_group_index": 2, "parallel_group_total": 4, "step_key": "k"}
    row = map_job(name="Test 1/9", **group)
    assert (row.shard, row.shards, row.job_key) == (2, 4, "k")
    alone = map_job(name="Test 1/9", step_key=None)
    assert (alone.shard, alone.shards, alone.job_key) == (0, 9, "test")


@given(
    base=st.from_regex(r"[A-Za-z]{1,8}( [A-Za-z]{1,8}){0,3}", fullmatch=True),
    total=st.integers(2, 60),
    form=st.sampled_from(["{b} {n}/{t}", "{b} ({n}/{t})", "{b} {n} of {t}", "{b} {n}", "{b} %N"]),
)
def test_all_shards_of_a_job_have_one_key(base, total, form):
    shards = [Shard(index=index, total=total) for index in range(total)]
    names = [form.format(b=base, n=shard.index + 1, t=total) for shard in shards]
    keys = {
        job_key(step_key=None, name=name, shard=shard)
        for name, shard in zip(names, shards, strict=True)
    }
    assert len(keys) == 1
    if "{t}" in form:
        assert [shard_in_name(name) for name in names] == shards


# Versions.


def life(organization, number):
    """Yield after every step of a build's life, one of each kind, in a few ms of each other."""
    yield
    for step in (
        lambda: organization.start(number, 0),
        lambda: organization.finish(number, 0, state="failed"),
        lambda: organization.start(number, 1),
        lambda: organization.finish(number, 1),
        lambda: organization.unblock(number),
        lambda: organization.retry(number, 0),
        lambda: organization.start(number, 3),
        lambda: organization.finish(number, 3),
        lambda: organization.start(number, 4),
        lambda: organization.finish(number, 4),
    ):
        organization.advance(milliseconds=1)
        step()
        yield


def test_versions_rise_with_every_step_of_a_life():
    organization = Organization()
    number = organization.create(jobs=2, block=True)
    views, states = [], set()
    for _ in life(organization, number):
        found = mapped(copy.deepcopy(organization.builds[number]))
        views.append(
            {row.build_id: row for row in found.builds} | {r.job_id: r for r in found.jobs}
        )
        states.add(found.builds[0].state)
    assert states == {"scheduled", "running", "failing", "failed", "passed"}
    for earlier, later in pairwise(views):
        for key, row in earlier.items():
            if later[key] == row:
                assert later[key].version == row.version
            elif later[key].model_copy(update={"version": row.version}) != row:
                assert later[key].version > row.version


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("assigned", "accepted"),
        ("accepted", "running"),
        ("running", "canceling"),
        ("waiting", "scheduled"),
        ("broken", "scheduled"),
        ("canceling", "canceled"),
        ("new_word", "passed"),
        ("waiting", "new_word"),
    ],
)
def test_states_without_a_time_of_their_own_are_ranked(earlier, later):
    def version(state):
        return job_version(state, [NOON], retried=False, whole=True)

    assert version(earlier) < version(later)


def test_a_retry_is_a_later_version_of_the_attempt_before_it():
    done = {"state": "failed", "finished_at": "2026-11-02T12:10:00Z"}
    assert map_job(**done, retried=True).version > map_job(**done).version


def test_versions_fit_the_column_and_every_json_reader():
    far = datetime(2400, 1, 1, tzinfo=UTC)
    assert job_version("passed", [far], retried=True, whole=True) < 2**53


# Events.


def event(name="job.finished", **changes):
    build = a_build()
    job = build.pop("jobs")[0]
    return {"event": name, "job": job, "build": build, "pipeline": build.pop("pipeline")} | changes


def test_an_event_about_a_job_gives_the_job_and_its_build():
    found = map_event(event(), source=HOOK, now=NOON + timedelta(hours=1))
    assert [row.job_name for row in found.jobs] == ["Job 0"]
    assert [row.pipeline for row in (*found.jobs, *found.builds)] == ["engine", "engine"]


def test_an_event_about_a_build_gives_the_build():
    sent = event("build.finished")
    del sent["job"]
    found = map_event(sent, source=HOOK, now=NOON + timedelta(hours=1))
    assert (len(found.builds), len(found.jobs), len(found.rejected)) == (1, 0, 0)


def test_the_whole_payload_of_a_state_counts_more_than_the_event_of_it():
    rest, hook = mapped(a_build()), map_event(event(), source=HOOK, now=NOON + timedelta(hours=1))
    assert rest.jobs[0].version == hook.jobs[0].version + 1
    finished = map_job(state="passed", finished_at="2026-11-02T12:02:00Z")
    assert finished.version > rest.jobs[0].version


def test_an_event_that_does_not_fit_is_placed_by_its_job():
    sent = event()
    sent["job"]["created_at"] = None
    (row,) = map_event(sent, source=HOOK, now=NOON).rejected
    assert row.position == f"build.jobs[{sent['job']['id']}].created_at"


@pytest.mark.parametrize(
    "changes", [{"pipeline": None}, {"pipeline": {}}, {"build": None}, {"build": []}]
)
def test_an_event_without_build_or_pipeline_is_rejected(changes):
    found = map_event(event(**changes), source=HOOK, now=NOON)
    assert (found.builds, found.jobs, len(found.rejected)) == ([], [], 1)


# Anything.


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(payload=anything)
def test_no_payload_stops_the_page(payload):
    found = mapped(payload, a_build())
    assert len(found.builds) + len(found.rejected) == 2
    map_event({"build": payload, "job": payload}, source=HOOK, now=NOON)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_no_field_stops_the_page(data):
    build = a_build()
    owner = data.draw(st.sampled_from([build, *build["jobs"]]))
    field = data.draw(st.sampled_from(sorted(owner)))
    owner[field] = data.draw(anything)
    found = mapped(build, a_build())
    assert len(found.builds) >= 1
    if field not in ("jobs", "id", "number", "commit", "branch", "pipeline"):
        assert len(found.jobs) + found.idle_jobs >= 3
    for row in found.rows:
        assert row.model_dump_json().encode()
