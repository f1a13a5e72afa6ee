"""Our judges beside the tests of ``ab_bench.py`` of the shared inputs, on its own generator.

That file is a script: its definitions are taken without what it runs. Its runs are not interleaved
and send other prompts each; the *i*-th runs of both sides stand for a pair here.
"""

import ast
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from gauntlet.analyzer.accuracy.sequential import Sequential
from gauntlet.analyzer.comparison.decide import Finding, decide
from gauntlet.analyzer.comparison.effects import PairKey, Turns, interleaved_effect
from gauntlet.analyzer.comparison.evidence import RatioEvidence
from gauntlet.analyzer.comparison.looks import Budget
from judging.figure import Figure

RUNS, REQUESTS, NOISE = 8, 500, 0.015
QUESTIONS, DIFFERING, DROP = 1319, 0.04, 0.02


def bench_file(shared: Path) -> Path:
    """Where the benchmark is kept."""
    return shared / "bench" / "ab_bench.py"


def definitions(shared: Path, seed: int) -> dict[str, Any]:
    """Functions of the benchmark, drawing from ``seed``."""
    kept = (ast.Import, ast.ImportFrom, ast.FunctionDef)
    tree = ast.parse(bench_file(shared).read_text())
    tree.body = [node for node in tree.body if isinstance(node, kept)]
    names: dict[str, Any] = {"rng": np.random.default_rng(seed)}
    exec(compile(tree, str(bench_file(shared)), "exec"), names)  # noqa: S102 - our own inputs
    return names


def figures(shared: Path, seed: int, sessions: int) -> list[Figure]:
    """False alarms and power of both, and answers that a sequential test asks for."""
    bench = definitions(shared, seed)
    found = [
        *_compared(bench, sessions, 1.0, "ab_bench: unchanged median called changed"),
        *_compared(bench, sessions, 1.05, "ab_bench: median 5 % slower found"),
    ]
    return [*found, *_stopped(bench, np.random.default_rng([seed, 2]), sessions)]


def _compared(bench: dict[str, Any], sessions: int, slower: float, name: str) -> list[Figure]:
    rules: dict[str, Callable[[Any, Any], bool]] = {
        "ours": lambda a, b: _worse(np.median(a, 1), np.median(b, 1)),
        "Welch on run medians": lambda a, b: bool(
            bench["welch"](np.median(a, 1), np.median(b, 1)) < 0.01
        ),
        "one run each, 5 % of the mean": lambda a, b: abs(b[0].mean() / a[0].mean() - 1) > 0.05,
        "one run each, 5 % of the p99": lambda a, b: (
            abs(np.quantile(b[0], 0.99) / np.quantile(a[0], 0.99) - 1) > 0.05
        ),
    }
    called = dict.fromkeys(rules, 0)
    for _ in range(sessions):
        sides = [bench["runs"](RUNS, REQUESTS, NOISE, effect) for effect in (1.0, slower)]
        for rule, says in rules.items():
            called[rule] += bool(says(*sides))
    shares = {rule: count / sessions for rule, count in called.items()}
    return [
        Figure(
            area="sides",
            name=name,
            value=shares.pop("ours"),
            better="lower" if slower == 1.0 else "higher",
            anchors=shares,
            note=f"{sessions} sessions of {RUNS} runs a side, not interleaved; one-sided 1 %",
        )
    ]


def _worse(baseline: Any, candidate: Any) -> bool:  # noqa: ANN401 - arrays of the benchmark
    pairs = {
        PairKey("made", number): Turns(math.log(a), math.log(b))
        for number, (a, b) in enumerate(zip(baseline, candidate, strict=True))
    }
    evidence = RatioEvidence(effect=interleaved_effect(pairs), higher_is_better=False)
    finding = Finding(subject="load/made", blocking=True, margin=3.0, unit="%", evidence=evidence)
    return decide([finding], Budget(false_alarm_rate=0.01))[0].outcome == "worse"


def _stopped(bench: dict[str, Any], rng: np.random.Generator, sessions: int) -> list[Figure]:
    """Both sequential tests on the same answers; the other one looks at discordant pairs alone."""
    asked: dict[str, list[int]] = {"ours": [], "e-process": []}
    found = dict.fromkeys(asked, 0)
    for _ in range(sessions):
        draws = rng.random(QUESTIONS)
        losses = draws < (DIFFERING + DROP) / 2
        differing = draws < DIFFERING
        places = np.flatnonzero(differing)
        at = bench["eproc"](list(losses[places]))
        found["e-process"] += at is not None
        asked["e-process"].append(QUESTIONS if at is None else int(places[at - 1]) + 1)
        session = Sequential(margin=DROP, alpha=0.05)
        for loss, differs in zip(losses, differing, strict=True):
            look = session.add(1.0 if loss else -1.0 if differs else 0.0)
            if look.decision != "open":
                break
        else:
            look = session.finish()
        found["ours"] += look.decision == "worse"
        asked["ours"].append(look.items)
    note = f"drop of 2 points, 4 % differ, {sessions} sessions of {QUESTIONS} questions"
    return [
        Figure(
            area="accuracy",
            name="ab_bench: sequential power",
            value=found["ours"] / sessions,
            anchors={"e-process": found["e-process"] / sessions},
            note=note,
        ),
        Figure(
            area="accuracy",
            name="ab_bench: share of the questions asked",
            value=float(np.mean(asked["ours"])) / QUESTIONS,
            goal=0.5,
            better="lower",
            anchors={"e-process": float(np.mean(asked["e-process"])) / QUESTIONS},
            note=note,
        ),
    ]
