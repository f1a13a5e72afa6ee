"""A ranking as text and as JSON."""

from typing import Any

from gauntlet.release.cut.rank import Health, Ranking

_REFUSED_SHOWN = 5
_UNRANKED_SHOWN = 5


def ranking_lines(ranking: Ranking, *, shown: int = 5) -> list[str]:
    """For people: candidates, best first, with what counts against each; then the others."""
    lines: list[str] = []
    for place, health in enumerate(ranking.candidates[:shown], start=1):
        lines += [f"{place}. {_head(health)}", *_reasons(health)]
    if not ranking.candidates:
        lines.append("no build is good enough")
    for health in ranking.refused[:_REFUSED_SHOWN]:
        verdict = "never" if health.never else "too many points"
        lines += [f"{verdict}: {_head(health)}", *_reasons(health, only_never=bool(health.never))]
    lines += [
        f"not ranked: build {build.number} at {build.sha[:10]}: {why}"
        for build, why in ranking.unranked[:_UNRANKED_SHOWN]
    ]
    left = len(ranking.refused[_REFUSED_SHOWN:]) + len(ranking.unranked[_UNRANKED_SHOWN:])
    if left:
        lines.append(f"and {left} more, which --json lists")
    return lines


def plain_ranking(ranking: Ranking) -> dict[str, Any]:
    """As JSON."""
    return {
        "candidates": [_plain(health) for health in ranking.candidates],
        "refused": [_plain(health) for health in ranking.refused],
        "unranked": [
            {"build": build.number, "commit": build.sha, "reason": why}
            for build, why in ranking.unranked
        ],
    }


def _head(health: Health) -> str:
    build = health.build
    return (
        f"{build.sha[:10]} build {build.number}: {health.points:g} points  {build.title}".rstrip()
    )


def _reasons(health: Health, *, only_never: bool = False) -> list[str]:
    lines = [f"   never  {point.reason}" for point in health.never]
    if not only_never:
        lines += [
            f"   {point.points:5.5g}  {point.reason}"
            for point in health.findings
            if point.points is not None
        ]
    return lines


def _plain(health: Health) -> dict[str, Any]:
    build = health.build
    return {
        "build": build.number,
        "commit": build.sha,
        "title": build.title,
        "url": build.url,
        "points": health.points,
        "never": bool(health.never),
        "findings": [
            {"what": point.what, "points": point.points, "reason": point.reason}
            for point in health.findings
        ],
    }
