"""All pages in a real browser, over a small made-up organisation."""

import csv
import os
from collections import Counter
from pathlib import Path

import pytest
from browser import chromium, serving, visiting
from stores import stop_server

from gauntlet.core.clock import utc_now
from gauntlet.hud.made_up.fill import make_demo
from gauntlet.hud.pages import PAGES
from gauntlet.warehouse.store import open_store

pytestmark = pytest.mark.browser
COUNTING = Path(__file__).with_name("counting_app.py")
ARTIFACTS = Path(os.environ.get("GAUNTLET_ARTIFACTS", ".cache/screenshots"))


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory):
    folder = tmp_path_factory.mktemp("browser") / "now" / "warehouse"
    make_demo(folder, utc_now(), scale="small", nights=40)
    yield str(folder)
    stop_server(folder)


@pytest.fixture(scope="module")
def site(warehouse):
    with serving("--warehouse", warehouse) as served:
        yield served.address


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


def test_the_made_up_candidates_are_judged_as_they_were_made(warehouse):
    with open_store(warehouse) as store:
        rows = store.query("candidates")
    outcomes = {row["run_id"]: dict(zip(row["gates"], row["states"], strict=True)) for row in rows}
    assert [row["outcome"] for row in rows] == ["QUALIFIED", "NOT QUALIFIED", "NOT QUALIFIED"]
    assert outcomes["v0.42.0rc2"] == {
        "accuracy": "FAIL",
        "performance": "PASS",
        "reliability": "PASS",
    }
    assert outcomes["v0.42.0rc1"] == {
        "accuracy": "PASS",
        "performance": "FAIL",
        "reliability": "PASS",
    }


LOOKS = {page.path or "main": (page.path, page.title) for page in PAGES} | {
    "a candidate": ("releases?candidate=v0.42.0rc2", "Releases"),
    "a run": ("run?run=v0.42.0rc1", "Run"),
    "two runs": ("compare?baseline=run:v0.42.0rc3&candidate=run:v0.42.0rc1", "Compare"),
    "answers": ("accuracy?series=gsm8k-atlas-8b-h200&task=gsm8k", "Accuracy"),
    "a queue": ("queues?queue=l4-1&range=1d", "Queues"),
}


@pytest.mark.parametrize("look", LOOKS)
def test_a_page_is_drawn_readable_for_all_and_asks_no_other_machine(browser, site, look):
    from axe_playwright_python.sync_playwright import Axe

    path, title = LOOKS[look]
    with visiting(browser) as visit:
        visit.open(f"{site}/{path}")
        assert visit.page.locator("h1").first.inner_text() == title
        visit.page.wait_for_timeout(700)
        ARTIFACTS.mkdir(parents=True, exist_ok=True)
        visit.page.screenshot(path=ARTIFACTS / f"{look.replace(' ', '-')}.png")
        assert visit.exceptions == 0
        assert visit.errors == []
        assert visit.outside == []
        found = Axe().run(visit.page, options={"resultTypes": ["violations"]})
        assert serious(found.response["violations"]) == []


def serious(violations):
    """What the page itself does wrong: rule, place, and why."""
    return [
        (each["id"], node["target"], node.get("failureSummary"))
        for each in violations
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"]
    ]


def test_the_links_of_the_frame_go_back_by_one_page_each(browser, site):
    with visiting(browser) as visit:
        visit.open(f"{site}/releases")
        visit.open(f"{site}/releases?candidate=v0.42.0rc2")
        page = visit.page
        page.get_by_role("link", name="its measurements").click()
        visit.settled()
        page.get_by_text("v0.42.0rc2").first.wait_for()
        assert page.url.endswith("/run?run=v0.42.0rc2")
        page.go_back()
        visit.settled()
        page.get_by_text("What blocks", exact=True).wait_for()
        assert page.url.endswith("/releases?candidate=v0.42.0rc2")
        page.get_by_role("link", name="all candidates").click()
        visit.settled()
        page.get_by_text("Newest qualified").wait_for()
        page.go_back()
        visit.settled()
        page.get_by_text("What blocks", exact=True).wait_for()
        assert visit.errors == []


def test_an_address_restores_what_was_looked_at(browser, site):
    with visiting(browser) as visit:
        visit.open(f"{site}/run?run=v0.42.0rc1")
        page = visit.page
        page.get_by_role("radio", name="ttft_ms").click()
        visit.settled()
        page.get_by_role("radio", name="local").click()
        visit.settled()
        address = page.url
    with visiting(browser) as other:
        other.open(address)
        other.page.get_by_role("radio", name="ttft_ms", checked=True).wait_for()
        other.page.get_by_role("radio", name="local", checked=True).wait_for()
        other.page.get_by_text("v0.42.0rc1").first.wait_for()
        assert other.exceptions == 0


def test_the_viewers_zone_is_shown_and_kept_from_page_to_page(browser, site):
    with visiting(browser, timezone_id="Asia/Tokyo") as visit:
        visit.open(f"{site}/releases")
        page = visit.page
        page.get_by_text("times in UTC").wait_for()
        page.get_by_role("radio", name="local").click()
        page.get_by_text("times in Asia/Tokyo").wait_for()
        page.get_by_role("link", name="Run", exact=True).click()
        visit.settled()
        page.get_by_text("times in Asia/Tokyo").wait_for()
        assert "tz=local" in page.url


