"""The page of a run: drawn from a real warehouse, without data, and in a real browser."""

import json
import shutil
import socket
import subprocess
import sys

import pandas as pd
import pytest
from factories import (
    batch,
    decision_row,
    metric_row,
    repetition_row,
    request_row,
    run_row,
    sample_row,
)
from ports import free_port, wait_listening

from gauntlet.hud import charts
from gauntlet.hud.reading import Reader
from gauntlet.hud.run.data import by_severity, changed_answers, load_run
from gauntlet.warehouse.store import open_store

SIDES = ("baseline", "candidate")


def verdict(run_id, subject, outcome, change, margin=4.0, unit="%"):
    evidence = {
        "subject": subject,
        "verdict": outcome,
        "blocking": True,
        "reason": f"{change:+.1f} {unit}",
        "margin": margin,
        "unit": unit,
        "effect": change,
        "interval": [change - 1, change + 1],
        "higher_is_better": unit == "points",
        "baseline": 10.0,
        "candidate": 10.8,
        "value_unit": "ms",
    }
    return decision_row(run_id, subject=subject, outcome=outcome, evidence=json.dumps(evidence))


def fill(location, run_id="20260101-120000-aaaaaa"):
    pairs = [(pair, side) for pair in range(2) for side in SIDES]
    rows = batch(
        run_id,
        run_row(run_id, status="complete", version=1),
        *(repetition_row(run_id, pair=p, side=s) for p, s in pairs),
        *(repetition_row(run_id, "gsm8k", side=s, kind="eval") for s in SIDES),
        *(
            metric_row(run_id, pair=p, side=s, metric=name, value=10.0 + (s == "candidate"))
            for p, s in pairs
            for name in ("tpot_ms", "ttft_ms", "e2e_ms")
        ),
        *(request_row(run_id, pair=p, side=s, index=n) for p, s in pairs for n in range(20)),
        sample_row(run_id, item="lost"),
        sample_row(run_id, item="lost", side="candidate", score=0.0, answer="17"),
        sample_row(run_id, item="kept"),
        sample_row(run_id, item="kept", side="candidate"),
        verdict(run_id, "load/random/tpot_ms/p50", "worse", 8.0),
        verdict(run_id, "load/random/ttft_ms/p50", "same", 0.2),
        verdict(run_id, "eval/gsm8k/accuracy", "inconclusive", -1.0, unit="points"),
        decision_row(run_id, "gate", "performance", outcome="FAIL"),
        decision_row(run_id, "gate", "accuracy", outcome="INCONCLUSIVE"),
        decision_row(run_id, "release", "qualification", outcome="NOT QUALIFIED"),
        decision_row(run_id, "selection", "vllm 0.25.0", outcome="69 of 265 jobs"),
    )
    with open_store(location) as store:
        store.insert(rows)
    return run_id


def test_an_empty_warehouse_says_how_to_fill_it(show):
    assert "make demo" in show("run").text


def test_the_page_of_a_run_says_what_was_decided_and_why(show, location):
    run_id = fill(location)
    shown = show("run")
    assert "NOT QUALIFIED" in shown.text
    assert run_id in shown.text
    assert "random TPOT p50" in shown.text
    assert "69 of 265 jobs" in shown.text
    assert "1 lost, 0 gained of 2 questions" in shown.text
    table = shown.tables[0]
    assert list(table["verdict"]) == ["▼ worse", "? inconclusive", "= same"]
    assert list(table["change"]) == ["+8.0 %", "-1.0 pp", "+0.2 %"]


def test_a_choice_survives_a_rerun(show, location):
    fill(location)
    test = show("run").test
    metric = next(each for each in test.button_group if each.key == "metric")
    metric.set_value("ttft_ms").run()
    assert not test.exception
    next(each for each in test.button if each.label == "Read again").click().run()
    assert next(each for each in test.button_group if each.key == "metric").value == "ttft_ms"


def test_runs_are_chosen_by_the_address(show, location):
    first = fill(location, "20260101-120000-aaaaaa")
    fill(location, "20260102-120000-bbbbbb")
    assert f"run {first}" in show("run", run=first).text
    assert "No run nope" in show("run", run="nope").text


