"""Repetitions of the warehouse as measured ones: of a run, an image, a commit or a version."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from gauntlet.analyzer.measured import Measured, Place, Side, Statistic
from gauntlet.analyzer.selection.builds import resolve_build
from gauntlet.analyzer.selection.files import statistic_of
from gauntlet.analyzer.selection.gpus import gpus_measured_on
from gauntlet.analyzer.selection.selector import Selector
from gauntlet.core.errors import UsageError, nearest
from gauntlet.warehouse.store import Store

_RUNS_LOOKED_AT = 1_000
_SHOWN = 8
_INTERLEAVED = ("baseline", "candidate")


def load_stored(selector: Selector, side: Side, store: Store) -> list[Measured]:
    """Read what a selector names; of a run with two sides, the asked one.

    Raises UsageError where the warehouse has no such run or build, or no load of it.
    """
    if selector.kind == "run":
        wanted = {"run_id": selector.value}
    else:
        build = resolve_build(selector, store.query("known_builds"))
        wanted = {selector.kind: build}
    rows: Sequence[Mapping[str, Any]] = store.query("selected_repetitions", **wanted)
    if not rows and selector.kind == "run":
        raise _unknown_run(selector, store)
    if selector.kind == "run":
        rows = _of_side(rows, selector.side or side)
    values: dict[str, dict[Statistic, float | None]] = defaultdict(dict)
    for row in store.query("selected_metrics", **wanted):
        values[row["repetition_id"]][statistic_of(row["metric"], row["statistic"])] = row["value"]
    gpus = gpus_measured_on(store, rows) if selector.gpus is None else {}
    return [
        _measured(
            row,
            side=side,
            values=values[row["repetition_id"]],
            gpus=gpus.get(row["repetition_id"], selector.gpus),
        )
        for row in rows
    ]


def _of_side(rows: Sequence[Mapping[str, Any]], side: str) -> list[Mapping[str, Any]]:
    """Rows of one side; a run that has no sides is measured as a whole."""
    if side not in _INTERLEAVED or not any(row["side"] in _INTERLEAVED for row in rows):
        return list(rows)
    return [row for row in rows if row["side"] == side]


def _unknown_run(selector: Selector, store: Store) -> UsageError:
    runs = [str(row["run_id"]) for row in store.query("runs", limit=_RUNS_LOOKED_AT)]
    if selector.value in runs:
        hint = "it has evals only, or recorded nothing: `gauntlet warehouse query run_repetitions`"
        return UsageError(f"{selector.text!r}: the run has no load repetition", hint=hint)
    close = nearest(selector.value, runs)
    msg = f"{selector.text!r}: no run {selector.value!r} in {store.location}"
    msg += f"; did you mean {close!r}?" if close else "."
    newest = ", ".join(runs[:_SHOWN])
    msg += f" The newest are: {newest}." if runs else " There are none."
    return UsageError(msg, hint="`gauntlet warehouse query runs --param limit=20` lists them")


def _measured(
    row: Mapping[str, Any],
    *,
    side: Side,
    values: Mapping[Statistic, float | None],
    gpus: int | None,
) -> Measured:
    settings = dict(row["settings"])
    if gpus is not None:
        settings["gpus"] = str(gpus)
    return Measured(
        repetition_id=row["repetition_id"],
        place=Place(
            recipe=row["recipe"],
            workload=row["workload"],
            point=row["point"],
            model=row["model"],
            accelerator=row["accelerator"],
        ),
        side=side,
        session=row["run_id"] if row["side"] in _INTERLEAVED else "",
        pair=row["pair"],
        position=row["position"],
        status=row["status"],
        reasons=tuple(row["reasons"]),
        config_fp=row["config_fp"],
        settings=settings,
        host=row["host"],
        driver=row["driver"],
        engine_commit=row["engine_commit"],
        image_digest=row["image_digest"],
        started_at=row["started_at"].isoformat(),
        prompts=settings.get("plan_digest", ""),
        completed=row["completed"],
        failed=row["failed"],
        values=values,
    )
