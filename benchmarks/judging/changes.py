"""Change points: our detector and others on the same made series, and on real ones.

Series and scoring are those of ``changepoint_bench.py`` of the shared inputs; without them there is
nothing to score on. Other detectors run under a Python of their own (they pin what we do not).
"""

import importlib.util
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from gauntlet.analyzer.changepoints import detect
from gauntlet.analyzer.history.describe import describe
from gauntlet.analyzer.history.reruns import confirm
from judging.figure import Figure

AREA = "changes"
IID = (
    "null_cov1",
    "null_cov2",
    "null_cov4",
    "null_cov2_outlier",
    "null_cov2_bimodal",
    "null_cov2_t3",
)
NEAR = 2
MOST_POINTS = 15
WALKS, DELAYS = 30, 40
RERUNS = 4
MARGIN_PERCENT = 1.0

Results = Mapping[str, Mapping[str, Any]]
Rerun = Callable[[int], list[float]]


@cache
def bench(shared: Path) -> ModuleType:
    """The benchmark of the shared inputs as a module."""
    spec = importlib.util.spec_from_file_location("changepoint_bench", bench_file(shared))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def bench_file(shared: Path) -> Path:
    """Where the benchmark is kept."""
    return shared / "bench" / "changepoint_bench.py"


def figures(
    shared: Path, seed: int, series: int, anchors: Sequence[str], python: str | None
) -> list[Figure]:
    """Figures of one seed with ``series`` series a scenario; ``anchors`` run under ``python``."""
    for name in anchors if python else ():
        _check(shared, name, str(python))
    # One process each, one after the other: nothing competes for the processor.
    results: dict[str, Results] = {"gauntlet": _ours(shared, seed, series)}
    for name in anchors if python else ():
        results[name] = _theirs(shared, seed, series, name, str(python))
    speeds = {"gauntlet": _speed(shared, sys.executable, "gauntlet.analyzer.changepoints:detect")}
    speeds |= {name: _speed(shared, str(python), name) for name in results if name != "gauntlet"}
    note = f"{series} series a scenario, seed {seed}"

    def each(value: Callable[[Results], float]) -> tuple[float, dict[str, float]]:
        found = {name: value(result) for name, result in results.items()}
        return found.pop("gauntlet"), found

    rows = (
        ("pooled F1, nine plain steps", pooled_f1, 0.88, "higher", ""),
        ("unchanged, independent noise, alarming", _iid_alarms, 0.01, "lower", ""),
        ("unchanged, AR(1), alarming", _alarming("null_cov2_ar1"), 0.05, "lower", ""),
        ("F1 of a step in AR(1)", _f1_of("step5_cov2_ar1"), 0.85, "higher", ""),
        ("F1 of up and back", _f1_of("two5_cov2"), None, "higher", ""),
        ("F1 of a burst of six", _f1_of("burst5_cov1"), None, "higher", ""),
        ("F1 of a step five points ago", _f1_of("late5_cov2"), None, "higher", ""),
        ("ramps taken for steps", _alarming("drift5_cov1"), None, "lower", ""),
        ("spreads taken for steps", _alarming("null_cov2_hetero"), None, "lower", ""),
        ("alarms, night by night", _walking, None, "lower", "/1000 points"),
        ("median delay without reruns", _delay_of("step5_cov2"), None, "lower", "points"),
    )
    found = []
    for name, value, goal, better, unit in rows:
        ours, others = each(value)
        found.append(
            Figure(
                area=AREA,
                name=name,
                value=ours,
                goal=goal,
                better=better,
                unit=unit,
                anchors=others,
                note=note,
            )
        )
    found += [_drifts(shared, seed, series), *_delays(shared, seed, series)]
    for points, goal in ((60, 2.0), (500, 10.0)):
        found.append(
            Figure(
                area=AREA,
                name=f"time for {points} points",
                value=speeds["gauntlet"][str(points)],
                goal=goal,
                better="lower",
                unit="ms",
                anchors={n: s[str(points)] for n, s in speeds.items() if n != "gauntlet"},
                note="mean CPU time of series with a step and without, one after the other",
            )
        )
    return found


def _ours(shared: Path, seed: int, series: int) -> Results:
    found: Results = bench(shared).run(detect, seed, series, NEAR, DELAYS, MOST_POINTS, WALKS)
    return found


def _check(shared: Path, name: str, python: str) -> None:
    """End with what is missing where a detector cannot be loaded, before anything is measured."""
    command = [python, str(bench_file(shared)), "--detectors", name, "--only", "none", "--n", "1"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["it said nothing"]
        sys.exit(f"{name} cannot run under {python}: {said[-1]} (--anchors leaves it out)")


def _theirs(shared: Path, seed: int, series: int, name: str, python: str) -> Results:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "results.json"
        options = {"--seed": seed, "--n": series, "--detectors": name, "--out": out}
        options |= {"--tol": NEAR, "--n-delay": DELAYS, "--kmax": MOST_POINTS, "--n-walk": WALKS}
        command = [
            python,
            str(bench_file(shared)),
            *(str(x) for pair in options.items() for x in pair),
        ]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=1800)
        found: Results = json.loads(out.read_text())[name]
        return found


