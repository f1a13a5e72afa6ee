"""The page Main: its grid and what leads from it, over a small history with hostile names."""

import json
import re
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import pandas as pd
import pytest
from ci_history import HOSTILE, LINE, fill, history, incident_row, sha_of
from ci_scenarios import history as scenario
from ci_scenarios import runs
from factories import NOON, batch
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.analyzer.incidents.detect import detect
from gauntlet.hud.main import charts
from gauntlet.hud.main.cell import attempts_frame, decisive_lines, jobs_to_show
from gauntlet.hud.main.grid import (
    Build,
    Counts,
    builds_of,
    chosen_groups,
    grid_html,
    grid_of,
)
from gauntlet.hud.main.headline import headline
from gauntlet.hud.main.incidents import Links, broken_html, incidents_html, incidents_of
from gauntlet.hud.outcomes import (
    WORST_FIRST,
    attempt_state,
    commit_address,
    pull_request_address,
    worst,
)
from gauntlet.hud.reading import Reader
from gauntlet.hud.shell.times import NONE
from gauntlet.hud.strips import history_strips, legend_html, strips_html
from gauntlet.warehouse.store import open_store

FIRST_LOAD = {
    "main_grid": 1,
    "commit_builds": 1,
    "job_streaks": 1,
    "open_incidents": 1,
    "time_to_signal": 2,
    "green_commits": 1,
}
LINKS = Links(
    job=lambda job: f"./jobs?job={job}",
    commit=lambda sha: f"https://code.example/{sha}",
    cell=lambda sha, group: f"./?commit={sha}&group={group}",
)


@pytest.fixture(scope="module")
def location(tmp_path_factory):
    folder = str(tmp_path_factory.mktemp("main") / "warehouse")
    with open_store(folder) as store:
        fill(store)
    return folder


def grid_row(position, group, **counts):
    return {
        "position": position,
        "sha": sha_of(position),
        "title": f"Change {position}",
        "author": "ann",
        "committed_at": NOON + timedelta(hours=position),
        "repository": "engine",
        "pull_request": None,
        "group_key": group,
        **dict.fromkeys(Counts._fields, 0),
        **counts,
    }


def drawn(rows, groups=None, **changes):
    grid = grid_of(rows)
    fields = {
        "address": lambda sha: f"./?commit={sha}",
        "now": NOON + timedelta(days=3),
        "builds": {},
    }
    return grid_html(grid, groups or grid.groups, **{**fields, **changes})


def cells(html):
    """Each cell's class, attributes and text, in order."""
    found = re.findall(r'<td><a class="(\w)" ([^>]*)>(\d*)</a>', html)
    return [
        (kind, dict(re.findall(r'([\w-]+)="([^"]*)"', attributes)), text)
        for kind, attributes, text in found
    ]


@pytest.mark.parametrize(
    ("counts", "state"),
    [
        ({"failed": 1, "infra": 1, "passed": 9}, "failed"),
        ({"infra": 1, "flaky": 3}, "infra"),
        ({"flaky": 1, "running": 1}, "flaky"),
        ({"running": 1, "blocked": 1}, "running"),
        ({"blocked": 1, "passed": 4}, "blocked"),
        ({"passed": 1, "not_run": 4}, "passed"),
        ({"not_run": 2}, "not run"),
        ({}, "not run"),
    ],
    ids=lambda value: value if isinstance(value, str) else "+".join(value) or "nothing",
)
def test_a_cell_shows_the_worst_of_its_jobs(counts, state):
    assert Counts(**counts).state == state


@given(st.lists(st.sampled_from(WORST_FIRST)))
def test_the_worst_state_does_not_depend_on_the_order(states):
    found = worst(states)
    assert found == worst(reversed(states))
    assert found == (min(states, key=WORST_FIRST.index) if states else "not run")


def test_a_cell_says_everything_in_its_title_and_leads_to_its_detail():
    html = drawn([grid_row(2, "kernels", failed=1, flaky=1, passed=12), grid_row(1, "kernels")])
    (bad, idle) = cells(html)
    short = sha_of(2)[:10]
    assert bad[0] == "f"
    assert bad[1]["title"] == f"kernels at {short}: 1 failed, 1 flaky, 12 passed"
    assert bad[1]["href"] == f"./?commit={short}&amp;group=kernels"
    assert (idle[0], idle[1]["title"].rpartition(": ")[2]) == ("n", "not run")


def test_a_group_that_did_not_run_at_a_commit_is_not_green():
    html = drawn([grid_row(2, "kernels", passed=3), grid_row(1, "engine", passed=1)])
    states = [kind for kind, _, _ in cells(html)]
    assert states == ["n", "p", "p", "n"]


