"""From series and findings to frames: pure functions, no Streamlit and no warehouse."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any

import pandas as pd

from gauntlet.analyzer.history.commits import CommitRange, short
from gauntlet.analyzer.history.finding import Finding
from gauntlet.analyzer.history.report import Described, HistoryReport, State
from gauntlet.analyzer.history.series import Night, Segment, Series
from gauntlet.hud import palette
from gauntlet.hud.shell.times import NONE, Zone

# The gravest first; None is a series that has not been judged (yet).
_SEVERITY: tuple[str, ...] = ("worse", "inconclusive", "missing", "better", "same")
_MOVES = ("regression", "provisional", "improvement", "recovery", "drift")
_MACHINE, _CLIENT = ("host", "driver"), ("client", "client_version")
_NUMBER = re.compile(r"(\d+)")
_LISTED = 4

Rows = Sequence[Mapping[str, Any]]


def natural(text: str) -> list[tuple[int, str]]:
    """Sort key under which ``c=2`` stands before ``c=16``."""
    return [(int(part) if part.isdigit() else -1, part) for part in _NUMBER.split(text)]


def instant(night: date) -> datetime:
    """Where a night stands on the axis: a night is a UTC day, whatever the viewer's zone."""
    return datetime(night.year, night.month, night.day, tzinfo=UTC)


def place_label(row: Mapping[str, Any]) -> str:
    """A series as people read it."""
    named = (row["recipe"], row["point"] or row["workload"], row["accelerator"])
    return " · ".join(str(part) for part in named if part)


def nights_frame(series: Series, since: date) -> pd.DataFrame:
    """One row per build and night, missing ones too; ``value`` is the night's median."""
    rows = [
        _night(night, segment, number)
        for number, segment in enumerate(series.segments, start=1)
        for night in segment.nights
        if night.night >= since
    ]
    columns = ["at", "night", "value", "n", "refused", "why", "build", "image", "host", "client"]
    return pd.DataFrame(rows, columns=[*columns, "driver", "configuration", "measured"])


def _night(night: Night, segment: Segment, number: int) -> dict[str, object]:
    told = segment.configuration
    return {
        "at": instant(night.night),
        "night": night.night.isoformat(),
        "value": night.value if night.measured else None,
        "n": night.n,
        "refused": night.refused,
        "why": "; ".join(night.reasons) or NONE,
        "build": short(night.engine_commit) or NONE,
        "image": night.image_digest[:19] or NONE,
        "host": ", ".join(night.hosts) or NONE,
        "client": f"{told.get('client', '')} {told.get('client_version', '')}".strip() or NONE,
        "driver": segment.driver or NONE,
        "configuration": number,
        "measured": night.measured,
    }


def levels_frame(described: Described, since: date) -> pd.DataFrame:
    """Stretches of one level with its 95 % interval, cut at ``since``; ramps from level to level.

    A ramp has another ``value_end`` than ``value``, and no interval.
    """
    rows: list[dict[str, object]] = []
    for segment, shape in described.pairs():
        nights = segment.nights
        for level in shape.levels:
            rows.append(_level(nights, level.first, level.last, level.value, level.value))
            rows[-1] |= {"lower": level.lower, "upper": level.upper, "n": level.n}
        for change in shape.changes:
            if change.kind == "drift":
                end = len(nights) - 1 if change.end is None else change.end
                rows.append(_level(nights, change.index, end, change.before, change.after))
    columns = ["from", "to", "value", "value_end", "lower", "upper", "n", "what"]
    frame = pd.DataFrame(rows, columns=columns)
    frame["value"] = pd.to_numeric(frame["value"])
    frame = frame[frame["to"] >= instant(since)].copy()
    frame["from"] = frame["from"].where(frame["from"] >= instant(since), instant(since))
    return frame


def _level(
    nights: Sequence[Night], first: int, last: int, value: float, end: float
) -> dict[str, object]:
    what = "level" if value == end else "drift"
    return {
        "from": instant(nights[first].night),
        "to": instant(nights[last].night),
        "value": value,
        "value_end": end,
        "what": f"{what} from {nights[first].night} to {nights[last].night}",
    }


