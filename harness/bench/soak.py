"""The end of a soak: its segments as points, and what they say of growth."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

from gauntlet.core.files import write_atomic
from gauntlet.harness.bench.report import RepetitionReport
from gauntlet.harness.soak import Growth, SegmentPoint, growth_of
from gauntlet.perf_eval.goals import Soak

_MB_PER_MIB = 1.048576
_FILE = "soak.json"


def judge_soak(
    folder: Path, reports: Sequence[RepetitionReport], soak: Soak, say: Callable[[str], object]
) -> Growth:
    """Judge the growth over all segments and keep the result."""
    points = segment_points(reports)
    growth = growth_of(points, soak)
    record = {**asdict(growth), "segments": [asdict(point) for point in points]}
    write_atomic(folder / _FILE, json.dumps(record, indent=1))
    if growth.per_hour_mb is None:
        say(f"soak: {growth.points} settled segments with memory figures are too few for a slope")
    else:
        slope = growth.per_hour_mb
        say(f"soak: memory {slope.value:+.3g} MB/h [{slope.low:.3g}, {slope.high:.3g}]")
    for reason in growth.reasons:
        say(f"soak: {reason}")
    return growth


def segment_points(reports: Sequence[RepetitionReport]) -> list[SegmentPoint]:
    """One point for each segment whose server's memory was seen."""
    points = []
    requests = 0
    begin: datetime | None = None
    for report in reports:
        started = datetime.fromisoformat(report.started_at)
        begin = begin or started
        requests += report.completed
        memory = report.metrics.get("server.server_rss_end_mib", {}).get("total")
        if memory is not None:
            at_s = (started - begin).total_seconds() + report.seconds
            point = SegmentPoint(at_s=at_s, rss_mb=memory * _MB_PER_MIB, requests=requests)
            points.append(point)
    return points
