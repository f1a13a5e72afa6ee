import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.harness.engines.metric_names import (
    CACHE_CONFIG,
    KEPT,
    KV_CACHE_USAGE,
    PREFIX_CACHE_HITS,
    PREFIX_CACHE_QUERIES,
)
from gauntlet.harness.telemetry.prometheus import read_metrics
from gauntlet.harness.telemetry.sources.engine import engine_readings


def values(text, *wanted):
    return [(point.value, dict(point.labels)) for point in read_metrics(text, set(wanted))]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a 1", (1.0, {})),
        ("a 1.5e+06 1700000000000", (1_500_000.0, {})),
        ('a{b="c"} 2', (2.0, {"b": "c"})),
        ('a{b="c",d="e",} 2', (2.0, {"b": "c", "d": "e"})),
        ("a{} 3", (3.0, {})),
        (r'a{b="x\"y\\z\n}"} 4', (4.0, {"b": 'x"y\\z\n}'})),
        ("a +Inf", (math.inf, {})),
    ],
)
def test_a_line_of_the_format(line, expected):
    assert values(f"# TYPE a gauge\n{line}\nab 7\n", "a") == [expected]


@pytest.mark.parametrize("line", ["a", "a x", 'a{b="c"', "a{b=c} 1", 'a{b="c"} 1 2 3', "a{b} 1"])
def test_a_broken_line_is_named(line):
    with pytest.raises(ValueError, match="line 2 is no metric"):
        read_metrics(f"# HELP\n{line}\n", {"a"})
    assert read_metrics(line, {"other"}) == []


@given(
    st.dictionaries(st.from_regex(r"[a-z_][a-z0-9_]{0,5}", fullmatch=True), st.text(), max_size=3)
)
def test_any_label_comes_back(labels):
    def escaped(text):
        return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")

    inner = ",".join(f'{key}="{escaped(value)}"' for key, value in labels.items())
    assert values(f"a{{{inner}}} 1", "a") == [(1.0, labels)]


def test_a_real_server_s_page(shared):
    text = (shared / "data" / "h200" / "metrics.prom").read_text()
    (reading,) = engine_readings(read_metrics(text, KEPT), KEPT)
    assert reading.device == "0"
    assert reading.values["prefix_cache_queries"] > reading.values["prefix_cache_hits"] > 0
    assert reading.values["generation_tokens"] > 0
    assert 0 <= reading.values["kv_cache_usage"] <= 1
    # Without drafts there are no counters of drafts: absent, not zero.
    assert "spec_drafts" not in reading.values
    (config,) = read_metrics(text, {CACHE_CONFIG})
    assert config.labels["block_size"] == "16"


def test_engines_and_positions_are_told_apart_and_series_of_one_engine_added():
    text = "\n".join(
        (
            f'{KV_CACHE_USAGE}{{engine="0"}} 0.5',
            f'{KV_CACHE_USAGE}{{engine="1"}} 0.25',
            f'{PREFIX_CACHE_HITS}{{engine="1",model_name="a"}} 1',
            f'{PREFIX_CACHE_HITS}{{engine="1",model_name="b"}} 2',
            f"{PREFIX_CACHE_QUERIES} 9",
            'vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="1",position="2"} 7',
        )
    )
    readings = engine_readings(read_metrics(text, KEPT), KEPT, "baseline")
    assert {reading.device: reading.values for reading in readings} == {
        "baseline/0": {"kv_cache_usage": 0.5, "prefix_cache_queries": 9.0},
        "baseline/1": {"kv_cache_usage": 0.25, "prefix_cache_hits": 3.0, "spec_accepted_at_2": 7.0},
    }
