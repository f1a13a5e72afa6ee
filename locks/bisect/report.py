"""How a bisect ended, for people; and the line that holds a package back."""

import json
import shlex
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

from gauntlet.core.files import write_atomic
from gauntlet.core.words import number_of
from gauntlet.locks.bisect.units import Material
from gauntlet.locks.bisect.use import BisectReport, CulpritRecord

_HELD_DAYS = 14


def report_lines(report: BisectReport) -> Iterator[str]:
    """The probes as a table, then the verdict with its evidence."""
    yield f"{'probe':12}  {'new':>4}  {'outcome':7}  {'status':>6}  {'install s':>9}  {'test s':>7}"
    for row in report.probes:
        status = "-" if row.status is None else str(row.status)
        yield (
            f"{row.key[:12]}  {len(row.new):4}  {row.outcome:7}  {status:>6}"
            f"  {row.install_s:9.2f}  {row.test_s:7.2f}"
        )
    installs = number_of(report.installs, "installation")
    yield f"{installs} for {number_of(report.upgrades, 'upgrade')}"
    for culprit in report.culprits:
        yield f"culprit: {named(culprit)}"
        yield f"  {_evidence(culprit)}"
    yield from _verdict(report)


def named(culprit: CulpritRecord) -> str:
    """``name old -> new``, of all that move together."""
    moves = [f"{up.name} {up.old or '(none)'} -> {up.new or '(none)'}" for up in culprit.upgrades]
    return " with ".join(moves)


def suspects_text(found: Material, *, as_json: bool) -> str:
    """What a bisect would move, the likeliest first."""
    if as_json:
        rows = [
            {"package": name, "weight": weight, "versions": found.changes[name].versions}
            for name, weight in found.weights.items()
        ]
        return json.dumps(rows, indent=1)
    rows_of = found.weights.items()
    return "\n".join(f"{w:6.1f}  {name} {found.changes[name].versions}" for name, w in rows_of)


def hold_lines(report: BisectReport, today: date) -> list[str]:
    """Constraints that hold the culprits back, each with its reason and its last day."""
    until = today + timedelta(days=_HELD_DAYS)
    why = f"breaks {shlex.join(report.command)}, until {until:%Y-%m-%d}".replace("\n", " ")
    moves = [upgrade for culprit in report.culprits for upgrade in culprit.upgrades]
    return [f"{up.name}=={up.old}  # {why}" for up in moves if up.old and "|" not in up.old]


def write_holds(path: Path, report: BisectReport, today: date) -> list[str]:
    """Put the holds into a file of constraints; a package that is held already gets its new line.

    Returns the lines. Raises InfrastructureError where the file cannot be written.
    """
    lines = hold_lines(report, today)
    names = {line.partition("==")[0] for line in lines}
    present = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    kept = [line for line in present if line.partition("==")[0].strip() not in names]
    write_atomic(path, "\n".join([*kept, *lines]) + "\n")
    return lines


def _evidence(culprit: CulpritRecord) -> str:
    green = (
        f"probe {culprit.green[:12]} is green" if culprit.green else "the old lock is said green"
    )
    red = f"probe {culprit.red[:12]} is red" if culprit.red else "the new lock is said red"
    return f"{green}, {red}: they differ in this alone"


def _verdict(report: BisectReport) -> Iterator[str]:
    if report.state != "proved":
        yield f"{report.state}: {report.reason}"
        return
    others = report.upgrades - sum(len(culprit.upgrades) for culprit in report.culprits)
    kept = others - len(report.held_too)
    upgrades = number_of(others, "other upgrade")
    yield f"proved: green with {kept} of the {upgrades} kept and the culprit held"
    if report.held_too:
        yield f"cannot move without it: {', '.join(report.held_too)}"
