"""The noise between sessions from a real warehouse, and what it changes in a comparison."""

import json
import math
from datetime import timedelta

import pytest
from click.testing import CliRunner
from factories import batch, metric_row, repetition_row
from stores import embedded_store, served_folder

from gauntlet.analyzer.compare_command import compare
from gauntlet.analyzer.comparison.objectives import Spot
from gauntlet.analyzer.measured import Statistic
from gauntlet.analyzer.selection import load_sides
from gauntlet.analyzer.session_noise import noise_of_sessions
from gauntlet.core.clock import utc_now
from gauntlet.warehouse.store import open_store

TPOT = Statistic("tpot_ms", "p50")
NIGHTS = 12


def rows(nights, *, recipe="nightly"):
    for night in range(nights):
        began = utc_now() - timedelta(days=nights - night)
        key = {"run_id": f"{recipe}{night}", "repetition_id": f"{recipe}{night}/r"}
        # Levels alternate by 2 %: a spread of 1 %, and no trend.
        value = 10.0 * (1 + 0.01 * (-1) ** night)
        yield repetition_row(
            **key,
            recipe=recipe,
            series_id=recipe,
            side="single",
            started_at=began,
            ended_at=began,
            engine_commit=f"{night:02d}abcdef" * 5,
        )
        yield metric_row(**key, series_id=recipe, side="single", value=value)


@pytest.fixture(scope="module")
def location(tmp_path_factory):
    folder = tmp_path_factory.mktemp("w") / "warehouse"
    with embedded_store(folder) as store:
        store.insert(batch("long", *rows(NIGHTS)))
        store.insert(batch("short", *rows(5, recipe="young")))
    with served_folder(folder):
        yield folder


def noise(location, recipe):
    sides = [f"commit:{night:02d}abcdef" for night in (3, 4)]
    where = (f"recipe={recipe}",)
    measured = load_sides(*sides, location=str(location), where=where)
    with open_store(str(location)) as store:
        found = noise_of_sessions(store, measured, [TPOT], until=utc_now().date())
    return found.get((Spot.of(measured[0].place), TPOT))


def test_enough_nights_tell_the_noise_between_them(location):
    found = noise(location, "nightly")
    assert found.sd == pytest.approx(math.log1p(0.01), rel=0.1)
    assert (found.df, found.source) == (NIGHTS - 1, f"{NIGHTS} nights")


def test_few_nights_tell_nothing(location):
    assert noise(location, "young") is None


def test_a_comparison_of_two_nights_says_where_its_noise_is_from(location):
    sides = ["commit:04abcdef", "commit:06abcdef", "--where", "recipe=nightly"]
    done = CliRunner().invoke(compare, [*sides, "--warehouse", str(location), "--json"])
    verdicts = json.loads(done.stdout)["verdicts"]
    (verdict,) = [v for v in verdicts if v["subject"].startswith("load/")]
    assert verdict["verdict"] == "same"
    assert f"% ({NIGHTS} nights)" in verdict["method"]
