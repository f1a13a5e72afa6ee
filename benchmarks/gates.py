"""How often do the gates stop a candidate that is as good as the last release?

    python benchmarks/gates.py                 # seed 7, as reported in docs/explanation
    python benchmarks/gates.py --seed 3 --releases 200

A release is measured by 17 recipes of six blocking load statistics each (margin 3 %, turns vary by
1.5 %, A B B A blocks, looks after 2 to 8 blocks) and 6 accuracy tasks of 1,319 questions (margin
2 points, 4 % of the answers differ). Everything is judged by the real code: sessions and answers
by the analyzer, all together by the gates of a policy. Recipes that a gate calls inconclusive are
measured again, as its remedy says, up to three runs. Beside it: what stops the same candidates
where each run is judged for itself, and where every statistic is tested at 5 %. Exit 6 where a
goal is not reached.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import numpy as np
from judging import sides
from judging.figure import Figure
from judging.show import show

from gauntlet.analyzer.accuracy.evidence import AnswersEvidence
from gauntlet.analyzer.comparison.decide import Finding, decide
from gauntlet.analyzer.comparison.looks import Budget
from gauntlet.analyzer.verdict import Verdict
from gauntlet.release.gates.evaluate import evaluate_gates
from gauntlet.release.gates.facts import Facts, RunFact, Subject, VerdictFact
from gauntlet.release.gates.model import Qualification
from gauntlet.release.gates.rules import MeasuredGate, NeededRun, WaiverRules

RECIPES, STATISTICS, TASKS = 17, 6, 6
QUESTIONS, DIFFERING, MARGIN_POINTS = 1319, 0.04, 2.0
LEVEL, MOST_RUNS = 0.01, 3
NOW = datetime(2026, 1, 1, tzinfo=UTC)
COMMIT, BEFORE, IMAGE = "c" * 40, "b" * 40, f"sha256:{'1' * 64}"
SUBJECT = Subject(
    name="v1.0.0rc1",
    commit=COMMIT,
    images={"image": IMAGE},
    previous="v0.9.0",
    previous_commit=BEFORE,
)
LOADS = [f"recipe-{number:02d}" for number in range(RECIPES)]
EVALS = [f"task-{number}" for number in range(TASKS)]
GATES = (
    MeasuredGate(
        kind="measured",
        name="performance",
        runs=tuple(NeededRun(recipe=name) for name in LOADS),
        verdicts=("load/*",),
        most_runs=MOST_RUNS,
    ),
    MeasuredGate(
        kind="measured",
        name="accuracy",
        runs=tuple(NeededRun(recipe=name) for name in EVALS),
        verdicts=("eval/*",),
        most_runs=MOST_RUNS,
    ),
)


@dataclass(slots=True)
class Played:
    """One candidate: what the gates said after each round of runs, and what others would say."""

    states: list[str] = field(default_factory=list)
    failed: list[bool] = field(default_factory=list)
    runs: int = 0
    run_alone: bool = False
    uncorrected: bool = False


def play(random: np.random.Generator, loss: float = 0.0, drop: float = 0.0) -> Played:
    """Measure one candidate to its end; one statistic loses ``loss``, one task ``drop``."""
    played, runs = Played(), list[RunFact]()
    todo = [*LOADS, *EVALS]
    for round_ in range(MOST_RUNS):
        for name in todo:
            first = name in {LOADS[0], EVALS[0]}
            verdicts = (
                _load(random, loss if first else 0.0)
                if name in LOADS
                else _answers(random, drop if first else 0.0)
            )
            if round_ == 0:
                worse = [each.p_value for each in verdicts if each.p_value is not None]
                played.run_alone |= any(each.outcome == "worse" for each in verdicts)
                played.uncorrected |= min(worse) < 0.05
            runs.append(_run(name, round_, verdicts))
        result = _judge(runs)
        played.states.append(result.outcome)
        played.failed.append(any(gate.state == "FAIL" for gate in result.gates))
        keys = {p.key.split("/")[0] for g in result.gates for p in g.problems if p.state != "FAIL"}
        todo = sorted(key.partition("@")[0] for key in keys)
        if not todo:
            break
    played.runs = len(runs)
    return played


def _judge(runs: Sequence[RunFact]) -> Qualification:
    facts = Facts(runs=tuple(runs))
    rules = WaiverRules()
    return evaluate_gates(GATES, SUBJECT, facts, waivers=rules, level=LEVEL, now=NOW)


def _load(random: np.random.Generator, loss: float) -> Sequence[Verdict]:
    losses = np.zeros(STATISTICS)
    losses[0] = np.log1p(loss)
    return sides.play(random, sides.Machine(), losses).verdicts


def _answers(random: np.random.Generator, drop: float) -> Sequence[Verdict]:
    share = random.random(QUESTIONS)
    lost = (DIFFERING + drop) / 2
    drops = np.where(share < lost, 1.0, np.where(share < DIFFERING, -1.0, 0.0))
    finding = Finding(
        subject="eval/accuracy",
        blocking=True,
        margin=MARGIN_POINTS,
        unit="points",
        evidence=AnswersEvidence(
            drops=tuple(drops.tolist()), clusters=tuple(map(str, range(QUESTIONS)))
        ),
    )
    return decide([finding], Budget(false_alarm_rate=LEVEL))


def _run(name: str, number: int, verdicts: Sequence[Verdict]) -> RunFact:
    kind = "load" if name in LOADS else "eval"
    return RunFact(
        run_id=f"{name}/{number}",
        recipe=name,
        accelerator="H200",
        status="complete",
        images=frozenset({IMAGE}),
        commits=frozenset({COMMIT}),
        baseline_commits=frozenset({BEFORE}),
        started_at=NOW - timedelta(days=1, hours=-number),
        hours=1.0,
        verdicts=tuple(
            VerdictFact(
                subject=f"{kind}/{each.subject.removeprefix('eval/')}",
                outcome=each.outcome,
                blocking=each.blocking,
                reason=each.reason,
                demoted=each.demoted,
                p_value=each.p_value,
                effect=each.effect,
                interval=(each.lower, each.upper) if each.lower is not None else None,
                margin=each.margin,
                higher_is_better=each.higher_is_better,
            )
            for each in verdicts
        ),
    )


def figures(seed: int, releases: int) -> list[Figure]:
    """Measure everything; about a second a release on one core."""
    random = np.random.default_rng(seed)
    same = [play(random) for _ in range(releases)]
    count = RECIPES * STATISTICS + TASKS
    found = [
        Figure(
            area="gates",
            name=f"no-change candidates that fail, {count} statistics",
            value=float(np.mean([each.failed[-1] for each in same])),
            unit="share",
            goal=0.01,
            better="lower",
            anchors={
                "each run for itself at 1 %": float(np.mean([each.run_alone for each in same])),
                "each statistic at 5 %": float(np.mean([each.uncorrected for each in same])),
            },
            note=f"{releases} candidates",
        ),
        Figure(
            area="gates",
            name="no-change candidates that are blocked in the end",
            value=float(np.mean([each.states[-1] != "QUALIFIED" for each in same])),
            unit="share",
            goal=0.01,
            better="lower",
            note=f"failed, or inconclusive after {MOST_RUNS} runs",
        ),
    ]
    found += [
        Figure(
            area="gates",
            name=f"of them qualified after {number} runs of what was open",
            value=float(np.mean(["QUALIFIED" in each.states[:number] for each in same])),
            unit="share",
        )
        for number in range(1, MOST_RUNS + 1)
    ]
    found.append(
        Figure(
            area="gates",
            name="runs that a no-change candidate needs",
            value=float(np.mean([each.runs for each in same])),
            unit="runs",
            better="lower",
            note=f"{RECIPES + TASKS} at least",
        )
    )
    for name, losses in (
        ("a loss of 3 % in one statistic", {"loss": 0.03}),
        ("a loss of 5 % in one statistic", {"loss": 0.05}),
        ("a drop of 2 points in one task", {"drop": 0.02}),
    ):
        bad = [play(random, **losses) for _ in range(max(releases // 4, 1))]
        found.append(
            Figure(
                area="gates",
                name=f"candidates with {name} that do not qualify",
                value=float(np.mean([each.states[-1] != "QUALIFIED" for each in bad])),
                unit="share",
                goal=0.95,
                note=f"{np.mean([each.failed[-1] for each in bad]):.1%} FAIL, the rest is open",
            )
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=7, help="7 for reports; tune with others")
    parser.add_argument("--releases", type=int, default=1000, help="simulated candidates")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    parts = {"gates": lambda: figures(asked.seed, asked.releases)}
    show(parts, ["gates"], as_json=asked.json, needs={})


if __name__ == "__main__":
    main()