def changes_frame(findings: Iterable[Finding], series: Series | None = None) -> pd.DataFrame:
    """What moved the level, newest first: its size with interval, commits, and whether it holds."""
    rows = [_change(each) for each in findings if each.kind in _MOVES]
    columns = ["at", "night", "state", "kind", "change", "interval", "effect", "commits", "after"]
    columns += ["until", "place", "series_id", "holds", "counts", "p", "reason", "short"]
    frame = pd.DataFrame(rows, columns=columns)
    if series is not None:
        frame = frame[frame["series_id"] == series.series_id]
    return frame.sort_values("at", ascending=False, kind="stable").reset_index(drop=True)


def _change(finding: Finding) -> dict[str, object]:
    commits = finding.commits
    return {
        "at": instant(finding.night),
        "night": finding.night.isoformat(),
        "state": _state_of(finding),
        "kind": "alarm" if finding.kind == "provisional" else finding.kind,
        "change": effect_text(finding),
        "interval": interval_text(finding),
        "effect": finding.effect,
        "commits": str(commits) if commits else NONE,
        "after": _commit(commits, "after"),
        "until": _commit(commits, "until"),
        "place": place_label(finding.place._asdict()),
        "series_id": finding.series_id,
        "holds": "yes" if finding.open else "no",
        "counts": "no: small or by chance" if finding.minor else "yes",
        "p": finding.adjusted_p,
        "reason": finding.reason,
        "short": f"{finding.night:%m-%d} {effect_text(finding)}",
    }


def _state_of(finding: Finding) -> str:
    if finding.kind == "provisional":
        return "inconclusive"
    if finding.minor or finding.loss is None:
        return "same"
    return "worse" if finding.loss > 0 else "better"


def _commit(commits: CommitRange | None, end: str) -> str:
    build = "" if commits is None else str(getattr(commits, end))
    return "" if build.startswith("sha256:") else build


def effect_text(finding: Finding) -> str:
    """A change as people read it; a dash where there is no size."""
    return NONE if finding.effect is None else f"{finding.effect:+.1f} {finding.unit}"


def interval_text(finding: Finding) -> str:
    """Its 95 % interval; a dash where there is none."""
    if finding.lower is None or finding.upper is None:
        return NONE
    return f"{finding.lower:+.1f} to {finding.upper:+.1f} {finding.unit}"


def events_frame(series: Series, annotations: Rows, since: date, zone: Zone) -> pd.DataFrame:
    """What may explain a change: other settings, clients, machines, and notes of people."""
    rows: list[dict[str, object]] = []
    for segment in series.segments[1:]:
        said = {str(each): each.setting for each in segment.differences}
        kinds: dict[str, list[str]] = {}
        for text, setting in said.items():
            kind = _kind(setting)
            # A machine that takes turns with another one is told where it first appears.
            if setting != "host":
                kinds.setdefault(kind, []).append(text)
        if not said:
            kinds["configuration"] = ["in what no row tells"]
        rows += [
            _event(segment.nights[0].night, kind, _listed(texts)) for kind, texts in kinds.items()
        ]
    rows += _first_hosts(series)
    rows += [
        {
            "at": row["at"],
            "what": "note",
            "text": f"{zone.text(row['at'])} {row['actor']}: {row['reason']}",
        }
        for row in annotations
        if row["kind"] == "annotation"
    ]
    frame = pd.DataFrame(rows, columns=["at", "what", "text"])
    frame["at"] = pd.to_datetime(frame["at"], utc=True)
    return frame[frame["at"] >= pd.Timestamp(instant(since))]


def _kind(setting: str) -> str:
    if setting in _CLIENT:
        return "client"
    return "machine" if setting in _MACHINE else "configuration"


def _first_hosts(series: Series) -> list[dict[str, object]]:
    first: dict[str, date] = {}
    for segment in series.segments:
        for night in segment.nights:
            for host in night.hosts:
                first[host] = min(first.get(host, night.night), night.night)
    begin = min(first.values(), default=None)
    return [
        _event(night, "machine", f"first night on {host}")
        for host, night in first.items()
        if night != begin
    ]