def test_a_cell_with_several_failures_says_how_many_and_keeps_its_name():
    ((_, attributes, text),) = cells(drawn([grid_row(1, "kernels", failed=3)]))
    assert text == "3"
    assert attributes["aria-label"] == attributes["title"]


def test_one_cell_takes_the_tab_key_and_the_arrow_keys_find_the_others():
    html = drawn([grid_row(n, group, passed=1) for n in (2, 1) for group in ("a", "b", "c")])
    assert 'data-grid="2,3"' in html
    places = [(each["data-cell"], each["tabindex"]) for _, each, _ in cells(html)]
    assert places[0] == ("0,0", "0")
    assert [place for place, _ in places] == ["0,0", "0,1", "0,2", "1,0", "1,1", "1,2"]
    assert {focus for _, focus in places[1:]} == {"-1"}


def test_the_chosen_cell_is_marked():
    html = drawn([grid_row(1, "a"), grid_row(1, "b")], chosen=(sha_of(1), "b"))
    assert [each.get("aria-current") for _, each, _ in cells(html)] == [None, "true"]


@given(st.text(min_size=1), st.text(), st.text())
def test_nothing_that_was_recorded_becomes_markup(group, title, author):
    row = grid_row(1, group, passed=1) | {"title": title + HOSTILE, "author": author + HOSTILE}
    html = drawn([row], builds={sha_of(1): Build(number=1, state=HOSTILE, url="javascript:x")})
    assert "<img" not in html
    assert "javascript:" not in html.partition("</style>")[2].replace(group, "")
    ((_, attributes, _),) = cells(html)
    asked = parse_qs(urlsplit(attributes["href"].replace("&amp;", "&")).query, strict_parsing=True)
    assert asked["group"] == [group]


def test_the_html_of_a_large_grid_stays_lean():
    groups = [f"group-{n}" for n in range(40)]
    html = drawn([grid_row(n, group, passed=5) for n in range(200, 0, -1) for group in groups])
    assert len(cells(html)) == 8000
    assert len(html) < 8000 * 200


def test_a_commit_that_was_not_built_is_a_row_without_cells():
    grid = grid_of([grid_row(2, ""), grid_row(1, "kernels", passed=1)])
    assert [each.position for each in grid.commits] == [2, 1]
    assert grid.groups == ["kernels"]
    assert grid.find(sha_of(2)[:38]) == grid.commits[0]
    assert grid.find("") is None


def test_groups_are_ordered_by_trouble_or_name_and_filtered():
    grid = grid_of(
        [
            grid_row(2, "calm", passed=1),
            grid_row(2, "Bad", failed=1),
            grid_row(2, "flaky", flaky=1),
            grid_row(1, "flaky", flaky=1),
        ]
    )

    def groups(order="trouble", find="", only=False):
        return chosen_groups(grid, order=order, find=find, only_trouble=only)

    assert groups() == ["Bad", "flaky", "calm"]
    assert groups("name") == ["Bad", "calm", "flaky"]
    assert groups(only=True) == ["Bad", "flaky"]
    assert groups(find=" bA ") == ["Bad"]
    assert groups(find="nothing") == []


def test_builds_are_told_apart_by_their_end():
    rows = [
        {"sha": "a", "build_number": 1, "state": "passed", "url": "https://x/1"},
        {"sha": "b", "build_number": 2, "state": "failing", "url": ""},
        {"sha": "c", "build_number": None, "state": None, "url": None},
    ]
    builds = builds_of(rows)
    assert {sha: build.shown for sha, build in builds.items()} == {"a": "passed", "b": "running"}


@pytest.mark.parametrize(
    ("repository", "address"),
    [
        ("acme/engine", "https://github.com/acme/engine/commit/abc"),
        ("https://code.example/x/y.git", "https://code.example/x/y/commit/abc"),
        ("engine", None),
        ("javascript:alert(1)//a/b", None),
        ("/srv/engine", None),
        ("", None),
    ],
)
def test_a_commit_has_an_address_only_where_its_repository_names_a_host(repository, address):
    assert commit_address(repository, "abc") == address
    pull = address and address.replace("/commit/abc", "/pull/7")
    assert pull_request_address(repository, 7) == pull
    assert pull_request_address(repository, None) is None


@pytest.mark.parametrize(
    ("state", "soft", "cause", "shown"),
    [
        ("passed", False, None, "passed"),
        ("failed", False, "test_regression", "failed"),
        ("failed", True, "test_regression", "passed"),
        ("timed_out", False, None, "failed"),
        ("failed", False, "infra_machine", "infra"),
        ("broken", False, None, "blocked"),
        ("waiting_failed", False, None, "blocked"),
        ("scheduled", False, None, "running"),
        ("canceled", False, None, "not run"),
    ],
)
def test_an_attempt_s_state_in_the_hud_s_words(state, soft, cause, shown):
    assert attempt_state(state, soft_failed=soft, failure_class=cause) == shown


