"""Selectors against a real warehouse: found by run, image, commit and version."""

from datetime import timedelta

import pytest
from bench_files import write_result
from factories import NOON, batch, metric_row, repetition_row, run_row
from recipe_factory import recipe
from stores import embedded_store, served_folder

from gauntlet.analyzer.measured import Statistic
from gauntlet.analyzer.selection import load, load_sides, parse_selector
from gauntlet.core.errors import UsageError

IMAGES = {"baseline": "sha256:" + "ab" * 32, "candidate": "sha256:" + "abababab" + "cd" * 28}
COMMITS = {"baseline": "1" * 40, "candidate": "2" * 40}
FILLED = ("baseline", "candidate")


def rows():
    found = [run_row("pairs"), run_row("evals")]
    for pair in range(2):
        for side in FILLED:
            build = {
                "image_digest": IMAGES[side],
                "engine_commit": COMMITS[side],
                "engine_version": "0.24.0" if side == "baseline" else "0.25.0rc1",
            }
            found.append(
                repetition_row(
                    "pairs",
                    pair=pair,
                    side=side,
                    point="c=1",
                    accelerator="H200",
                    settings={"plan_digest": f"plan{pair}"},
                    **build,
                )
            )
            found.append(metric_row("pairs", pair=pair, side=side, value=10.0 + pair))
            found.append(
                metric_row(
                    "pairs",
                    pair=pair,
                    side=side,
                    metric="output_tokens_per_s",
                    statistic="total",
                    value=None if pair else 100.0,
                    unit="tokens/s",
                    direction="higher",
                )
            )
    found.append(
        repetition_row("evals", workload="gsm8k", kind="eval", image_digest="sha256:" + "ee" * 32)
    )
    definition = recipe(hardware={"accelerator": "H200", "count": 4}).model_dump_json()
    for night in range(2):
        key = {"run_id": f"night{night}", "repetition_id": f"night{night}/r", "side": "single"}
        found.append(run_row(key["run_id"], recipe_definition=definition, recipe="nightly"))
        start = NOON + timedelta(days=night)
        invalid = {"status": "invalid", "reasons": ("warm-cache: why",)} if night else {}
        found.append(
            repetition_row(
                **key,
                recipe="nightly",
                started_at=start,
                ended_at=start,
                engine_version="0.24.0",
                engine_commit=f"{night}abcdef0" * 5,
                **invalid,
            )
        )
    return found


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    with embedded_store(tmp_path_factory.mktemp("w") / "warehouse") as opened:
        opened.insert(batch("rows", *rows()))
        yield opened


def ids(store, text, side="baseline"):
    return sorted(each.repetition_id for each in load(parse_selector(text), side, store=store))


BASELINE = ["pairs/random/0/baseline", "pairs/random/1/baseline"]
CANDIDATE = ["pairs/random/0/candidate", "pairs/random/1/candidate"]


@pytest.mark.parametrize(
    ("text", "side", "found"),
    [
        pytest.param("run:pairs", "baseline", BASELINE, id="run-as-baseline"),
        pytest.param("run:pairs", "candidate", CANDIDATE, id="run-as-candidate"),
        pytest.param("run:pairs:candidate", "baseline", CANDIDATE, id="side-of-a-run"),
        pytest.param("run:night0", "candidate", ["night0/r"], id="run-without-sides"),
        pytest.param(f"image:{IMAGES['baseline']}", "baseline", BASELINE, id="image"),
        pytest.param("image:ababababc", "candidate", CANDIDATE, id="image-prefix"),
        pytest.param("commit:11111111", "baseline", BASELINE, id="commit-prefix"),
        pytest.param(f"commit:{COMMITS['candidate']}", "baseline", CANDIDATE, id="commit"),
        pytest.param("version:0.25.0rc1", "candidate", CANDIDATE, id="version"),
        pytest.param(
            "version:0.24.0", "baseline", ["night0/r", "night1/r", *BASELINE], id="several-runs"
        ),
        pytest.param("version:0.24.0;recipe=smoke", "baseline", BASELINE, id="filtered"),
        pytest.param("version:0.24.0;accelerator=H200", "baseline", BASELINE, id="accelerator"),
    ],
)
def test_loads_are_found_by_what_they_are_called(store, text, side, found):
    assert ids(store, text, side) == found


def test_a_stored_repetition_says_all_that_a_verdict_needs(store):
    first, second = load(parse_selector("run:pairs"), "candidate", store=store)
    assert (first.session, first.pair, first.position, first.side) == ("pairs", 0, 1, "candidate")
    assert (first.prompts, first.place.point, first.image_digest) == (
        "plan0",
        "c=1",
        IMAGES["candidate"],
    )
    assert first.values[Statistic("tpot_ms", "p50")] == 10.0
    assert first.values[Statistic("output_tokens_per_s", "total")] == 100.0
    # What was not observed is no zero.
    assert second.values[Statistic("output_tokens_per_s", "total")] is None
    assert "gpus" not in first.settings


def test_gpus_come_from_the_recipe_of_the_run_unless_they_are_told(store):
    (known,) = load(parse_selector("run:night0"), "single", store=store)
    assert (known.settings["gpus"], known.session) == ("4", "")
    (told,) = load(parse_selector("run:night0;gpus=2"), "single", store=store)
    assert told.settings["gpus"] == "2"


def test_what_was_refused_when_it_was_measured_stays_so(store):
    (found,) = load(parse_selector("run:night1"), "single", store=store)
    assert (found.status, found.reasons) == ("invalid", ("warm-cache: why",))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("run:pair", "did you mean 'pairs'?", id="run"),
        pytest.param("run:evals", "has no load repetition", id="run-of-evals"),
        pytest.param("image:abababab", "2 images begin so", id="ambiguous"),
        pytest.param("image:eeeeeeee", "no load was measured on this image", id="image-of-evals"),
        pytest.param("commit:33333333", "The warehouse has: ", id="commit"),
        pytest.param("version:0.24.1", "did you mean '0.24.0'?", id="version"),
        pytest.param("run:pairs;point=c=2", "did you mean 'c=1'?", id="point"),
        pytest.param("run:pairs;workload=sharegpt", "Known: random.", id="workload"),
    ],
)
def test_what_is_not_there_is_said_with_what_is(store, text, said):
    with pytest.raises(UsageError) as error:
        ids(store, text)
    assert said in error.value.message
    assert text in error.value.message


def test_without_a_warehouse_only_files_can_be_loaded():
    with pytest.raises(UsageError, match="needs a warehouse"):
        load(parse_selector("run:pairs"), "baseline")


def test_one_side_may_be_stored_and_the_other_a_file(tmp_path):
    with served_folder(tmp_path / "w" / "warehouse") as location:
        from gauntlet.warehouse.store import open_store

        with open_store(location) as store:
            store.insert(batch("rows", *rows()))
        path = write_result(tmp_path / "a.json")
        found = load_sides("run:pairs", str(path), location=location)
    assert [each.side for each in found] == ["baseline", "baseline", "candidate"]
