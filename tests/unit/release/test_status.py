"""Where a release stands, and the one thing that is next."""

import json
from datetime import timedelta

import pytest
from click.testing import CliRunner
from releasing import V120, at

from gauntlet.core.clock import utc_now
from gauntlet.core.errors import ConfigError, InfrastructureError, UsageError
from gauntlet.release.artifacts import Artifact
from gauntlet.release.cli import release as commands
from gauntlet.release.folder import ReleaseFolder
from gauntlet.release.gates.model import GateResult, Problem, Qualification
from gauntlet.release.gates.record import KeptGate, Recorded, qualification_rows
from gauntlet.release.picks.rules import Schedule
from gauntlet.release.picks.window import window_of
from gauntlet.release.state import Candidate, Cut, Pick, Published, Release
from gauntlet.release.status import CandidateFacts, ReleaseFacts, describe
from gauntlet.warehouse.batch import decision_batch
from gauntlet.warehouse.store import open_store

CUT, NOW = at("2026-11-30 09:00"), at("2026-12-01 12:00")
SHA = "a" * 40
PICK = Pick(source="b" * 40, applied="c" * 40, title="Fix (#8)", pull_request=8)
WHEEL = Artifact(
    kind="wheel", cell="cpu", name="e-1.2.0.whl", digest=f"sha256:{'d' * 64}", size_bytes=1
)
DONE = Published(candidate="v1.2.0rc1", by="Ben", at=NOW)
GATES = "NOT QUALIFIED (open: accuracy FAIL), evaluated by Ben on 2026-12-01 12:00 UTC"
GOOD = GateResult(name="artifacts", numbers=(("wheels", 1), ("images", 0)))


def candidate(name="v1.2.0rc1", *, artifacts=(WHEEL,), **changes):
    fields = {"name": name, "commit": SHA, "by": "Ann", "at": CUT, "artifacts": artifacts}
    return Candidate(**{**fields, **changes})


def state(*candidates, **changes):
    fields = {
        "version": "v1.2.0",
        "repository": "engine",
        "branch": "releases/v1.2.0",
        "cut": Cut(commit=SHA, reason="it is green", by="Ann", at=CUT),
        "candidates": candidates,
    }
    return Release(**{**fields, **changes})


def evaluated(outcome="NOT QUALIFIED", *, commit=SHA, **gates):
    kept = tuple(
        KeptGate(gate=name.replace("_", "-"), state=state) for name, state in gates.items()
    )
    return Recorded(
        candidate="v1.2.0rc1", outcome=outcome, commit=commit, at=NOW, by="Ben", gates=kept
    )


def problem(key, state="MISSING", message="it is not there"):
    return GateResult(name="artifacts", problems=(Problem(key=key, state=state, message=message),))


def about(recorded=None, *, artifacts=GOOD, made=None):
    """A release with one candidate, and what is known of it."""
    made = made or candidate()
    return told(state(made), CandidateFacts(candidate=made, artifacts=artifacts, recorded=recorded))


def told(release, *candidates, now=NOW):
    window = window_of(Schedule(), CUT)
    return describe(ReleaseFacts(release=release, window=window, candidates=candidates), now)


def facts(made):
    return CandidateFacts(candidate=made, artifacts=GOOD)


@pytest.mark.parametrize(
    ("status", "command", "why"),
    [
        pytest.param(told(state()), "release candidate v1.2.0", "no candidate yet", id="cut"),
        pytest.param(
            told(state(candidate(), picks=(PICK,)), facts(candidate())),
            "release candidate v1.2.0", "1 pick in no candidate yet", id="picks wait"),
        pytest.param(about(made=candidate(artifacts=())), "release plan v1.2.0rc1 --pipeline",
                     "release build v1.2.0rc1 --collect FOLDER", id="not built"),
        pytest.param(about(artifacts=problem("cell/rocm")),
                     "release build v1.2.0rc1 --collect FOLDER", "it is not there", id="a cell"),
        pytest.param(about(artifacts=problem("unchecked/cpu")), "release build v1.2.0rc1",
                     "it is not there", id="unchecked"),
        pytest.param(about(artifacts=problem("smoke/cpu")), "release smoke v1.2.0rc1 --cell cpu",
                     "it is not there", id="not tried"),
        pytest.param(about(artifacts=problem("smoke/cpu", "FAIL", "it crashed")),
                     "release build v1.2.0rc1", "it crashed", id="broken"),
        pytest.param(about(), "release gate v1.2.0rc1", "not evaluated", id="not evaluated"),
        pytest.param(about(evaluated("QUALIFIED", full_ci="PASS", commit="e" * 40)),
                     "release gate v1.2.0rc1", "at another commit", id="evaluated elsewhere"),
        pytest.param(about(evaluated(full_ci="PASS", accuracy="FAIL", performance="MISSING")),
                     "release why v1.2.0rc1 accuracy", "release picks v1.2.0 CHANGE --blocker",
                     id="failed"),
        pytest.param(about(evaluated(full_ci="MISSING")), "release gate v1.2.0rc1",
                     "open: full-ci MISSING", id="data is missing"),
        pytest.param(about(evaluated("QUALIFIED", full_ci="PASS", accuracy="WAIVED")),
                     "release publish v1.2.0", "v1.2.0rc1 qualifies", id="qualified"),
        pytest.param(about(evaluated("QUALIFIED", artifacts="WAIVED"),
                           artifacts=problem("smoke/cpu")),
                     "release publish v1.2.0", "qualifies", id="artifacts waived"),
        pytest.param(told(state(candidate(), publishing=DONE), facts(candidate())),
                     "release publish v1.2.0", "v1.2.0rc1 was begun", id="publishing"),
        pytest.param(told(state(candidate(), publishing=DONE, published=DONE)),
                     "release verify v1.2.0", "it is published", id="published"),
    ],
)  # fmt: skip
def test_what_is_next_is_one_command(status, command, why):
    assert status.next.command == command
    assert why in status.next.why
    assert list(status.lines())[-1] == f"  next       {command}   ({status.next.why})"


