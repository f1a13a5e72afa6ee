"""The file of margins: what ships, what a user's file changes, what is refused."""

import pytest

from gauntlet.analyzer.comparison.margins import load_margins
from gauntlet.analyzer.measured import Statistic
from gauntlet.core.errors import ConfigError

RATE = Statistic("output_tokens_per_s", "total")
TPOT = Statistic("tpot_ms", "p50")


def written(tmp_path, text):
    path = tmp_path / "margins.yaml"
    path.write_text(text)
    return path


def test_what_ships_judges_speed_and_lets_tails_inform():
    margins = load_margins()
    assert margins.of(RATE).margin_percent == 3
    blocking = {
        (name, statistic)
        for name, metric in margins.metrics.items()
        for statistic, margin in metric.statistics.items()
        if margin.blocking
    }
    assert {RATE, TPOT} <= blocking
    assert not any(statistic in {"p90", "p95", "p99"} for _, statistic in blocking)
    assert margins.of(Statistic("tpot_ms", "std")) is None
    assert margins.of(Statistic("made_up", "p50")) is None


def test_a_file_changes_what_it_names_and_nothing_else(tmp_path):
    path = written(
        tmp_path,
        """
        schema_version: 1
        metrics:
          tpot_ms:
            direction: lower
            unit: ms
            statistics:
              p50: {margin_percent: 2, noise_percent: 1, blocking: true}
          spec_acceptance:
            direction: higher
            unit: share
            statistics:
              total: {margin_percent: 5, noise_percent: 2}
        """,
    )
    margins, shipped = load_margins(path), load_margins()
    assert margins.of(TPOT).margin_percent == 2
    assert margins.of(Statistic("tpot_ms", "p99")) == shipped.of(Statistic("tpot_ms", "p99"))
    assert margins.of(RATE) == shipped.of(RATE)
    assert not margins.of(Statistic("spec_acceptance", "total")).blocking
    assert margins.common_share == shipped.common_share


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("{direction: up, unit: ms, statistics: {p50: {}}}", "'higher' or 'lower'"),
        (
            "{direction: lower, unit: ms, statistics: {p50: {margin: 2, noise_percent: 1}}}",
            "margin_percent",
        ),
        (
            "{direction: lower, unit: s, statistics: {p50: {margin_percent: 0, noise_percent: 1}}}",
            "greater than 0",
        ),
        ("{direction: lower, unit: ms, statistics: {}}", "at least 1"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path, metric, message):
    path = written(tmp_path, f"schema_version: 1\nmetrics:\n  tpot_ms: {metric}\n")
    with pytest.raises(ConfigError, match=message) as caught:
        load_margins(path)
    assert f"{path}:3" in caught.value.message
