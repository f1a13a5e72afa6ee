"""Series from the warehouse: two queries for any number of them, and two more for what differs."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Any

from gauntlet.analyzer.history.series import (
    Line,
    Night,
    Segment,
    Series,
    Values,
    differences,
    series_of_place,
)
from gauntlet.analyzer.measured import Place, Statistic
from gauntlet.core.errors import UsageError, unknown_name
from gauntlet.warehouse.store import Store

# What blocks in the recipes that ship; `total` is called `mean` by some clients.
DEFAULT_STATISTICS = (
    Statistic("ttft_ms", "p50"),
    Statistic("tpot_ms", "p50"),
    Statistic("itl_ms", "p50"),
    Statistic("output_tokens_per_s", "total"),
    Statistic("output_tokens_per_s", "mean"),
)
# They change from repetition to repetition, or tell of the measuring and not of the measured.
_VOLATILE = ("plan_digest", "telemetry.")
_COLUMNS = ("client", "client_version", "dataset_digest", "engine_kind")
_DEFINITIONS_AT_ONCE = 500

LineKey = tuple[str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRequest:
    """Which series: of ``recipes`` (none: all), the nights until ``night``."""

    night: date
    days: int = 400
    recipes: tuple[str, ...] = ()
    statistics: tuple[Statistic, ...] = DEFAULT_STATISTICS


def load_series(store: Store, request: HistoryRequest) -> list[Series]:
    """Read series, ordered by recipe, workload, point and statistic.

    Raises UsageError for a recipe of which nothing was measured in that time, and for statistics
    that nothing has.
    """
    asked: dict[str, object] = {
        "recipes": ",".join(request.recipes),
        "night": request.night,
        "days": request.days,
    }
    rows = store.query("history_nights", **asked)
    _known(request, {row["recipe"] for row in rows}, store)
    metrics = ",".join("/".join(statistic) for statistic in request.statistics)
    values = store.query("history_values", **asked, metrics=metrics)
    if rows and not values and request.statistics is not DEFAULT_STATISTICS:
        raise _unknown_statistic(store, request.statistics)
    return _with_definitions(store, join(rows, values, _calendar(store, request)))


def _calendar(store: Store, request: HistoryRequest) -> list[date]:
    """Nights on which other recipes were measured: a recipe that was left out has a hole there."""
    if not request.recipes:
        return []
    asked = {"night": request.night, "days": request.days}
    return [row["night"] for row in store.query("measured_nights", **asked)]


def _unknown_statistic(store: Store, asked: Sequence[Statistic]) -> UsageError:
    known = {f"{row['metric']} {row['statistic']}" for row in store.query("known_statistics")}
    return unknown_name("statistic", " ".join(asked[0]), known)


def _known(request: HistoryRequest, found: set[str], store: Store) -> None:
    missing = [recipe for recipe in request.recipes if recipe not in found]
    if not missing:
        return
    rows = store.query("history_nights", night=request.night, days=request.days)
    known = {row["recipe"] for row in rows}
    hint = f"measured in the {request.days} days until {request.night}; --days looks further back"
    raise unknown_name("recipe", missing[0], known, hint=hint)


def load_one(
    store: Store, series_id: str, statistic: Statistic, *, night: date, days: int
) -> Series:
    """Read one series by its id. Raises UsageError where there is none."""
    request = HistoryRequest(night=night, days=days, statistics=(statistic,))
    found = load_series(store, request)
    for series in found:
        if series.series_id == series_id:
            return series
    if any(row["series_id"] == series_id for row in store.query("history_nights", night=night)):
        msg = f"series {series_id} has no {statistic.metric} {statistic.statistic}"
        raise UsageError(msg, hint="--metric and --statistic name a number that it has")
    raise unknown_name("series", series_id, [series.series_id for series in found])


def join(
    nights: Sequence[Mapping[str, Any]],
    values: Sequence[Mapping[str, Any]],
    others: Sequence[date] = (),
) -> list[Series]:
    """Make series of the rows of history_nights and history_values.

    ``others`` are nights on which something else was measured.
    """
    lines: dict[str, dict[LineKey, Line]] = defaultdict(dict)
    for row in nights:
        lines[row["series_id"]][_key(row)] = _line(row)
    held: dict[tuple[str, Statistic], dict[LineKey, Values]] = defaultdict(dict)
    for row in values:
        statistic = Statistic(row["metric"], row["statistic"])
        held[row["series_id"], statistic][_key(row)] = Values(
            statistic=statistic,
            unit=row["unit"],
            direction=row["direction"],
            by_build={build: (middle, n) for build, middle, n in row["points"]},
        )
    own = {
        night.night
        for some in lines.values()
        for line in some.values()
        for night in line.builds.values()
    }
    calendar = sorted(own.union(others))
    found = []
    for (series_id, _), of_lines in held.items():
        keys = list(lines[series_id])
        series = series_of_place(
            [lines[series_id][key] for key in keys], [of_lines.get(key) for key in keys], calendar
        )
        if series is not None:
            found.append(series)
    return sorted(found, key=lambda series: (series.place, series.statistic))


def _key(row: Mapping[str, Any]) -> LineKey:
    return row["series_id"], row["config_fp"], row["driver"]


def _line(row: Mapping[str, Any]) -> Line:
    settings = {k: v for k, v in row["settings"].items() if not k.startswith(_VOLATILE)}
    columns = {name: row[name] for name in _COLUMNS if row[name]}
    hosts = sorted({host for point in row["points"] for host in point[7]})
    if row["driver"]:
        columns["driver"] = row["driver"]
    return Line(
        series_id=row["series_id"],
        place=Place(*(row[name] for name in Place._fields)),
        config_fp=row["config_fp"],
        driver=row["driver"],
        configuration={**settings, **columns, "host": ", ".join(hosts)},
        builds={point[0]: _night(point) for point in row["points"]},
    )


def _night(point: Sequence[Any]) -> Night:
    _, night, began_ms, commit, image, refused, reasons, hosts, runs = point
    return Night(
        night=night,
        began=datetime.fromtimestamp(began_ms / 1000, UTC),
        engine_commit=commit,
        image_digest=image,
        refused=refused,
        reasons=tuple(reasons),
        hosts=tuple(hosts),
        run_ids=tuple(runs),
    )


def _with_definitions(store: Store, found: list[Series]) -> list[Series]:
    """Add what recipes said differently: a variable of the engine stands in no repetition's row."""
    borders = [pair for series in found for pair in _borders(series)]
    runs = sorted({run for pair in borders for run in map(_a_run, pair) if run})
    texts: dict[str, str] = {}
    for start in range(0, len(runs), _DEFINITIONS_AT_ONCE):
        some = ",".join(runs[start : start + _DEFINITIONS_AT_ONCE])
        rows = store.query("run_definitions", run_ids=some)
        texts |= {row["run_id"]: row["recipe_definition"] for row in rows}
    if not texts:
        return found
    told = {run: _flat(json.loads(text)) for run, text in texts.items()}
    return [_explained(series, told) for series in found]


