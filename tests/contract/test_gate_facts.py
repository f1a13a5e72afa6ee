"""What gates are decided on, read from a real store."""

import uuid
from datetime import timedelta

import pytest
from factories import attempt_row, build_row, decision_row, failure_row, repetition_row, run_row
from stores import embedded_store

from gauntlet.core.clock import utc_now
from gauntlet.core.errors import InvalidMeasurementError, UsageError
from gauntlet.release.artifacts import Artifact
from gauntlet.release.gates.evaluate import evaluate_gates
from gauntlet.release.gates.evidence import read_facts, read_waivers
from gauntlet.release.gates.facts import Facts, Subject
from gauntlet.release.gates.record import qualification_rows, recorded, waiver_row
from gauntlet.release.gates.rules import CiGate, Lane, MeasuredGate, NeededRun, WaiverRules
from gauntlet.warehouse.batch import Batch
from gauntlet.warehouse.rows.ci import EnvironmentRow

TODAY = utc_now().replace(hour=6, minute=0, second=0, microsecond=0)
COMMIT, BEFORE = "c" * 40, "b" * 40
IMAGE = "sha256:" + "1" * 64
SUBJECT = Subject(
    name="v1.2.0rc1",
    commit=COMMIT,
    images={"cuda": IMAGE},
    previous="v1.1.0",
    previous_commit=BEFORE,
)
GATES = (
    CiGate(kind="ci", name="full-ci", lanes=(Lane(name="any"),)),
    MeasuredGate(
        kind="measured",
        name="performance",
        runs=(NeededRun(recipe="smoke"),),
        verdicts=("load/*",),
    ),
)


@pytest.fixture
def store(tmp_path):
    with embedded_store(tmp_path / "warehouse") as store:
        yield store


def put(store, *rows):
    store.insert(Batch.of(f"b/{uuid.uuid4()}", rows, created_at=TODAY))


def attempt(key, state="passed", number=1, try_=1, **changes):
    at = TODAY - timedelta(hours=5 - try_)
    return attempt_row(
        key, number, try_, sha=COMMIT, state=state, created_at=at, runnable_at=at, started_at=at,
        finished_at=at + timedelta(minutes=30), **changes,
    )  # fmt: skip


def measured(run_id="r1", **changes):
    began = TODAY - timedelta(hours=4)
    yield run_row(run_id, status="complete", started_at=began, updated_at=TODAY, **changes)
    for side, commit in (("baseline", BEFORE), ("candidate", COMMIT)):
        for pair in range(2):
            yield repetition_row(
                run_id, pair=pair, side=side, engine_commit=commit, accelerator="H200",
                image_digest=IMAGE if side == "candidate" else None, started_at=began,
                ended_at=began + timedelta(minutes=30),
            )  # fmt: skip


def test_attempts_come_with_their_class_image_and_instant(store):
    failed = attempt("a", "failed", try_=1)
    image = EnvironmentRow(
        job_id=failed.job_id, kind="image", name="engine", version=IMAGE, at=TODAY
    )
    put(store, failed, attempt("a", try_=2), failure_row(failed, "infra_machine"), image)
    put(store, attempt("other", number=9).model_copy(update={"sha": BEFORE}))
    facts = read_facts(store, SUBJECT, GATES)
    assert [(j.job_key, j.state, j.failure_class, j.image) for j in facts.jobs] == [
        ("a", "failed", "infra_machine", IMAGE),
        ("a", "passed", "", ""),
    ]
    assert facts.jobs[0].at == TODAY - timedelta(hours=4) + timedelta(minutes=30)
    assert facts.previous_jobs == {"other"}


def test_a_row_that_came_twice_counts_once_and_its_newest_version_wins(store):
    first = attempt("a", "running").model_copy(update={"finished_at": None})
    put(store, first)
    put(store, first.model_copy(update={"version": 2, "state": "failed"}))
    put(store, *measured(), *measured())
    facts = read_facts(store, SUBJECT, GATES)
    assert [job.state for job in facts.jobs] == ["failed"]
    assert [run.hours for run in facts.runs] == [pytest.approx(1.0)]


def test_builds_that_wait_for_a_person_are_named(store):
    put(store, build_row(4, sha=COMMIT, blocked=True), build_row(5, sha=COMMIT, state="blocked"))
    put(store, build_row(6, sha=COMMIT), build_row(7, sha=BEFORE, blocked=True))
    assert read_facts(store, SUBJECT, GATES).blocked_builds == (4, 5)


def test_a_run_tells_what_it_measured_and_against_what(store):
    put(store, *measured(recipe="smoke"), decision_row("r1", outcome="same", at=TODAY))
    put(store, run_row("single"), repetition_row("single", side="single", engine_commit=COMMIT))
    (run,) = read_facts(store, SUBJECT, GATES).runs
    assert (run.recipe, run.accelerator, run.status) == ("smoke", "H200", "complete")
    assert (run.commits, run.images, run.baseline_commits) == ({COMMIT}, {IMAGE}, {BEFORE})
    assert [verdict.outcome for verdict in run.verdicts] == ["same"]


def test_a_verdict_that_cannot_be_read_is_an_error_and_no_pass(store):
    put(store, *measured(), decision_row("r1", evidence='{"effect": "much"}', at=TODAY))
    with pytest.raises(InvalidMeasurementError, match="the verdict on load/random/tpot_ms/p50"):
        read_facts(store, SUBJECT, GATES)


def evaluate(facts, now=TODAY):
    return evaluate_gates(GATES, SUBJECT, facts, waivers=WaiverRules(), level=0.01, now=now)


def test_what_was_decided_is_read_back(store):
    artifact = Artifact(kind="image", cell="cuda", name="engine", digest=IMAGE, size_bytes=1)
    result = evaluate(Facts())
    rows = qualification_rows(result, artifacts=[artifact], previous="v1.1.0", at=TODAY, by="Ann")
    put(store, *rows)
    kept = recorded(store, "v1.2.0rc1")
    assert (kept.outcome, kept.commit, kept.by) == ("NOT QUALIFIED", COMMIT, "Ann")
    assert {gate.gate: gate.state for gate in kept.gates} == {
        "full-ci": "MISSING",
        "performance": "MISSING",
    }
    (row,) = store.query("candidates")
    assert row["run_id"] == "v1.2.0rc1"
    with pytest.raises(UsageError, match="no gate was evaluated for v1.2.0rc2"):
        recorded(store, "v1.2.0rc2")


def test_a_waiver_is_read_back_until_it_is_taken_back(store):
    problems = evaluate(Facts()).gates[0].problems
    row = waiver_row(
        "v1.2.0rc1", COMMIT, "full-ci", problems, reason="no machine", by="Ann", at=TODAY,
        until=TODAY + timedelta(days=2),
    )  # fmt: skip
    put(store, row)
    (waiver,) = read_waivers(store, "v1.2.0rc1")
    assert (waiver.gate, waiver.covers, waiver.by) == ("full-ci", ("lane/any",), "Ann")
    assert evaluate(Facts(waivers=(waiver,))).gates[0].state == "WAIVED"
    back = decision_row(
        "v1.2.0rc1", "waiver", "gate/full-ci", outcome="withdrawn",
        decision_id="back", at=TODAY + timedelta(hours=1),
    )  # fmt: skip
    put(store, back)
    assert read_waivers(store, "v1.2.0rc1") == []
