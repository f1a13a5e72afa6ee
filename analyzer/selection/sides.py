"""Both sides of a comparison from what somebody named: the one way in for every command."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from gauntlet.analyzer.lengths import length_labels
from gauntlet.analyzer.measured import Measured, Side
from gauntlet.analyzer.selection.files import load_files
from gauntlet.analyzer.selection.selector import (
    FILTERS,
    STORED_FORMS,
    Selector,
    parse_selector,
)
from gauntlet.analyzer.selection.stored import load_stored
from gauntlet.analyzer.selection.telemetry import read_looks
from gauntlet.core.errors import UsageError, unknown_name
from gauntlet.warehouse.store import Store, open_store

# Of files, these are told: nothing in them says it.
_TOLD_OF_FILES = ("recipe", "accelerator")


def load_sides(
    baseline: str,
    candidate: str,
    *,
    location: str,
    telemetry: Path | None = None,
    where: Sequence[str] = (),
) -> list[Measured]:
    """Load both sides; the warehouse is opened only where a selector needs it.

    ``telemetry`` is a file that result files are judged by; ``where`` are filters for both sides.
    Raises UsageError for selectors that name nothing, and where both name the same measurements.
    """
    selectors = [parse_selector(text, where) for text in (baseline, candidate)]
    files = [selector.kind == "files" for selector in selectors]
    if telemetry is not None and not any(files):
        msg = f"{telemetry} judges result files, and {baseline!r} and {candidate!r} name none"
        hint = "telemetry of a run was judged when it was measured"
        raise UsageError(msg, hint=hint)
    if all(files):
        sides = _both(selectors, None, telemetry)
    else:
        with open_store(location) as store:
            sides = _both(selectors, store, telemetry)
    return by_length([*_told_apart(*sides, f"{baseline!r} and {candidate!r}")])


def load_stored_sides(
    store: Store, baseline: str, candidate: str, *, where: Sequence[str] = ()
) -> list[Measured]:
    """Load both sides from an open store.

    Raises UsageError for selectors that name nothing or files, and where both name the same
    measurements.
    """
    selectors = [parse_selector(text, where) for text in (baseline, candidate)]
    for selector in selectors:
        if selector.kind == "files":
            msg = f"{selector.text!r} names no measurements of the warehouse"
            raise UsageError(msg, hint=f"allowed here: {STORED_FORMS}")
    sides = _both(selectors, store, None)
    return [*_told_apart(*sides, f"{baseline!r} and {candidate!r}")]


def _both(
    selectors: Sequence[Selector], store: Store | None, telemetry: Path | None
) -> tuple[list[Measured], list[Measured]]:
    first, second = selectors
    return (
        load(first, "baseline", store=store, telemetry=telemetry),
        load(second, "candidate", store=store, telemetry=telemetry),
    )


def load(
    selector: Selector,
    side: Side,
    *,
    store: Store | None = None,
    telemetry: Path | None = None,
) -> list[Measured]:
    """Load what a selector names, as repetitions of ``side``.

    Raises UsageError where nothing is left, with what there is.
    """
    if selector.kind == "files":
        looks = None if telemetry is None else read_looks(telemetry)
        found = load_files(selector, side, looks)
    elif store is None:
        hint = "--warehouse says where it is"
        raise UsageError(f"{selector.text!r} needs a warehouse", hint=hint)
    else:
        found = load_stored(selector, side, store)
    return _filtered(found, selector)


def _filtered(found: list[Measured], selector: Selector) -> list[Measured]:
    for key in FILTERS:
        wanted = selector.filters.get(key)
        if wanted is None or (selector.kind == "files" and key in _TOLD_OF_FILES):
            continue
        known = {str(getattr(measured.place, key)) for measured in found}
        if wanted not in known:
            raise unknown_name(f"{key} in {selector.text!r}:", wanted, known)
        found = [measured for measured in found if getattr(measured.place, key) == wanted]
    return found


def _told_apart(
    baseline: list[Measured], candidate: list[Measured], named: str
) -> tuple[Measured, ...]:
    """Refuse to compare a measurement with itself."""
    twice = {m.repetition_id for m in baseline} & {m.repetition_id for m in candidate}
    if twice:
        msg = f"{named} both name {len(twice)} measurements, such as {min(twice)}"
        hint = "of a run with two sides, write run:ID:baseline and run:ID:candidate"
        raise UsageError(msg, hint=hint)
    return (*baseline, *candidate)


def by_length(measured: Sequence[Measured]) -> list[Measured]:
    """Give files of different prompt and answer lengths places of their own.

    A file says its lengths only by its totals, which differ a little from seed to seed.
    """
    told = {m.repetition_id: lengths for m in measured if (lengths := _file_lengths(m))}
    labels = length_labels(list(told.values()))
    # All that a run of failures leaves open is which of several lengths it was.
    only = next(iter(labels.values()), "") if len(set(labels.values())) == 1 else ""
    return [
        _renamed(m, labels[told[m.repetition_id]] if m.repetition_id in told else only)
        for m in measured
    ]


def _renamed(measured: Measured, label: str) -> Measured:
    if not label or "file" not in measured.settings:
        return measured
    place = measured.place
    return replace(measured, place=place._replace(workload=f"{place.workload}-{label}"))


def _file_lengths(measured: Measured) -> tuple[float, float] | None:
    settings = measured.settings
    if "file" not in settings or "input_tokens" not in settings:
        return None
    return float(settings["input_tokens"]), float(settings["output_tokens"])