def attempt(job, state="failed", line=LINE, **changes):
    fields = {"job_key": job, "state": state, "soft_failed": False, "line": line, "shard": None}
    fields |= {"attempt": 1, "failure_class": None, "url": "javascript:x"}
    return {**fields, **changes}


def test_the_attempts_of_a_cell_put_failures_first_and_name_what_to_look_at():
    frame = pd.DataFrame(
        [
            attempt("a", "passed", line=None),
            attempt("b"),
            attempt("b", attempt=2),
            attempt("c", soft_failed=True),
            attempt("d", "broken", line=None),
        ]
    )
    shown = attempts_frame(frame, lambda job: f"./jobs?job={job}")
    assert list(shown["job_key"]) == ["b", "b", "d", "a", "c"]
    assert list(shown["shown"])[:3] == ["✕ failed", "✕ failed", "‖ blocked"]
    assert shown["log"].isna().all()
    assert decisive_lines(frame, 5) == [("b", LINE)]
    assert jobs_to_show(frame, 5) == ["b", "d"]
    assert jobs_to_show(frame[frame["job_key"] == "a"], 5) == ["a"]


def test_strips_go_from_old_to_new_and_leave_gaps_where_nothing_ran():
    commits = [{"position": n, "sha": sha_of(n), "title": HOSTILE} for n in (3, 2, 1)]
    outcomes = [
        {"job_key": "k", "position": 1, "state": "passed"},
        {"job_key": "k", "position": 3, "state": "passed"},
        {"job_key": "k", "position": 3, "state": "failed"},
    ]
    (strip,) = history_strips(
        outcomes, commits, ["k"], by="job_key", marked=3, cell_address=lambda sha: f"./?c={sha}"
    )
    assert [cell.state for cell in strip.cells] == ["passed", "not run", "failed"]
    assert [cell.marked for cell in strip.cells] == [False, False, True]
    html = strips_html([strip], name=HOSTILE)
    assert "<img" not in html
    assert html.count("data-cell") == 2
    assert html.count('tabindex="0"') == 1
    assert strips_html([], name="none").count("<td") == 0


def test_the_legend_has_a_word_for_each_sign():
    html = legend_html()
    assert [state for state in WORST_FIRST if f"</b>{state}<" not in html] == []


def tiles(**changes):
    fields = {
        "builds": [
            Build(number=1, state="passed", url=""),
            Build(number=2, state="failed", url=""),
        ],
        "commits": 3,
        "streaks": [{"state": "broken"}, {"state": "flaky"}, {"state": "flaky"}],
        "streak_commits": 200,
        "signal": {"p50_min": 61.2, "p90_min": 90.0, "builds": 9},
        "signal_days": 7,
        "incidents": 1,
    }
    return [value for _, value, _ in headline(**{**fields, **changes})]


def test_the_headline_counts_and_leaves_out_what_has_not_ended():
    assert tiles() == ["50%", "1", "2", "61 min", "90 min", "1"]
    running = [Build(number=1, state="running", url="")]
    assert tiles(builds=running, signal=None)[0] == NONE
    assert tiles(builds=[], signal=None)[3:5] == [NONE, NONE]


def incidents(*rows):
    found = [row.model_dump() | {"opened_at": row.at, "reason": row.reason} for row in rows]
    return incidents_html(incidents_of(found), LINKS, lambda _at: "1 h ago")


def test_an_incident_names_its_culprit_and_its_revert():
    html = incidents(incident_row())
    assert "test regression" in html
    assert "Culprit, 93% likely, verified by a rerun" in html
    assert 'href="https://ci.example/revert/6"' in html
    assert 'href="./jobs?job=kernels-1"' in html
    assert "<img" not in html
    assert "<script" not in html


def test_an_incident_without_culprit_says_the_range_and_a_bad_revert_is_no_link():
    html = incidents(incident_row(culprit=None, revert_url="javascript:alert(1)"))
    assert "No culprit yet" in html
    assert sha_of(4)[:10] in html
    assert "javascript:" not in html


def test_what_the_analyzer_records_is_read_whole():
    (found,) = detect(scenario(runs("kernels-1", "PPPPPPPP..FFF")))
    row = incident_row().model_copy(update={"evidence": json.dumps(found.plain())})
    html = incidents(row)
    assert "cannot be read" not in html
    assert "3 suspects" in html
    assert "Next: bisect." in html
    (doubtful,) = detect(scenario(runs("kernels-1", "PPPPPF")))
    row = row.model_copy(update={"evidence": json.dumps(doubtful.plain())})
    assert "suspected: test regression" in incidents(row)


