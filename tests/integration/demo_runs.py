"""Run ``gauntlet demo`` as a person would, in a folder of its own."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import yaml

from gauntlet.warehouse.spool import Spool
from gauntlet.warehouse.store import open_store

RECIPE = Path(__file__).parent / "recipes" / "tiny.yaml"
FAST = {
    "timing": {"decode_step_ms": 4.0, "request_overhead_ms": 1.0, "startup_s": 0.0},
    "answers": {"verbosity": 2.0},
}
DEFINITIONS = {
    ".buildkite/ci_config.yaml": "name: demo_ci\njob_dirs: [.buildkite/areas]\n",
    ".buildkite/areas/sampling.yaml": (
        "group: Sampling\ndepends_on: []\nsteps:\n- label: Sampler\n  key: sampler\n"
        "  device: h100\n  source_file_dependencies: [vllm/v1/sample/]\n"
        "  commands: [pytest v1/sample]\n- label: Docs\n  key: docs\n  device: cpu\n"
        "  source_file_dependencies: [docs/]\n  commands: [make]\n"
    ),
}


@dataclass
class Ended:
    returncode: int
    stdout: str
    stderr: str
    folder: Path

    def query(self, name, **parameters):
        with open_store(str(self.folder / "warehouse")) as store:
            return store.query(name, **parameters)

    @property
    def run(self):
        return self.query("runs", limit=1)[0]

    def verdicts(self):
        rows = self.query("run_decisions", run_id=self.run["run_id"])
        return {row["subject"]: row["outcome"] for row in rows if row["kind"] == "verdict"}


def settings(folder, name, **changes):
    merged = json.loads(json.dumps(FAST))
    for key, value in changes.items():
        merged.setdefault(key, {}).update(value) if isinstance(value, dict) else merged.update(
            {key: value}
        )
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump({"name": name, **merged}))
    return path


def definitions(folder):
    for name, text in DEFINITIONS.items():
        path = folder / "engine" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder / "engine"


def command(folder, *extra, baseline=None, candidate="same", recipe=RECIPE, source=True):
    arguments = [sys.executable, "-m", "gauntlet", "demo", "--recipe", str(recipe)]
    arguments += ["--baseline", str(baseline or settings(folder, "fast"))]
    arguments += ["--candidate", str(candidate), "--warehouse", str(folder / "warehouse")]
    arguments += ["--runs", str(folder / "runs"), "--cache", str(folder / "cache")]
    if source:
        arguments += ["--engine-source", str(definitions(folder))]
    return [*arguments, *extra]


def demo(folder, *extra, env=None, **options):
    ended = subprocess.run(
        command(folder, *extra, **options),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, **(env or {})},
    )
    return Ended(ended.returncode, ended.stdout, ended.stderr, folder)


def spooled(folder):
    return len(Spool(folder / "warehouse-spool").pending())