def _alarming(scenario: str) -> Callable[[Results], float]:
    return lambda results: float(results[scenario]["fp_series"])


def _f1_of(scenario: str) -> Callable[[Results], float]:
    return lambda results: _f1([results[scenario]])


def _delay_of(scenario: str) -> Callable[[Results], float]:
    return lambda results: float(results[scenario]["delay_med"] or MOST_POINTS + 1)


def _f1(results: Sequence[Mapping[str, Any]]) -> float:
    """F1 over scenarios of equally many true change points."""
    hits = sum(result["recall"] for result in results)
    false = sum(
        result["recall"] * (1 / result["precision"] - 1)
        for result in results
        if result["precision"]
    )
    return float(2 * hits / (hits + false + len(results)))


def pooled_f1(results: Results) -> float:
    """F1 over the nine scenarios of one step in independent normal noise."""
    plain = [name for name in results if name.startswith("step") and name.count("_") == 1]
    return _f1([results[name] for name in plain])


def _iid_alarms(results: Results) -> float:
    return float(np.mean([results[name]["fp_series"] for name in IID]))


def _walking(results: Results) -> float:
    return float(np.mean([results[name]["walk_alarms_per_1000"] for name in IID]))


def _series(shared: Path, name: str, seed: int, series: int) -> list[tuple[list[float], list[int]]]:
    module = bench(shared)
    scenarios = module.scenarios()
    place = list(scenarios).index(name)
    return [
        module.make(scenarios[name], np.random.default_rng([seed, place, number]))
        for number in range(series)
    ]


def _drifts(shared: Path, seed: int, series: int) -> Figure:
    ramps = _series(shared, "drift5_cov1", seed, series)
    kinds = [{change.kind for change in describe(values).changes} for values, _ in ramps]
    called = sum("drift" in kind and not kind & {"step", "recovery"} for kind in kinds) / series
    return Figure(
        area=AREA,
        name="ramps called drift, and no step",
        value=called,
        goal=0.9,
        note=f"5 % over 40 points, CoV 1 %, {series} series, seed {seed}",
    )


def _delays(shared: Path, seed: int, series: int) -> list[Figure]:
    """Walk forward as the nights come; an alarm is answered by reruns of suspect and parent."""
    delays = []
    false = looks = 0
    for number, (values, (change,)) in enumerate(_series(shared, "step5_cov2", seed, series)):
        rng = np.random.default_rng([seed, 999, number])
        levels = (float(np.mean(values[:change])), float(np.mean(values[change:])))
        rerun = partial(_rerun, rng, change, levels)
        delays.append(_delay(values, change, rerun))
        announced: list[int] = []
        for night in range(20, change):
            looks += 1
            blamed = _blamed(values[:night], rerun)
            if blamed is not None and all(abs(blamed - index) > NEAR for index in announced):
                announced.append(blamed)
        false += len(announced)
    found = [delay for delay in delays if delay is not None]
    note = f"5 % step at CoV 2 %, four reruns of suspect and parent, {series} series, seed {seed}"
    return [
        Figure(
            area=AREA,
            name="median delay with reruns",
            value=float(np.median([d if d is not None else MOST_POINTS + 1 for d in delays])),
            goal=3,
            better="lower",
            unit="points",
            note=f"{note}; found within {MOST_POINTS}: {len(found) / len(delays):.0%}",
        ),
        Figure(
            area=AREA,
            name="blamed after reruns though unchanged",
            value=1000 * false / max(looks, 1),
            better="lower",
            unit="/1000 nights",
            note=f"nights before the step, {looks} of them",
        ),
    ]


def _rerun(
    rng: np.random.Generator, change: int, levels: tuple[float, float], index: int
) -> list[float]:
    """Measure the build of one point again."""
    return list(levels[index >= change] * (1 + rng.normal(0, 0.02, RERUNS)))


def _delay(values: Sequence[float], change: int, rerun: Rerun) -> int | None:
    for after in range(1, min(MOST_POINTS, len(values) - change) + 1):
        blamed = _blamed(values[: change + after], rerun)
        if blamed is not None and abs(blamed - change) <= NEAR:
            return after
    return None


def _blamed(values: Sequence[float], rerun: Rerun) -> int | None:
    """The point blamed on the night of the last value, by a new step or a confirmed alarm."""
    shape = describe(values)
    steps = [change.index for change in shape.changes if change.kind == "step"]
    if steps and len(values) - steps[-1] <= MOST_POINTS:
        return steps[-1]
    alarm = shape.alarm
    if alarm is None or shape.noise_percent is None:
        return None
    answer = confirm(
        rerun(alarm.index),
        rerun(alarm.parent),
        noise_percent=shape.noise_percent,
        alarm_percent=alarm.effect_percent,
        margin_percent=MARGIN_PERCENT,
    )
    return alarm.index if answer.outcome == "confirmed" else None


def _speed(shared: Path, python: str, detector: str) -> dict[str, float]:
    """Mean milliseconds of CPU time for series of 60 and 500 points, in a process of its own."""
    probe = Path(__file__).with_name("speed_probe.py")
    command = [python, str(probe), str(bench_file(shared)), detector]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=900)
    found: dict[str, float] = json.loads(done.stdout)
    return found
