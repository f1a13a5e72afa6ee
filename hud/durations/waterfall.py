"""A build as bars, one an attempt, and which of them its length hangs on."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pandas as pd

MOST_BARS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One attempt: when it could run, began and ended (UTC); None is what has not happened yet."""

    job_id: str
    label: str
    state: str
    queue: str
    host: str
    could_run_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


def bars(rows: Sequence[dict[str, Any]]) -> list[Bar]:
    """Rows of ``build_timeline`` as bars with a label of their own each."""
    made: list[Bar] = []
    seen: dict[str, int] = {}
    for row in rows:
        label = _label(row)
        seen[label] = seen.get(label, 0) + 1
        made.append(
            Bar(
                job_id=row["job_id"],
                label=label if seen[label] == 1 else f"{label} #{seen[label]}",
                state="soft failed" if row["soft_failed"] else row["state"],
                queue=row["queue"],
                host=row["host"],
                could_run_at=row["could_run_at"],
                started_at=row["started_at"],
                finished_at=row["finished_at"],
            )
        )
    return made


def _label(row: dict[str, Any]) -> str:
    name = row["job_name"] or row["job_key"]
    shard = "" if row["shard"] is None else f" shard {row['shard']}"
    attempt = f" attempt {row['attempt']}" if row["attempt"] > 1 else ""
    return f"{name}{shard}{attempt}"


def frontier(drawn: Sequence[Bar], build_start: datetime) -> list[str]:
    """Ids of the attempts on the completion frontier, first to last.

    What waits for what is not recorded. The frontier stands in for it: from the attempt that
    ended last, back to the one whose end was the nearest before that attempt could run, and so on
    to an attempt that could run when the build began, or before which none had ended. It is the
    critical path where a job can run as soon as the last job that it needs has ended. Sorts once;
    O(n log n).
    """
    ended = sorted(
        (each.finished_at, each.could_run_at, each.job_id)
        for each in drawn
        if each.finished_at is not None
    )
    ends = [end for end, _, _ in ended]
    path: list[str] = []
    at = len(ended) - 1
    while at >= 0:
        _, could_run_at, job_id = ended[at]
        path.append(job_id)
        if could_run_at <= build_start:
            break
        # Never past the attempt itself: each step goes back, also where clocks contradict.
        at = bisect_right(ends, could_run_at, hi=at) - 1
    return path[::-1]


def choose(drawn: Sequence[Bar], path: Sequence[str], now: datetime) -> list[Bar]:
    """The bars to draw: all of the path and the longest others, in the order of their begin."""
    on_path = set(path)
    by_length = sorted(
        drawn, key=lambda each: (each.job_id in on_path, _length_s(each, now)), reverse=True
    )
    kept = by_length[: max(MOST_BARS, len(on_path))]
    return sorted(kept, key=lambda each: (each.could_run_at, each.started_at or now, each.label))


def _length_s(bar: Bar, now: datetime) -> float:
    return ((bar.finished_at or now) - bar.could_run_at).total_seconds()


def pieces(
    drawn: Sequence[Bar], path: Sequence[str], build_start: datetime, now: datetime
) -> pd.DataFrame:
    """Waits and runs of the bars in minutes since the build began, a piece a row.

    What is not over yet lasts until ``now``. Columns: label, what, begin_min, end_min, minutes,
    state, queue, host, on_path.
    """
    on_path = set(path)
    rows = []
    for bar in drawn:
        over = bar.finished_at or now
        spans = [("wait", bar.could_run_at, bar.started_at or over)]
        if bar.started_at is not None:
            what = "run, on the frontier" if bar.job_id in on_path else "run"
            spans.append((what, bar.started_at, over))
        mark = "◆ " if bar.job_id in on_path else ""
        for what, begin, end in spans:
            begin_min = (begin - build_start).total_seconds() / 60
            end_min = max(begin_min, (end - build_start).total_seconds() / 60)
            rows.append(
                {
                    "label": f"{mark}{bar.label}",
                    "what": what,
                    "begin_min": begin_min,
                    "end_min": end_min,
                    "minutes": end_min - begin_min,
                    "state": bar.state,
                    "queue": bar.queue,
                    "host": bar.host,
                    "on_path": "yes" if bar.job_id in on_path else "no",
                }
            )
    return pd.DataFrame(rows)
