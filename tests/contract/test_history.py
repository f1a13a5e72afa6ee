"""Histories and nights of a made-up warehouse whose changes are known."""

import json
from dataclasses import replace
from datetime import date, timedelta

import pytest
from click.testing import CliRunner
from factories import NOON, batch, commit_row, metric_row, repetition_row, run_row, sha_of
from recipe_factory import recipe
from stores import embedded_store, served_folder

from gauntlet.analyzer.history.from_store import NightRequest, read_history, read_night
from gauntlet.analyzer.history.load import HistoryRequest
from gauntlet.analyzer.history.report import Rule
from gauntlet.analyzer.nightly_command import nightly
from gauntlet.analyzer.perf_command import perf
from gauntlet.analyzer.series_command import series
from gauntlet.core.clock import utc_now
from gauntlet.core.errors import InvalidMeasurementError, NotQualifiedError
from gauntlet.warehouse.store import open_store
from gauntlet.warehouse.synth import sql_perf
from gauntlet.warehouse.synth.shape import PerfChange, draw_shape, scale_named

DAYS = 40
LAST = date(2026, 6, 30)
FIRST_DAY = (LAST - date(1970, 1, 1)).days - DAYS + 1
STEP, SWITCH = FIRST_DAY + 24, FIRST_DAY + 15


def night_of(day):
    return date(1970, 1, 1) + timedelta(days=day)


@pytest.fixture(scope="module")
def made_up(tmp_path_factory):
    """Two recipes: one becomes 5 % slower, the other is set up differently and 15 % slower."""
    drawn = draw_shape(scale_named("small"), seed=5, first_day=FIRST_DAY, days=DAYS)
    changes = [
        PerfChange(recipe=0, day=STEP, factor=1.05, config=False),
        PerfChange(recipe=1, day=SWITCH, factor=1.15, config=True),
    ]
    shape = replace(drawn, changes=changes, recipes=drawn.recipes[:2])
    with embedded_store(tmp_path_factory.mktemp("history") / "warehouse") as store:
        for day in range(FIRST_DAY, FIRST_DAY + DAYS):
            for statement in (sql_perf.insert_repetitions, sql_perf.insert_metrics):
                store.command(statement(shape, day), {"batch": day})
        yield store, shape


def test_a_history_finds_the_step_and_names_the_change_of_configuration(made_up):
    store, shape = made_up
    report = read_history(store, HistoryRequest(night=LAST, days=DAYS), Rule())
    slower, switched = (each.name for each in shape.recipes)
    losses = [finding for finding in report.findings if finding.blocking]
    assert {finding.place.recipe for finding in losses} == {slower}
    assert len(losses) == 12
    for finding in losses:
        assert abs((finding.night - night_of(STEP)).days) <= 2
        assert finding.loss == pytest.approx(5, abs=1)
    configured = [finding for finding in report.findings if finding.kind == "config-changed"]
    assert {(f.place.recipe, f.night) for f in configured} == {(switched, night_of(SWITCH))}
    assert [state.verdict for state in report.states].count("worse") == 12


def test_a_night_after_the_step_alarms_and_two_nights_later_it_is_blamed(made_up):
    store, shape = made_up
    first, _ = read_night(store, NightRequest(night=night_of(STEP), days=DAYS))
    assert first.verdict == "inconclusive"
    alarms = [finding for finding in first.new if finding.kind == "provisional"]
    assert {finding.place.recipe for finding in alarms} == {shape.recipes[0].name}
    assert all(finding.night == night_of(STEP) for finding in alarms)
    later, _ = read_night(store, NightRequest(night=night_of(STEP + 5), days=DAYS))
    assert later.regressions


def test_reruns_that_came_in_answer_the_alarm(made_up):
    store, _ = made_up
    request = NightRequest(night=night_of(STEP), days=DAYS)
    before, _ = read_night(store, request)
    alarm = next(finding for finding in before.new if finding.kind == "provisional")
    builds = {"baseline": alarm.commits.after, "candidate": alarm.commits.until}
    found = []
    for pair in range(4):
        for side, build in builds.items():
            key = {"run_id": "again", "pair": pair, "side": side}
            key["repetition_id"] = f"again/{pair}/{side}"
            now = utc_now()
            row = repetition_row(
                **key,
                series_id=alarm.series_id,
                recipe=alarm.place.recipe,
                engine_commit=build,
                started_at=now,
                ended_at=now,
            )
            factor = 1.05 if side == "candidate" else 1.0
            statistic = {"metric": alarm.statistic.metric, "statistic": alarm.statistic.statistic}
            if alarm.loss != alarm.effect:
                factor = 1 / factor
            found += [
                row,
                metric_row(**key, **statistic, value=100 * factor * (1 + pair / 1000)),
            ]
    store.insert(batch("reruns", *found))
    after, _ = read_night(store, request)
    answered = next(finding for finding in after.new if finding.subject == alarm.subject)
    assert (answered.kind, answered.blocking, after.verdict) == ("regression", True, "worse")
    assert answered.reason.startswith("confirmed by 4 and 4 reruns")