def test_the_newest_candidate_says_what_is_next():
    one, two = candidate(), candidate("v1.2.0rc2", artifacts=())
    first = CandidateFacts(candidate=one, artifacts=GOOD, recorded=evaluated("QUALIFIED"))
    assert "v1.2.0rc2" in told(state(one, two), first, facts(two)).next.command


def test_people_read_where_it_stands():
    made = candidate(picks=(PICK,))
    known = CandidateFacts(
        candidate=made, artifacts=GOOD, recorded=evaluated(full_ci="PASS", accuracy="FAIL")
    )
    assert list(told(state(made), known).lines())[:-1] == [
        "v1.2.0 on releases/v1.2.0",
        "  cut        aaaaaaaaaa by Ann on 2026-11-30 09:00 UTC: it is green",
        "  window     the window is open until Wednesday 2026-12-02 17:00 UTC",
        "  ships      Friday 2026-12-04 17:00 UTC",
        "  v1.2.0rc1  aaaaaaaaaa by Ann on 2026-11-30 09:00 UTC, 1 new pick",
        "             artifacts PASS (1 wheels, 0 images)",
        f"             gates {GATES}",
    ]


def test_a_week_without_a_candidate_that_qualifies_is_said():
    late = told(state(), now=at("2026-12-04 17:00"))
    assert (late.overdue, late.window_open) == (True, False)
    assert any("nothing ships until one qualifies" in line for line in late.lines())
    assert not told(state(publishing=DONE), now=at("2026-12-05 09:00")).overdue


def test_a_clock_behind_the_cut_is_refused():
    with pytest.raises(InfrastructureError, match="the release was cut on 2026-11-30"):
        told(state(), now=at("2026-11-30 08:00"))


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "releases"


def keep(folder, release):
    (folder / release.version).mkdir(parents=True)
    ReleaseFolder(folder / release.version).save(release)


def run(folder, *arguments, warehouse="warehouse"):
    location = str(folder.parent / warehouse)
    where = ["--releases", str(folder), "--warehouse", location]
    return CliRunner().invoke(commands, ["status", *arguments, *where], catch_exceptions=False)


def recent(*candidates, **changes):
    """A release that was cut just now: the command asks the clock."""
    now = utc_now()
    cut = Cut(commit=SHA, reason="it is green", by="Ann", at=now - timedelta(minutes=5))
    return state(*candidates, **{"cut": cut, **changes})


def test_an_empty_folder_says_how_to_begin(folder):
    assert "begin one with: release cut vX.Y.Z" in run(folder).output
    assert json.loads(run(folder, "--json").stdout) == {"releases": []}
    assert not folder.exists()


def test_without_a_warehouse_nothing_was_evaluated_and_none_is_made(folder):
    keep(folder, recent(candidate()))
    done = run(folder)
    assert "gates not evaluated" in done.output
    assert sorted(path.name for path in folder.parent.iterdir()) == ["releases"]
    assert [path.name for path in (folder / "v1.2.0").iterdir()] == ["release.json"]


def test_every_release_is_told_the_newest_first(folder):
    for version in ("v1.2.0", "v1.10.0", "v1.9.0"):
        keep(folder, recent(version=version, branch=f"releases/{version}"))
    keep(folder, recent(version="old-v1.1.0"))
    done = run(folder, "--json")
    versions = [each["version"] for each in json.loads(done.stdout)["releases"]]
    assert versions == ["v1.10.0", "v1.9.0", "v1.2.0"]
    assert "v1.9.0 on" in run(folder, "v1.9.0rc3").output
    with pytest.raises(UsageError, match=r"there is no release v3\.0\.0"):
        run(folder, "v3.0.0")


def test_a_damaged_state_names_the_file(folder):
    keep(folder, recent())
    ReleaseFolder.of(folder, V120).state_file.write_text('{"version": "v1.2.0"')
    with pytest.raises(ConfigError, match=r"release\.json"):
        run(folder)


def test_the_newest_recorded_evaluation_is_shown(folder):
    keep(folder, recent(candidate(), candidate("v1.2.0rc2")))
    now = utc_now()
    with open_store(str(folder.parent / "warehouse")) as store:
        for age, problems in ((2, ()), (1, (Problem(key="a", state="FAIL", message="worse"),))):
            gates = (GateResult(name="accuracy", problems=problems),)
            result = Qualification(candidate="v1.2.0rc1", commit=SHA, gates=gates)
            when = now - timedelta(minutes=age)
            rows = qualification_rows(result, artifacts=(), previous="", at=when, by="Ben")
            store.insert(decision_batch("v1.2.0rc1", "gates", rows, when))
    first, second = json.loads(run(folder, "--json").stdout)["releases"][0]["candidates"]
    assert first["gates"]["outcome"] == "NOT QUALIFIED"
    assert first["gates"]["states"] == {"accuracy": "FAIL"}
    assert (second["gates"], second["not_evaluated"]) == (None, "not evaluated")
    assert first["artifacts"]["state"] == "MISSING"


def test_a_warehouse_that_does_not_answer_leaves_gates_unknown(folder, caplog):
    keep(folder, recent(candidate()))
    where = ["--releases", str(folder), "--warehouse", "http://127.0.0.1:1/x"]
    done = CliRunner().invoke(commands, ["status", *where], catch_exceptions=False)
    assert "gates not known: the warehouse does not answer" in done.output
    assert "the gates are not known" in caplog.text
