"""How often does the demo decide rightly? Runs it with many seeds and counts.

    python benchmarks/demo_verdicts.py --runs 20            # both candidates, 20 seeds each
    python benchmarks/demo_verdicts.py --runs 5 --only same

Candidates: ``same`` (the baseline itself; right: QUALIFIED) and ``decode+8%`` (every decode cost
8 % higher; right: NOT QUALIFIED, TPOT of both workloads worse, accuracy not accused). One run
takes about a minute; nothing else should run on the machine. Exit 6 where fewer than 19 of 20
decisions (95 %) are right.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import yaml

from gauntlet.demo.request import engine_settings

RIGHT_SHARE = 0.95
SLOWDOWN = 1.08
CANDIDATES = ("same", "decode+8%")


@dataclass(frozen=True)
class Outcome:
    seed: int
    seconds: float
    release: str
    worse: tuple[str, ...]
    open: tuple[str, ...]
    changes: dict[str, float]


def slower_settings(folder: Path) -> Path:
    settings = yaml.safe_load(engine_settings("baseline").read_text())
    settings["name"] = "decode-8-percent-slower"
    for key in ("decode_step_ms", "decode_ms_per_seq"):
        settings["timing"][key] *= SLOWDOWN
    path = folder / "slower.yaml"
    path.write_text(yaml.safe_dump(settings))
    return path


def run_once(candidate: str, seed: int, folder: Path) -> Outcome:
    store = folder / f"{candidate}-{seed}".replace("%", "")
    gauntlet = [sys.executable, "-m", "gauntlet"]
    settings = "same" if candidate == "same" else str(slower_settings(folder))
    command = [*gauntlet, "demo", "--candidate", settings, "--seed", str(seed)]
    command += ["--warehouse", str(store / "warehouse"), "--runs", str(store / "runs"), "--json"]
    started = time.monotonic()
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds = time.monotonic() - started
    if ended.returncode not in {0, 6}:
        sys.exit(f"{candidate}, seed {seed}: exit {ended.returncode}\n{ended.stderr[-2000:]}")
    result = json.loads(ended.stdout)
    blocking = [verdict for verdict in result["verdicts"] if verdict["blocking"]]
    return Outcome(
        seed=seed,
        seconds=seconds,
        release=result["outcome"],
        worse=tuple(v["subject"] for v in blocking if v["verdict"] == "worse"),
        open=tuple(v["subject"] for v in blocking if v["verdict"] == "inconclusive"),
        changes={
            verdict["subject"]: verdict["effect"]
            for verdict in result["verdicts"]
            if verdict["effect"] is not None
        },
    )


def is_right(candidate: str, outcome: Outcome) -> bool:
    if candidate == "same":
        return outcome.release == "QUALIFIED"
    return outcome.release == "NOT QUALIFIED" and any("tpot_ms" in each for each in outcome.worse)


def accused_wrongly(candidate: str, outcome: Outcome) -> list[str]:
    touched = () if candidate == "same" else ("tpot_ms", "e2e_ms", "output_tokens_per_s")
    return [subject for subject in outcome.worse if not any(name in subject for name in touched)]


def report(candidate: str, outcomes: list[Outcome]) -> bool:
    right = sum(is_right(candidate, outcome) for outcome in outcomes)
    wrong = [subject for outcome in outcomes for subject in accused_wrongly(candidate, outcome)]
    seconds = statistics.median(outcome.seconds for outcome in outcomes)
    print(f"\n{candidate}: {right} of {len(outcomes)} right, {len(wrong)} metrics accused wrongly")
    print(f"  seconds a run: median {seconds:.0f}, most {max(o.seconds for o in outcomes):.0f}")
    print(f"  {'objective':40} {'median':>9} {'least':>9} {'most':>9}  change in % or points")
    for subject in sorted({name for outcome in outcomes for name in outcome.changes}):
        if subject.startswith("requests/"):
            continue
        values = [outcome.changes[subject] for outcome in outcomes if subject in outcome.changes]
        middle = statistics.median(values)
        print(f"  {subject:40} {middle:+9.2f} {min(values):+9.2f} {max(values):+9.2f}")
    return right >= RIGHT_SHARE * len(outcomes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=100)
    parser.add_argument("--only", choices=CANDIDATES)
    options = parser.parse_args()
    good = True
    with tempfile.TemporaryDirectory(prefix="gauntlet-verdicts-") as folder:
        for candidate in [options.only] if options.only else CANDIDATES:
            outcomes = []
            for seed in range(options.first_seed, options.first_seed + options.runs):
                outcome = run_once(candidate, seed, Path(folder))
                outcomes.append(outcome)
                mark = "right" if is_right(candidate, outcome) else "WRONG"
                what = ", ".join((*outcome.worse, *(f"open: {name}" for name in outcome.open)))
                print(f"{candidate} seed {seed}: {mark}, {outcome.release}; {what}", flush=True)
            good = report(candidate, outcomes) and good
    sys.exit(0 if good else 6)


if __name__ == "__main__":
    main()
