"""How good is the classifier of failures? Prints a table per log, shares, and lines a second.

    python benchmarks/classify.py ../shared/data/log-classifier
    python benchmarks/classify.py DIR --held-out OTHER --error-lines LOGS --json

DIR has ``labels.csv`` (log, class, retryable, and ``also``: classes that are right as well, with
``|`` between) and ``logs/*.txt``, whose decisive line begins with ``#=MATCH=# `` and has its key
between single guillemets; both are taken out before a log is read. All logs of
``../shared/data/log-classifier`` were used to write rules: what they score is no measure of logs
to come. ``--held-out`` names a folder of the same form that was not; its shares stand apart.
``--error-lines`` scores logs with a ``NAME.logview.json``: are the expected lines among the first
five? Times are of one core; the anchor, every expression on every line, is measured in the same
run. Exit 6 where a goal is missed.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from classifying import labelled, speed
from judging.figure import Figure

from gauntlet.analyzer.failures.rules import load_rules

_SHARE_GOAL = 95.0
_SPEED_GOAL = 200_000.0
_TOP_GOAL = 85.0


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", metavar="DIR", type=Path)
    parser.add_argument("--held-out", type=Path, help="folder of logs no rule was written for")
    parser.add_argument("--error-lines", type=Path, help="folder of *.log.gz and *.logview.json")
    parser.add_argument("--lines", type=int, default=1_000_000, help="length of the made log")
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    folders = {"tuned on" if asked.held_out else "labelled": asked.folder}
    if asked.held_out:
        folders["held out"] = asked.held_out
    for folder in folders.values():
        if not (folder / "labels.csv").is_file():
            parser.error(f"{folder} has no labels.csv")
    rules = load_rules()
    scored = {part: labelled.score(folder, rules) for part, folder in folders.items()}
    figures = [*_shares(scored), *_speeds(asked, rules)]
    shown = labelled.score_error_lines(asked.error_lines, rules) if asked.error_lines else []
    figures += _top(shown)
    if asked.json:
        told = {
            "logs": [
                asdict(each) | {"part": part} for part, logs in scored.items() for each in logs
            ],
            "error_lines": [asdict(each) for each in shown],
            "figures": [asdict(figure) | {"met": figure.met} for figure in figures],
        }
        print(json.dumps(told, indent=2))
    else:
        print("\n".join([*_logs(scored), "", *_table(figures)]))
    missed = [figure.name for figure in figures if figure.met is False]
    if missed:
        sys.stdout.flush()
        print(f"not reached: {'; '.join(missed)}", file=sys.stderr)
        sys.exit(6)


def _shares(scored: Mapping[str, Sequence[labelled.Scored]]) -> list[Figure]:
    return [
        Figure(area="classify", name=f"{what} right, {part} ({len(logs)} logs)", unit="%",
               value=100 * sum(getattr(each, name) for each in logs) / len(logs), goal=_SHARE_GOAL)
        for part, logs in scored.items() if logs
        for what, name in (("class", "class_right"), ("line", "line_right"))
    ]  # fmt: skip


def _speeds(asked: argparse.Namespace, rules: "labelled.RuleSet") -> list[Figure]:
    logs = {
        f"made log of {asked.lines} lines": speed.made_log(asked.lines, asked.seed),
        "real logs, repeated": speed.joined_logs(asked.folder / "logs", asked.lines // 10),
    }
    return [
        Figure(area="classify", name=f"lines a second, {name}", unit="/s", goal=_SPEED_GOAL,
               value=speed.lines_per_second(data, rules, asked.passes),
               anchors={"every rule on every line": speed.naive_lines_per_second(data, rules)},
               note="times of one core, median of the passes")
        for name, data in logs.items()
    ]  # fmt: skip


def _top(shown: Sequence[labelled.Candidates]) -> list[Figure]:
    if not shown:
        return []
    logs = 100 * sum(each.found > 0 for each in shown) / len(shown)
    lines = 100 * sum(min(each.found, each.wanted) for each in shown) / sum(e.wanted for e in shown)
    return [
        Figure(area="classify", name="logs with an expected line in the first five", unit="%",
               value=logs, goal=_TOP_GOAL),
        Figure(area="classify", name="expected lines in the first five", unit="%", value=lines),
    ]  # fmt: skip


def _logs(scored: Mapping[str, Sequence[labelled.Scored]]) -> list[str]:
    width = max(len(each.name) for logs in scored.values() for each in logs)
    return [
        f"  {each.name:<{width}}  {part:<8}"
        f"  {'ok' if each.class_right else each.found_class + ', not ' + each.wanted_class:<24}"
        f"  {'ok' if each.line_right else f'line {each.found_line}, not {each.wanted_line}':<20}"
        f"  {each.rule}".rstrip()
        for part, logs in scored.items()
        for each in logs
    ]


def _table(figures: Sequence[Figure]) -> list[str]:
    width = max(len(figure.name) for figure in figures)
    lines = []
    for figure in figures:
        goal = "" if figure.goal is None else f"≥ {figure.goal:,.0f}"
        met = {True: "met", False: "MISSED", None: ""}[figure.met]
        others = ", ".join(f"{name} {value:,.0f}" for name, value in figure.anchors.items())
        value = (
            f"{figure.value:,.1f} {figure.unit}" if figure.unit == "%" else f"{figure.value:,.0f}"
        )
        lines.append(
            f"  {figure.name:<{width}}  {value:>12}  {goal:>10}  {met:<6}  {others}".rstrip()
        )
    return lines


if __name__ == "__main__":
    main()
