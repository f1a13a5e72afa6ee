"""Result files as measured repetitions."""

import pytest
from bench_files import bench_result, write_result

from gauntlet.analyzer.measured import Statistic
from gauntlet.analyzer.selection import load, load_sides, parse_selector
from gauntlet.core.errors import UsageError
from gauntlet.warehouse.results.identity import UnreadableResultError


def read(text, side="baseline", telemetry=None):
    return load(parse_selector(str(text)), side, telemetry=telemetry)


def test_a_file_is_a_repetition_with_its_point_values_and_lengths(tmp_path):
    (found,) = read(f"{write_result(tmp_path / 'a.json')};gpus=8;accelerator=H200")
    assert (found.side, found.status, found.session) == ("baseline", "valid", "")
    assert found.place.point == "concurrency=2"
    assert found.place.accelerator == "H200"
    assert found.settings["gpus"] == "8"
    assert found.settings["input_tokens"] == "1000"
    assert found.values[Statistic("tpot_ms", "p50")] == 9.0
    throughput = bench_result()["output_throughput"]
    assert found.values[Statistic("output_tokens_per_s", "total")] == throughput
    assert (found.completed, found.failed) == (8, 0)


def test_folders_globs_and_lists_name_files_once(tmp_path):
    for number, name in enumerate(["a.json", "b.json.gz", "c.json"]):
        write_result(tmp_path / name, tpot_ms=9.0 + number)
    (tmp_path / "telemetry.jsonl.gz").write_bytes(b"")
    assert len(read(tmp_path)) == 3
    assert len(read(f"{tmp_path}/[ab].json*")) == 2
    assert len(read(f"{tmp_path}/a.json,{tmp_path}/*.json")) == 2


@pytest.mark.parametrize(
    ("changes", "status", "said"),
    [
        pytest.param(
            {key: 0.0 for key in bench_result() if key.endswith(("_ms", "throughput"))}
            | {"completed": 0, "failed": 8, "total_output_tokens": 0},
            "failed",
            "8 of 8 requests failed",
            id="all-failed",
        ),
        pytest.param(
            {"mean_ttft_ms": -1715507074412.0},
            "invalid",
            "mean_ttft_ms: -1.71551e+12 is not finite and non-negative",
            id="negative-ttft",
        ),
        pytest.param(
            {
                "ttfts": [0.05, 0.0],
                "itls": [[0.01], []],
                "start_times": [1.0, 1.0],
                "errors": ["", ""],
                "output_lens": [2, 0],
            },
            "invalid",
            "1 of 8 requests failed",
            id="no-token-came-back",
        ),
    ],
)
def test_what_is_no_measurement_is_refused_with_the_reason(tmp_path, changes, status, said):
    (found,) = read(write_result(tmp_path / "a.json", **changes))
    assert found.status == status
    assert any(said in reason for reason in found.reasons), found.reasons
    assert found.values == {}