def test_a_run_that_ended_early_says_so_and_shows_what_there_is(show, location):
    with open_store(location) as store:
        row = run_row("r9", status="failed", reason="the candidate engine died")
        store.insert(batch("r9", row))
    shown = show("run")
    assert "the candidate engine died" in shown.text
    assert "Nothing was judged" in shown.text


def test_a_locked_warehouse_is_an_error_on_the_page_not_a_crash(show, location):
    from gauntlet.core.errors import InfrastructureError

    def locked(_location):
        msg = "the warehouse is in use by another process"
        raise InfrastructureError(msg, hint="wait")

    shown = show("run", Reader(location, opener=locked))
    assert "in use by another process" in shown.text


def test_a_page_that_is_open_keeps_nobody_out(location):
    fill(location)
    with open_store(location) as held:
        with open_store(location) as store:
            run = store.query("runs")[0]
            assert set(load_run(store, run).distributions["requests"]) == {40}
        fill(location, "20260102-120000-bbbbbb")
        assert len(held.query("runs")) == 2


def test_frames_are_ordered_for_people_and_left_as_they_were():
    verdicts = pd.DataFrame({"outcome": ["same", "worse", "missing", "better"], "n": range(4)})
    before = verdicts.copy()
    assert list(by_severity(verdicts)["n"]) == [1, 2, 0, 3]
    assert verdicts.equals(before)
    assert changed_answers(pd.DataFrame()).empty


def test_effects_are_drawn_in_margins_and_towards_loss():
    frame = pd.DataFrame(
        {
            "subject": ["load/w/tpot_ms/p50", "load/w/output_tokens_per_s/total"],
            "outcome": ["worse", "worse"],
            "effect": [8.0, -8.0],
            "lower": [7.0, -9.0],
            "upper": [9.0, -7.0],
            "higher_is_better": [False, True],
            "margin": [4.0, 4.0],
            "unit": ["%", "%"],
            "reason": ["r", "r"],
        }
    )
    data = charts.effects(frame).to_dict()["datasets"]
    rows = next(rows for rows in data.values() if "objective" in rows[0])
    assert [row["effect_in_margins"] for row in rows] == [2.0, 2.0]


@pytest.fixture
def served(location):
    fill(location)
    port = free_port()
    command = [sys.executable, "-m", "gauntlet", "hud", "--no-browser", "--port", str(port)]
    process = subprocess.Popen([*command, "--warehouse", location])
    wait_listening(port, process)
    yield f"http://127.0.0.1:{port}"
    process.terminate()
    process.wait(10)


@pytest.mark.browser
def test_the_page_works_in_a_browser(served, tmp_path):
    from playwright.sync_api import sync_playwright

    names = ("chromium", "chromium-browser", "google-chrome")
    chromium = next((path for name in names if (path := shutil.which(name))), None)
    if chromium is None:
        pytest.skip("no Chromium on PATH; .ci/run installs it")
    flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]
    flags += ["--disable-quic", "--no-first-run", "--disable-component-update"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=flags)
        page = browser.new_page(viewport={"width": 1440, "height": 1400})
        errors = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(f"{served}/run")
        page.get_by_text("NOT QUALIFIED").first.wait_for(timeout=60_000)
        charts_drawn = page.locator("[data-testid=stVegaLiteChart] :is(canvas, svg.marks)")
        charts_drawn.first.wait_for(timeout=60_000)
        page.get_by_role("radio", name="ttft_ms").click()
        page.get_by_role("radio", name="ttft_ms", checked=True).wait_for(timeout=10_000)
        page.screenshot(path=tmp_path / "page.png")
        assert charts_drawn.count() == 3
        assert page.locator("[data-testid=stException]").count() == 0
        assert not errors
        browser.close()
    assert (tmp_path / "page.png").stat().st_size > 50_000


def test_a_taken_port_is_said_so(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        ended = subprocess.run(
            [sys.executable, "-m", "gauntlet", "hud", "--no-browser", "--port", port],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
        )
    assert ended.returncode == 4
    assert f"port {port} is taken" in ended.stderr
