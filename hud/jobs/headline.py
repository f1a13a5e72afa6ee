"""The first lines about one job or test: its state, since when, and who is suspected (pure)."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from gauntlet.hud import palette
from gauntlet.hud.jobs.frames import Quarantine
from gauntlet.hud.outcomes import (
    CLASSES,
    LINK_COLOUR,
    SHORT_SHA,
    commit_address,
    count,
    pull_request_address,
)
from gauntlet.hud.shell.times import Zone
from gauntlet.hud.strips import state_style

_STYLE = (
    ".gj{font-size:15px;line-height:1.6}"
    ".gj .s{display:inline-block;padding:0 10px;border-radius:4px;font-weight:600}"
    f".gj a{{color:{LINK_COLOUR}}}.gj code{{font-size:13px}}"
)


def headline_html(state: str, label: str, lines: Sequence[str]) -> str:
    """A state as a badge with ``label``, and lines that are HTML already."""
    badge = f'<span class="s {CLASSES[state]}"> {escape(label)}</span>'
    return (
        f'<style>{state_style("gj")}{_STYLE}</style><div class="gj" data-answer>'
        f"{'<br>'.join([badge, *lines])}</div>"
    )


def lines_about_job(
    streak: Mapping[str, Any] | None,
    commits: Sequence[Mapping[str, Any]],
    zone: Zone,
    *,
    commits_seen: int,
) -> list[str]:
    """What a row of ``job_streaks`` says, in sentences. ``commits`` name those that are known."""
    if streak is None:
        return [f"Neither broken nor flaky in the newest {commits_seen} commits."]
    known = {commit["sha"]: commit for commit in commits}
    lines = []
    if streak["failures_in_a_row"]:
        lines.append(f"First bad: {commit_html(streak['first_bad'], known, zone)}")
        if streak["last_good"]:
            lines.append(f"Last good: {commit_html(streak['last_good'], known, zone)}")
        else:
            lines.append(f"Last good: none in the newest {commits_seen} commits; broken for longer")
    counts = [
        f"{count(streak['failures_in_a_row'], 'failure')} in a row",
        count(streak["flips"], "flip"),
    ]
    counts.append(f"failed and passed on {streak['flaky_commits']} of {streak['commits']} commits")
    return [*lines, f"{', '.join(counts)}, in the newest {commits_seen}."]


def lines_about_test(
    streaks: Sequence[Mapping[str, Any]], commits: Sequence[Mapping[str, Any]], zone: Zone
) -> list[str]:
    """What rows of ``test_streak`` say, a sentence for each queue."""
    known = {commit["sha"]: commit for commit in commits}
    lines = []
    for row in streaks:
        queue = f"<b>{escape(row['queue'])}</b>"
        flips = count(row["flips"], "flip")
        flaky = f"flaky on {row['flaky_commits']} of {row['commits']} commits, {flips}"
        if row["failing_since"]:
            since = commit_html(row["failing_since"], known, zone)
            good = commit_html(row["last_success"], known, zone)
            lines.append(f"{queue}: failing since {since}, last good {good}; {flaky}")
        elif row["first_failure"]:
            first = commit_html(row["first_failure"], known, zone)
            lines.append(f"{queue}: passes now; first failed at {first}; {flaky}")
        else:
            lines.append(f"{queue}: never failed in {row['commits']} commits")
    return lines


def quarantine_line(quarantine: Quarantine | None, zone: Zone) -> list[str]:
    """One sentence about a quarantine that holds, or none."""
    if quarantine is None:
        return []
    until = f"until {zone.text(quarantine.expires_at)}" if quarantine.expires_at else "without end"
    owner = quarantine.owner or "nobody named"
    sign = palette.JOB_STATES["blocked"].sign
    return [f"{sign} In quarantine {until}, owner {escape(owner)}: {escape(quarantine.reason)}"]


def commit_html(sha: str, known: Mapping[str, Mapping[str, Any]], zone: Zone) -> str:
    """A commit with what is known of it: title, author, pull request, time."""
    if not sha:
        return "not known"
    commit = known.get(sha)
    code = f"<code>{escape(sha[:SHORT_SHA])}</code>"
    if commit is None:
        return code
    repository = commit["repository"]
    pull = pull_request_address(repository, commit["pull_request"])
    return (
        f"{_outside(commit_address(repository, sha), code)} "
        f"{_outside(pull, escape(commit['title']))} by {escape(commit['author'])}, "
        f"{escape(zone.text(commit['committed_at']))} {escape(zone.name)}"
    )


def _outside(address: str | None, inner: str) -> str:
    return f'<a href="{escape(address)}" target="_blank">{inner}</a>' if address else inner