def test_a_night_without_any_measurement_is_missing(made_up):
    store, _ = made_up
    report, _ = read_night(store, NightRequest(night=LAST + timedelta(days=1), days=DAYS))
    assert (report.verdict, len(report.missing)) == ("missing", 6)


# The commands, on a folder with one series that loses 8 % ten nights ago

NIGHTS, CHANGED, TONIGHT = 40, 30, utc_now().date() - timedelta(days=1)


def rows():
    found = [commit_row(4 * n) for n in range(1, NIGHTS + 1)]
    for n in range(NIGHTS):
        threads = "8" if n < 12 else "16"
        engine = {"kind": "vllm", "model": "m", "version": "1"}
        engine["env"] = {"OMP_NUM_THREADS": threads}
        definition = recipe(name="nightly-one", engine=engine)
        run_id = f"run{n}"
        at = NOON.replace(year=TONIGHT.year, month=TONIGHT.month, day=TONIGHT.day) - timedelta(
            days=NIGHTS - 1 - n
        )
        found.append(run_row(run_id, recipe_definition=definition.model_dump_json()))
        for turn in range(3):
            key = {"run_id": run_id, "repetition_id": f"{run_id}/{turn}", "series_id": "one"}
            value = 10 + (n * 7 % 5 + turn) / 60
            found.append(
                repetition_row(
                    **key,
                    side="single",
                    recipe="nightly-one",
                    point="concurrency=4",
                    config_fp=threads,
                    engine_commit=sha_of(4 * (n + 1)),
                    started_at=at,
                    ended_at=at,
                )
            )
            value *= 1.08 if n >= CHANGED else 1.0
            found.append(metric_row(**key, side="single", value=value))
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    with served_folder(tmp_path_factory.mktemp("commands") / "warehouse") as location:
        with open_store(location) as store:
            store.insert(batch("rows", *rows()))
        yield location


def run(command, folder, *arguments):
    return CliRunner().invoke(command, [*arguments, "--warehouse", folder], standalone_mode=False)


def test_perf_names_loss_commits_and_configuration(folder):
    result = run(perf, folder, "--recipe", "nightly-one", "--metric", "tpot_ms")
    assert result.exception is None
    lines = result.output.splitlines()
    assert lines[0].startswith("REGRESSION      nightly-one  since ")
    assert lines[0].endswith("4 commits")
    assert "engine.env.OMP_NUM_THREADS 8 -> 16" in result.output
    assert lines[-1] == "1 series: 1 worse"
    assert max(map(len, lines)) <= 100
    (state,) = json.loads(run(perf, folder, "--json").output)["series"]
    assert (state["verdict"], state["unit"], state["n"]) == ("worse", "ms", 28)


def test_one_series_of_the_warehouse(folder):
    said = json.loads(run(series, folder, "--series-id", "one", "--json").output)
    assert (said["verdict"], len(said["segments"])) == ("worse", 2)
    assert said["segments"][1]["differences"] == ["engine.env.OMP_NUM_THREADS 8 -> 16"]
    assert said["segments"][1]["points"][0]["n"] == 3
    assert "config-changed on" in run(series, folder, "--series-id", "one").output


def test_a_night_fails_once_for_a_loss_and_is_idempotent(folder, tmp_path):
    plan = tmp_path / "reruns.json"
    for _ in range(2):
        result = run(nightly, folder, "--reruns", str(plan))
        assert isinstance(result.exception, NotQualifiedError)
    with open_store(folder) as store:
        alerts = store.query("alerts")
    assert [row["outcome"] for row in alerts] == ["regression"]
    assert json.loads(plan.read_text())["reruns"] == []


def test_a_dry_run_records_nothing_and_holes_end_in_five(folder):
    tomorrow = (TONIGHT + timedelta(days=1)).isoformat()
    run(nightly, folder)  # tonight's regression is announced, and not new tomorrow
    with open_store(folder) as store:
        before = store.count("decisions")
        result = run(nightly, folder, "--night", tomorrow, "--dry-run", "--json")
        assert isinstance(result.exception, InvalidMeasurementError)
        assert store.count("decisions") == before
    said = json.loads(result.output)
    assert (said["verdict"], len(said["missing"])) == ("missing", 1)