def test_turns_of_a_block_make_pairs_of_a_session(tmp_path):
    for name, variant, block, order in (
        ("block1-0A-c2.json", "A", 1, 0),
        ("block1-2B-c2.json", "B", 1, 2),
        ("block1first-0A-c2.json", "A", 1, 0),
    ):
        write_result(tmp_path / name, variant=variant, block=block, order=order, label=name)
    found = read(tmp_path)
    first, second, cut = (found[index] for index in (0, 1, 2))
    assert (first.session, first.pair, first.position) == (str(tmp_path), 2, 0)
    assert (second.session, second.pair, second.position) == (str(tmp_path), 3, 2)
    assert cut.session == f"{tmp_path}/block1first"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        pytest.param("a.json", "{", "JSON", id="cut-off"),
        pytest.param("a.json", "{}", "none of the known result formats", id="something-else"),
        pytest.param("a.json.gz", "{}", "a.json.gz: Not a gzipped file", id="not-compressed"),
    ],
)
def test_a_file_that_is_no_result_is_named(tmp_path, name, text, said):
    (tmp_path / name).write_text(text)
    with pytest.raises(UnreadableResultError, match=said):
        read(tmp_path / name)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("gone.json", "no such file", id="missing"),
        pytest.param("empty", "no file that ends in .json or .json.gz", id="empty-folder"),
        pytest.param("ok;point=concurrency=3", "did you mean 'concurrency=2'?", id="point"),
    ],
)
def test_what_names_nothing_is_refused_with_what_there_is(tmp_path, monkeypatch, text, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    write_result(tmp_path / "ok" / "a.json")
    with pytest.raises(UsageError) as error:
        read(text)
    assert said in error.value.message


def sides(tmp_path, **more):
    return load_sides(str(tmp_path / "b"), str(tmp_path / "c"), location="unused", **more)


def test_both_sides_come_from_files_without_a_warehouse(tmp_path):
    write_result(tmp_path / "b" / "1.json", total_input_tokens=8000)
    write_result(tmp_path / "c" / "1.json", total_input_tokens=8030, tpot_ms=9.1)
    first, second = sides(tmp_path)
    assert (first.side, second.side) == ("baseline", "candidate")
    # The totals differ from seed to seed; the place is the same.
    assert first.place == second.place
    assert first.config_fp == second.config_fp


def test_files_of_other_lengths_are_another_place(tmp_path):
    write_result(tmp_path / "b" / "1.json", total_input_tokens=8000)
    write_result(tmp_path / "c" / "1.json", total_input_tokens=64000)
    first, second = sides(tmp_path)
    assert first.place.workload == "vllm-bench-1000x100"
    assert second.place.workload == "vllm-bench-8000x100"


def test_a_run_of_failures_stands_where_it_would_have_counted(tmp_path):
    write_result(tmp_path / "b" / "1.json")
    write_result(tmp_path / "c" / "1.json", completed=0, failed=8)
    first, second = sides(tmp_path)
    assert second.status == "failed"
    assert first.place == second.place


def test_a_measurement_is_not_compared_with_itself(tmp_path):
    write_result(tmp_path / "b" / "1.json")
    write_result(tmp_path / "c" / "copy.json")
    with pytest.raises(UsageError, match="both name 1 measurements"):
        sides(tmp_path)


def test_telemetry_is_not_taken_for_what_it_cannot_judge(tmp_path):
    with pytest.raises(UsageError, match="judges result files"):
        load_sides("run:a", "run:b", location="unused", telemetry=tmp_path / "t.jsonl")


def test_a_filter_may_hold_for_both_sides(tmp_path):
    for side in "bc":
        for concurrency in (2, 4):
            write_result(
                tmp_path / side / f"{concurrency}.json",
                concurrency=concurrency,
                tpot_ms=9.0 + (side == "c"),
            )
    found = sides(tmp_path, where=["point=concurrency=4"])
    assert [each.place.point for each in found] == ["concurrency=4"] * 2


def test_the_warm_turns_on_an_h200_are_refused_and_no_others(shared):
    folder = shared / "data" / "h200" / "ab"
    found = load_sides(
        f"{folder}/*A-c*.json.gz",
        f"{folder}/*B-c*.json.gz",
        location="unused",
        telemetry=folder / "telemetry.jsonl.gz",
    )
    names = {each.settings["file"].rpartition("/")[2]: each for each in found}
    refused = {name for name, each in names.items() if each.status != "valid"}
    assert refused == {
        f"block2-{turn}-c{concurrency}.json.gz" for turn in ("0A", "1B") for concurrency in (16, 64)
    }
    assert names["block2-0A-c16.json.gz"].reasons == (
        "warm-cache: 98% of prompt tokens came from the prefix cache (telemetry)",
    )
    # Seen and sound; a power cap that was touched is no fault.
    seen = {name for name, each in names.items() if each.status == "valid" and not each.reasons}
    assert seen == {
        f"block2-{turn}-c{concurrency}.json.gz" for turn in ("2B", "3A") for concurrency in (16, 64)
    }
    for name in set(names) - refused - seen:
        assert names[name].reasons == (
            "telemetry: does not cover the repetition, a warm cache is not excluded",
        )
    sessions = {each.session.rpartition("/")[2] for each in found}
    assert sessions == {"ab", "block2first"}
