"""The figures at the top of the page Main (pure)."""

from collections.abc import Mapping, Sequence
from typing import Any

from gauntlet.hud.main.grid import Build
from gauntlet.hud.shell.times import NONE

Tile = tuple[str, str, str | None]


def headline(
    *,
    builds: Sequence[Build],
    commits: int,
    streaks: Sequence[Mapping[str, Any]],
    streak_commits: int,
    signal: Mapping[str, Any] | None,
    signal_days: int,
    incidents: int,
) -> list[Tile]:
    """Tiles: label, value, meaning. What was not measured is a dash, never a zero."""
    ended = [build for build in builds if build.state in ("passed", "failed")]
    green = sum(build.state == "passed" for build in ended)
    broken = sum(row["state"] == "broken" for row in streaks)
    flaky = len(streaks) - broken
    seen = f"of the newest {streak_commits} commits"
    p50, p90 = (_minutes(signal, name) for name in ("p50_min", "p90_min"))
    of_builds = f"{signal['builds']} builds" if signal else "no build"
    meaning = (
        f"From the creation of a build until its last job ended, {of_builds} that ended in the"
        f" last {signal_days} days. Lower is better."
    )
    return [
        (
            "Green commits",
            f"{green / len(ended):.0%}" if ended else NONE,
            f"{green} of {len(ended)} commits whose build ended, among the newest {commits}.",
        ),
        ("Jobs broken", str(broken), f"Jobs that failed at the last commit that ran them, {seen}."),
        ("Jobs flaky", str(flaky), f"Jobs that failed and passed on one commit, {seen}."),
        ("Time to signal p50", p50, meaning),
        ("Time to signal p90", p90, meaning),
        ("Open incidents", str(incidents), "Incidents recorded as open."),
    ]


def _minutes(signal: Mapping[str, Any] | None, name: str) -> str:
    return NONE if signal is None else f"{signal[name]:.0f} min"
