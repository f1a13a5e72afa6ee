"""Figures of several areas as tables, or as JSON; exit 6 where a goal is missed."""

import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from judging.figure import Figure


def shared_folder() -> Path:
    """Where the shared inputs are."""
    given = os.environ.get("GAUNTLET_SHARED")
    return Path(given) if given else Path(__file__).resolve().parents[3] / "shared"


def show(
    parts: Mapping[str, Callable[[], Sequence[Figure]]],
    areas: Sequence[str],
    *,
    as_json: bool,
    needs: Mapping[str, Path] | None = None,
) -> None:
    """Measure area by area and print each as it is done; those whose file is absent are named."""
    found: list[Figure] = []
    for area in areas:
        needed = (needs or {}).get(area)
        if needed is not None and not needed.is_file():
            print(f"{area}: skipped, no {needed}", file=sys.stderr)
            continue
        begun = time.monotonic()
        figures = parts[area]()
        found += figures
        if not as_json:
            print(f"\n{area}, {time.monotonic() - begun:.0f} s")
            print("\n".join(table(figures)), flush=True)
    if as_json:
        print(json.dumps([asdict(figure) | {"met": figure.met} for figure in found], indent=2))
    missed = [figure.name for figure in found if figure.met is False]
    if missed:
        sys.stdout.flush()
        print(f"not reached: {'; '.join(missed)}", file=sys.stderr)
        sys.exit(6)


def table(figures: Sequence[Figure]) -> list[str]:
    rows = [("", "ours", "goal", "", "others")]
    for figure in figures:
        sign = "≥" if figure.better == "higher" else "≤"
        goal = "" if figure.goal is None else f"{sign} {_number(figure.goal)}"
        met = {True: "met", False: "MISSED", None: ""}[figure.met]
        others = ", ".join(f"{name} {_number(value)}" for name, value in figure.anchors.items())
        value = f"{_number(figure.value)} {figure.unit}".strip()
        rows.append((figure.name, value, goal, met, others))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = [
        f"  {row[0]:<{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]:>{widths[2]}}"
        f"  {row[3]:<{widths[3]}}  {row[4]}".rstrip()
        for row in rows
    ]
    notes = dict.fromkeys(figure.note for figure in figures if figure.note)
    return [*lines, *(f"  · {note}" for note in notes)]


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    if value == 0:
        return "0"
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}"