def test_dark_is_dark_where_the_viewer_wants_it(browser, site):
    shades = []
    for scheme in ("light", "dark"):
        with visiting(browser, color_scheme=scheme) as visit:
            visit.open(f"{site}/releases")
            look = "getComputedStyle(document.querySelector('.stApp')).backgroundColor"
            shades.append(sum(map(int, visit.page.evaluate(look)[4:-1].split(","))))
    assert shades[0] > 600
    assert shades[1] < 150


def test_ten_viewers_ask_the_warehouse_as_often_as_one(browser, warehouse, tmp_path, monkeypatch):
    diary = tmp_path / "diary"
    monkeypatch.setenv("HUD_DIARY", str(diary))
    with serving(warehouse, script=COUNTING) as site:
        contexts = [browser.new_context() for _ in range(10)]
        pages = [context.new_page() for context in contexts]
        for page in pages:
            page.goto(f"{site.address}/", wait_until="commit")
        for page in pages:
            page.locator("[data-cell]").first.wait_for(timeout=60_000)
        asked = Counter(diary.read_text().splitlines())
        for context in contexts:
            context.close()
    assert any(line.startswith("main_grid") for line in asked)
    assert set(asked.values()) == {1}


def test_quick_clicks_while_the_page_is_slow_are_all_kept(
    browser, warehouse, tmp_path, monkeypatch
):
    """Ten clicks within a rerun of some seconds (streamlit/streamlit#4836)."""
    monkeypatch.setenv("HUD_DIARY", str(tmp_path / "diary"))
    monkeypatch.setenv("HUD_SLOW_S", "1.5")
    with serving(warehouse, script=COUNTING) as site, visiting(browser) as visit:
        visit.open(f"{site.address}/")
        page = visit.page
        page.locator("[data-cell]").first.wait_for(timeout=60_000)

        def choose(name):
            page.get_by_role("radio", name=name, exact=True).dispatch_event("click")

        def toggle():
            page.get_by_role("switch").first.dispatch_event("click")

        clicks = ["100", "name", toggle, "local", "200", "trouble", toggle, "name", toggle, "100"]
        for click in clicks:
            click() if callable(click) else choose(click)
        for kept in ("100", "name", "local"):
            page.get_by_role("radio", name=kept, exact=True, checked=True).wait_for()
        page.wait_for_function("new URL(location.href).searchParams.get('commits') === '100'")
        visit.settled()
        asked = dict(pair.split("=") for pair in page.url.partition("?")[2].split("&"))
        assert asked == {"commits": "100", "order": "name", "tz": "local", "only": "true"}
        assert page.get_by_role("switch").first.is_checked()
        assert visit.errors == []


def test_a_cell_is_reached_by_keys_opened_and_closed_by_going_back(browser, site):
    with visiting(browser) as visit:
        visit.open(f"{site}/?order=name")
        page = visit.page
        first = page.locator("[data-cell='0,0']")
        first.focus()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowRight")
        assert page.evaluate("document.activeElement.dataset.cell") == "1,1"
        wanted = page.evaluate("document.activeElement.href")
        page.keyboard.press("Enter")
        page.get_by_role("link", name="close").wait_for()
        assert page.url == wanted
        assert "order=name" in page.url
        page.go_back()
        page.get_by_role("link", name="close").wait_for(state="detached")
        assert page.url.endswith("/?order=name")
        assert visit.errors == []


def test_from_the_grid_to_a_job_and_back(browser, site, warehouse):
    with open_store(warehouse) as store:
        row = next(row for row in store.query("main_grid") if row["failed"] or row["flaky"])
    with visiting(browser) as visit:
        visit.open(f"{site}/?commit={row['sha']}&group={row['group_key']}")
        page = visit.page
        page.locator("a[href^='./jobs?job=']").first.click()
        visit.settled()
        page.get_by_role("heading", name="Jobs and tests").wait_for()
        page.get_by_role("heading", name="Attempts").wait_for()
        page.go_back()
        page.get_by_role("link", name="close").wait_for()
        assert row["sha"] in page.url
        assert visit.exceptions == 0


def test_a_download_holds_what_the_page_shows(browser, site, tmp_path):
    with visiting(browser, accept_downloads=True) as visit:
        visit.open(f"{site}/compare?baseline=run:v0.42.0rc3&candidate=run:v0.42.0rc1")
        page = visit.page
        with page.expect_download() as waiting:
            page.get_by_role("button", name="Verdicts (CSV)").click()
        waiting.value.save_as(tmp_path / "verdicts.csv")
        with page.expect_download() as waiting:
            page.get_by_role("button", name="Report (Markdown)").click()
        waiting.value.save_as(tmp_path / "report.md")
        lines = list(csv.DictReader((tmp_path / "verdicts.csv").read_text().splitlines()))
        assert {row["verdict"] for row in lines} >= {"worse", "same"}
        assert "3 worse" in (tmp_path / "report.md").read_text()


@pytest.mark.slow
def test_memory_stays_bounded_over_many_refreshes(browser, warehouse):
    """A page looked at again and again must not fill the server (streamlit/streamlit#1027)."""
    refreshes = 1000 if os.environ.get("GAUNTLET_SLOW") == "full" else 24
    paths = [page.path for page in PAGES]
    with serving("--warehouse", warehouse) as site, visiting(browser) as visit:
        for path in paths:
            visit.open(f"{site.address}/{path}")
        before = site.resident_mib
        for number in range(refreshes):
            visit.open(f"{site.address}/{paths[number % len(paths)]}")
        assert site.resident_mib - before < 100