def _event(night: date, what: str, text: str) -> dict[str, object]:
    return {"at": instant(night), "what": what, "text": f"{night}: {text}"}


def _listed(texts: Sequence[str]) -> str:
    more = len(texts) - _LISTED
    return "; ".join(texts[:_LISTED]) + (f"; and {more} more" if more > 0 else "")


def missing_frame(nights: pd.DataFrame) -> pd.DataFrame:
    """Nights without a number, as marks of their own: they are no zeros."""
    holes = nights[~nights["measured"].astype(bool)]
    text = [f"{night}: {why}" for night, why in zip(holes["night"], holes["why"], strict=True)]
    return pd.DataFrame({"at": holes["at"], "what": "missing", "text": text})


def overview_frame(
    known: Rows,
    report: HistoryReport | None,
    *,
    now: datetime,
    link: Callable[[str], str],
) -> pd.DataFrame:
    """Every series in a line, the gravest first; without a report, nothing is judged yet."""
    states = {state.series_id: state for state in report.states} if report else {}
    moved = _explaining(report) if report else {}
    ordered = sorted(known, key=lambda row: natural(place_label(row)))
    rows = [
        _line(row, states.get(row["series_id"]), moved.get(row["series_id"]), now, link)
        for row in ordered
    ]
    frame = pd.DataFrame(rows, columns=list(OVERVIEW))
    rank = {palette.signed(palette.VERDICTS, name): at for at, name in enumerate(_SEVERITY)}
    order = frame["state"].map(rank).fillna(len(rank))
    return (
        frame.assign(order=order, loss=[_loss_of(moved.get(r["series_id"])) for r in ordered])
        .sort_values(["order", "loss"], ascending=[True, False], kind="stable")
        .reset_index(drop=True)
    )


OVERVIEW = (
    "state", "recipe", "point", "accelerator", "newest", "change", "since", "age_d", "missing",
    "link", "why",
)  # fmt: skip


def _explaining(report: HistoryReport) -> dict[str, Finding]:
    """The finding that each series' verdict rests on, where it rests on one."""
    by_reason = {(each.series_id, each.reason): each for each in report.findings}
    return {
        state.series_id: by_reason[state.series_id, state.reason]
        for state in report.states
        if (state.series_id, state.reason) in by_reason
    }


def _loss_of(finding: Finding | None) -> float:
    return 0.0 if finding is None or finding.loss is None else finding.loss


def _line(
    row: Mapping[str, Any],
    state: State | None,
    moved: Finding | None,
    now: datetime,
    link: Callable[[str], str],
) -> dict[str, object]:
    newest = row["newest_night"]
    value = row["newest_value"]
    return {
        "state": palette.signed(palette.VERDICTS, state.verdict) if state else NONE,
        "recipe": row["recipe"],
        "point": row["point"] or row["workload"],
        "accelerator": row["accelerator"] or NONE,
        "newest": NONE if value is None else f"{value:,.4g} {row['unit']}",
        "change": f"{effect_text(moved)} ({interval_text(moved)})" if moved else NONE,
        "since": moved.night if moved else state.since if state else None,
        "age_d": None if newest is None else (now.date() - newest).days,
        "missing": f"{row['recent_missing']} of {row['recent_nights']}",
        "link": link(row["series_id"]),
        "why": state.reason if state else NONE,
    }


def repetitions_frame(rows: Rows, since: date) -> pd.DataFrame:
    """Valid repetitions that have the number, each at its night."""
    kept = [
        {
            "at": instant(row["night"]),
            "night": row["night"].isoformat(),
            "value": row["value"],
            "n": row["n"],
            "build": short(row["engine_commit"]) or NONE,
            "image": row["image_digest"][:19] or NONE,
            "host": row["host"] or NONE,
            "driver": row["driver"] or NONE,
            "client": f"{row['client']} {row['client_version']}",
            "run": row["run_id"],
        }
        for row in rows
        if row["status"] == "valid" and row["value"] is not None and row["night"] >= since
    ]
    columns = ["at", "night", "value", "n", "build", "image", "host", "driver", "client", "run"]
    return pd.DataFrame(kept, columns=columns)