def _borders(series: Series) -> list[tuple[Segment, Segment]]:
    return list(zip(series.segments, series.segments[1:], strict=False))


def _a_run(segment: Segment) -> str:
    """A run of a segment, the newest one that is known."""
    runs = [run for night in segment.nights for run in night.run_ids]
    return runs[-1] if runs else ""


def _explained(series: Series, told: Mapping[str, Mapping[str, str]]) -> Series:
    segments = [*series.segments]
    for number, (before, after) in enumerate(_borders(series), start=1):
        first, second = (told.get(_a_run(each)) for each in (before, after))
        if first is None or second is None:
            continue
        more = differences(first, second)
        known = {each.setting for each in after.differences}
        told_again = [each for each in more if each.setting not in known]
        segments[number] = replace(after, differences=(*after.differences, *told_again))
    return replace(series, segments=tuple(segments))


# Which build was measured, what decides, and words for people: none of it changes a number.
_BUILD = ("engine.version", "engine.commit", "engine.image")
_WORDS = ("description", "owner", "tags", "judge", "expected_minutes", "timeout_minutes", "nightly")


def _flat(value: object, path: str = "") -> dict[str, str]:
    """A recipe as dotted paths with their values; items of named lists by their names."""
    if path in _BUILD or path in _WORDS:
        return {}
    if isinstance(value, dict):
        found: dict[str, str] = {}
        for name, inner in value.items():
            found |= _flat(inner, f"{path}.{name}" if path else str(name))
        return found
    named = isinstance(value, list) and all(isinstance(v, dict) and "name" in v for v in value)
    if isinstance(value, list) and value and named:
        return _flat({each["name"]: each for each in value}, path)
    return {} if value is None else {path: value if isinstance(value, str) else json.dumps(value)}