def test_evidence_that_cannot_be_read_leaves_the_sentence():
    html = incidents(incident_row(jobs=7))
    assert "kernels-1 broke" in html
    assert "cannot be read" in html


def test_a_broken_job_says_since_when_and_what_is_unknown():
    row = {
        "job_key": HOSTILE,
        "group_key": "g",
        "failures_in_a_row": 3,
        "first_bad": sha_of(6),
        "last_good": sha_of(3),
        "unknown_between": 2,
    }
    html = broken_html([row], LINKS, 200)
    assert "3 times in a row" in html
    assert "2 unknown between" in html
    assert "<img" not in html
    older = broken_html([row | {"unknown_between": None, "last_good": ""}], LINKS, 200)
    assert "no good one among the newest 200 commits" in older


def test_trends_have_units_and_say_which_way_is_better():
    days = pd.DataFrame(
        {"day": [NOON.date()], "p50_min": [1.0], "p90_min": [2.0], "builds": [3]}
        | {"share": [0.5], "green": [1], "commits": [2]}
    )
    signal = charts.time_to_signal(days).to_dict()
    assert signal["encoding"]["y"]["title"] == "minutes (lower is better)"
    assert "higher is better" in charts.green_share(days).to_dict()["encoding"]["y"]["title"]


def test_an_empty_warehouse_says_what_fills_it(show, tmp_path):
    shown = show("", Reader(str(tmp_path / "empty")))
    assert "No commit of this branch is known" in shown.text
    assert "gauntlet ingest" in shown.text


def test_the_page_answers_in_one_look_and_a_second_look_asks_nothing(show, location):
    reader = Reader(location)
    shown = show("", reader)
    assert "Green commits 71%" in shown.text
    assert "Jobs broken 1" in shown.text
    assert "Jobs flaky 1" in shown.text
    assert "Time to signal p50 11 min" in shown.text
    assert "Open incidents 0" in shown.text
    assert "failed 2 times in a row" in shown.text
    assert shown.asked == FIRST_LOAD
    show("", reader)
    assert reader.asked == FIRST_LOAD


def test_the_page_s_grid_tells_states_apart_and_escapes_names(show):
    text = show("").text
    short = {n: sha_of(n)[:10] for n in range(1, 10)}
    assert f"kernels at {short[6]}: 2 failed" in text
    assert f"kernels at {short[7]}: not run" in text
    assert f"engine at {short[4]}: 1 flaky" in text
    assert f"engine at {short[9]}: 1 running" in text
    assert f"lora at {short[3]}: 1 infra" in text
    assert f"deploy at {short[6]}: 1 blocked" in text
    assert f"docs at {short[8]}: 1 passed" in text
    assert HOSTILE not in text
    assert f"https://github.com/acme/engine/commit/{sha_of(8)}" in text
    assert "https://github.com/acme/engine/pull/70" in text


def test_a_cell_of_the_address_shows_its_attempts_above_the_grid(show):
    shown = show("", commit=sha_of(6)[:10], group="kernels", commits="100")
    assert "2 failed" in shown.text
    assert [each.value for each in shown.test.code] == [LINE, LINE]
    assert 'href="./?commits=100">close' in shown.text
    assert list(shown.tables[0]["said"]) == ["failed", "failed"]
    assert "https://ci.example/builds/6" in shown.text
    assert {"cell_attempts", "job_outcomes", "commits_between"} <= set(shown.asked)


def test_a_cell_of_unknown_names_says_so(show):
    shown = show("", commit="fffffff", group=HOSTILE)
    said = [each.value for each in shown.test.get("text")]
    assert any("No job of the group" in each for each in said)
    assert HOSTILE not in shown.text


def test_choices_of_the_address_hold_and_wrong_ones_are_said(show):
    shown = show("", order="name", only="true", find="kern")
    assert "1 of 6 groups" in shown.text
    wrong = show("", commits="7", order="nope")
    assert "No commits 7; showing 50" in wrong.text
    assert "No order nope; showing trouble" in wrong.text


def test_open_incidents_come_before_broken_jobs(show, tmp_path):
    folder = str(tmp_path / "warehouse")
    with open_store(folder) as store:
        said = incident_row(), incident_row("incident/2", "fixed")
        store.insert(batch("history", *history(), *said))
    shown = show("", Reader(folder))
    assert "Open incidents 1" in shown.text
    assert "Culprit, 93% likely" in shown.text
    assert "in a row" not in shown.text
