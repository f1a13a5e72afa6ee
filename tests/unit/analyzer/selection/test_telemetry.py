"""What telemetry has against a repetition."""

import gzip
import json

import pytest

from gauntlet.analyzer.selection.telemetry import Window, judge_window, read_looks
from gauntlet.core.errors import ConfigError

IDLE, POWER_CAP, HOT = 0x1, 0x4, 0x40


def line(t, queries=0.0, hits=0.0, bits=0, **more):
    counters = {
        "vllm:prefix_cache_queries_total": float(queries),
        "vllm:prefix_cache_hits_total": float(hits),
    }
    gpu = f"90, 1000, 500.00, 1980, 40, {bits:#018x}"
    return {"t": float(t), "gpu": gpu, "A": counters, **more}


def looks(tmp_path, *lines):
    path = tmp_path / "telemetry.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    return read_looks(path)


def judged(tmp_path, *lines, **window):
    fields = {"start": 100.0, "end": 110.0, "server": "A", "prompt_tokens": 1000.0, **window}
    return judge_window(Window(**fields), looks(tmp_path, *lines))


@pytest.mark.parametrize(
    ("hits", "refused"),
    [
        pytest.param(0, (), id="cold"),
        pytest.param(50, (), id="chance"),
        pytest.param(
            670,
            ("warm-cache: 67% of prompt tokens came from the prefix cache (telemetry)",),
            id="warm",
        ),
    ],
)
def test_a_warm_cache_is_refused(tmp_path, hits, refused):
    said = judged(tmp_path, line(99, 500, 20), line(111, 1500, 20 + hits))
    assert said.refused == refused
    assert said.notes == ()


def test_the_neighbour_s_tokens_are_not_counted_where_looks_lie_apart(tmp_path):
    """The repetition before was warm, and its last tokens came in the second of the start."""
    said = judged(
        tmp_path,
        line(98, 0, 0),
        line(99.5, 5000, 5000),
        line(100.5, 6000, 6000),
        line(110.2, 7000, 6000),
        line(111.5, 9000, 8000),
    )
    assert said == judged(tmp_path, line(100, 0, 0), line(110.5, 1000, 0))


def test_a_server_that_is_not_named_means_all_of_them(tmp_path):
    other = {"B": line(0, 0, 0)["A"]}
    busy = {"B": line(0, 1000, 900)["A"]}
    lines = (line(99, **other), line(111, **busy))
    assert judged(tmp_path, *lines, server="").refused != ()
    assert judged(tmp_path, *lines, server="A").notes != ()


def test_tokens_from_another_server_s_cache_are_hits_too(tmp_path):
    more = line(111, 1000)
    more["A"]["vllm:external_prefix_cache_hits_total"] = 400.0
    assert "40%" in judged(tmp_path, line(99), more).refused[0]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        pytest.param((), "does not cover", id="nothing"),
        pytest.param((line(102), line(111, 1000)), "does not cover", id="began-too-late"),
        pytest.param((line(99), line(109, 1000)), "does not cover", id="ended-too-early"),
        pytest.param((line(99, 5000), line(111, 10)), "started anew", id="restarted"),
        pytest.param((line(99), line(111, 90)), "not about this repetition alone", id="others"),
        pytest.param((line(99), line(111, 9000)), "not about this repetition alone", id="busy"),
    ],
)
def test_what_telemetry_did_not_see_is_a_note_and_no_refusal(tmp_path, lines, said):
    found = judged(tmp_path, *lines)
    assert found.refused == ()
    assert said in found.notes[0]


@pytest.mark.parametrize(
    ("bits", "refused"),
    [
        pytest.param(IDLE, (), id="idle"),
        pytest.param(POWER_CAP, (), id="power-cap"),
        pytest.param(
            HOT | POWER_CAP,
            ("throttled: hw_thermal_slowdown in 1 of 2 looks (telemetry)",),
            id="heat",
        ),
    ],
)
def test_heat_and_faults_are_refused_but_not_the_power_cap(tmp_path, bits, refused):
    said = judged(tmp_path, line(99), line(104, 500, bits=bits), line(105, 500), line(111, 1000))
    assert said.refused == refused


def test_a_gpu_that_was_hot_outside_the_repetition_is_nobody_s_fault(tmp_path):
    assert judged(tmp_path, line(99, bits=HOT), line(111, 1000, bits=HOT)).refused == ()


def test_compressed_lines_are_read_in_order_of_time(tmp_path):
    path = tmp_path / "t.jsonl.gz"
    path.write_bytes(gzip.compress(f"{json.dumps(line(2))}\n\n{json.dumps(line(1))}\n".encode()))
    assert [look.at for look in read_looks(path)] == [1.0, 2.0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("{", "t.jsonl:2", id="no-json"),
        pytest.param('{"gpu": ""}', "t.jsonl:2", id="no-time"),
        pytest.param('{"t": 1, "A": {"x": "many"}}', "x", id="no-number"),
    ],
)
def test_a_line_that_is_none_is_named(tmp_path, text, said):
    (tmp_path / "t.jsonl").write_text(f"{json.dumps(line(1))}\n{text}\n")
    with pytest.raises(ConfigError) as error:
        read_looks(tmp_path / "t.jsonl")
    assert said in error.value.message
