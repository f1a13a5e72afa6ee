"""A small real engine, everything that its release needs, and the commands of a release manager."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

from engine_repository import engine_files
from factories import attempt_row, build_row, commit_row
from git_repository import GitRepository
from local_base import MACHINES, local_base

from gauntlet.core.clock import utc_now
from gauntlet.core.ids import digest
from gauntlet.core.yaml_file import load_model
from gauntlet.perf_eval.recipe import Recipe
from gauntlet.release.proof.keys import new_key
from gauntlet.warehouse.batch import Batch
from gauntlet.warehouse.delivery import deliver
from gauntlet.warehouse.rows.measurement import (
    EvalSampleRow,
    MetricRow,
    RepetitionRow,
    RequestRow,
    RunRow,
)

HERE = os.uname().machine
PLATFORM = f"linux/{MACHINES[HERE]}"
BUILD = f"{sys.executable} -m build --no-isolation --outdir {{out}}"
MATRIX = f"""\
schema_version: 1
package: tinyengine
builders:
  wheel:
    - >-
      TINYENGINE_VERSION="$GAUNTLET_VERSION" TINYENGINE_PLATFORM={{platform_tag}}
      {BUILD} --wheel .
  sdist:
    - TINYENGINE_VERSION="$GAUNTLET_VERSION" {BUILD} --sdist .
    - {sys.executable} pack.py {{out}}
wheels:
  - {{id: plain, platform_tag: &here manylinux_2_34_{HERE}, queue: q, smoke_queue: q}}
  - {{id: labelled, variant: cpu, platform_tag: *here, queue: q, smoke_queue: q}}
images:
  - id: image
    repository: tiny/engine
    platform: {PLATFORM}
    wheel: plain
    queue: q
    smoke_queue: q
"""
# setuptools keeps the times of the checkout; packed like this an sdist is the same anywhere.
PACK = """\
import gzip, io, os, sys, tarfile
from pathlib import Path

(path,) = Path(sys.argv[1]).glob("*.tar.gz")
packed = io.BytesIO()
with tarfile.open(path) as old, tarfile.open(fileobj=packed, mode="w") as new:
    for member in sorted(old.getmembers(), key=lambda member: member.name):
        member.mtime, member.uid, member.gid = int(os.environ["SOURCE_DATE_EPOCH"]), 0, 0
        member.uname = member.gname = ""
        member.pax_headers = {}
        new.addfile(member, old.extractfile(member) if member.isfile() else None)
path.write_bytes(gzip.compress(packed.getvalue(), mtime=0))
"""
INSTALL = (
    '["pip", "install", "--no-index", "--no-compile", "--no-cache-dir", '
    '"--root-user-action=ignore", "--find-links", "/wheels", "tinyengine"]'
)
DOCKERFILE = f"""\
FROM scratch
RUN --mount=type=bind,from=wheel,target=/wheels {INSTALL}
USER engine
ENTRYPOINT ["python3", "-m", "tinyengine.serve"]
"""
POLICY = """\
schema_version: 1
smoke:
  command: ["{python}", "-m", "tinyengine.serve", "--port", "{port}"]
  image_arguments: ["--port", "{port}"]
  startup_s: 60
images: {public: "PUBLIC"}
schedule:
  picks_close: {weekday: DAY, time: "23:59"}
gates:
  - {name: full-ci, kind: ci, lanes: [{name: any, at_least: 2}]}
  - name: performance
    kind: measured
    verdicts: ["load/*", "requests/*"]
    runs: [{recipe: tiny, image: image}]
  - {name: accuracy, kind: measured, verdicts: ["eval/*"], runs: [{recipe: tiny, image: image}]}
"""
RECIPE = """\
name: tiny
description: Completions one after the other, and letters from the end.
owner: tests
blocks: {min: 3, max: 3}
workloads:
  - name: one
    arrivals: {kind: closed, concurrency: 1}
    prompts: {kind: random, prompt_tokens: {min: 8, max: 8}, output_tokens: {min: 8, max: 8}}
    requests: 20
evals:
  - {name: letters, kind: gsm8k, source: {generate: 320, seed: 5}, items: 320}
judge:
  load:
    - {workload: one, metric: e2e_ms, statistic: p50, margin_percent: 60}
  evals:
    - {task: letters, margin_points: 3}
"""
ADDRESS = "https://code.example.org/tiny/engine"
# Milliseconds of sleep in each completion: so much longer than the rest that a busy machine that
# doubles nothing else cannot hide the one or make up the other.
SLEEP = {"good": 6, "slow": 30}
MEASURE = """
import json, sys, time
sys.path.insert(0, sys.argv[1])
from tinyengine._core import complete
for prompt in ["abcdefgh"] * 20:
    begun = time.perf_counter()
    text = complete(prompt)
    print(json.dumps([1000 * (time.perf_counter() - begun), text == prompt[::-1]]))
"""


def core(speed):
    """The extension's source, with how long a completion takes."""
    text = engine_files()["tinyengine/_core.c"]
    wait = f"    struct timespec wait = {{0, {SLEEP[speed]}000000}};\n    nanosleep(&wait, NULL);\n"
    text = text.replace("#include <string.h>\n", "#include <string.h>\n#include <time.h>\n")
    return text.replace("    (void)self;\n", f"    (void)self;\n{wait}", 1)


class World:
    """One engine with its remote, its policy and matrix, a warehouse, a key and a base image."""

    def __init__(self, folder, *, public="", base=None):
        self.folder = folder
        self.location = str(folder / "warehouse")
        self.releases = folder / "releases"
        self.base = base
        self.engine = None
        self.commands = []
        # Far enough away that no midnight closes the window while the test runs.
        closes = (utc_now() + timedelta(days=3)).strftime("%A").lower()
        (folder / "matrix.yaml").write_text(MATRIX)
        (folder / "policy.yaml").write_text(POLICY.replace("PUBLIC", public).replace("DAY", closes))

    def begin(self):
        """Make the repository: v1.1.0, then main, which became slow and nobody noticed."""
        engine = self.engine = GitRepository(self.folder)
        files = {**engine_files("1.1.0"), "tinyengine/_core.c": core("good")}
        self.released = engine.commit("Begin", {**files, "Dockerfile": DOCKERFILE, "pack.py": PACK})
        engine.git("tag", "v1.1.0")
        engine.commit("Say more in the readme (#1)", {"README.md": "# tinyengine\n\nIt answers.\n"})
        self.cut_at = engine.commit(
            "Wait for the letters (#2)", {"tinyengine/_core.c": core("slow"), "VERSION": "1.2.0\n"}
        )
        self._address()
        engine.push()
        engine.git("push", "--quiet", "origin", "v1.1.0")
        # Made once, so that it is the same commit in every copy; it lands later.
        self.fixed = engine.commit("Do not wait so long (#3)", {"tinyengine/_core.c": core("good")})
        self.base = self.base or local_base(self.folder / "base")
        new_key(self.folder / "key")
        return self

    def fix(self):
        """Land the fix on main."""
        self.engine.push()

    def copy(self, folder):
        """The same world elsewhere: the same commits, nothing done yet but what was done here."""
        shutil.copytree(self.folder, folder, symlinks=True, dirs_exist_ok=True)
        other = object.__new__(type(self))
        other.__dict__ |= self.__dict__
        other.folder, other.location = folder, str(folder / "warehouse")
        other.releases = folder / "releases"
        engine = other.engine = object.__new__(GitRepository)
        engine.folder, engine.remote = folder / "engine", folder / "engine.git"
        engine.git("config", "--remove-section", f"url.{self.engine.remote}")
        other._address()
        return other

    def _address(self):
        """Call the remote by one address wherever the world is: images bear it in a label."""
        self.engine.git("config", "remote.origin.url", ADDRESS)
        self.engine.git("config", f"url.{self.engine.remote}.insteadOf", ADDRESS)

    def argv(self, *arguments):
        """A command line of ``release``, with where everything is."""
        command, *rest = arguments
        options = {
            "--releases": self.releases,
            "--repository": self.engine.folder,
            "--warehouse": self.location,
            "--policy": self.folder / "policy.yaml",
            "--matrix": self.folder / "matrix.yaml",
        }
        if command in {"cut", "picks", "candidate"}:
            del options["--matrix"]
        if command in {"record", "plan"}:
            options = {"--releases": self.releases}
        if command == "diff":
            del options["--releases"], options["--policy"], options["--matrix"]
        if command == "why":
            options = {"--warehouse": self.location}
        pairs = [text for name, value in options.items() for text in (name, str(value))]
        return [sys.executable, "-m", "gauntlet", "release", command, *rest, *pairs]

    def run(self, *arguments, status=0, kill_after=None):
        """Run a command; ``kill_after`` s it and all its children are killed, if it still runs."""
        process = subprocess.Popen(
            self.argv(*arguments),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            cwd=self.folder,
            env={**os.environ, "GAUNTLET_SIGNING_KEY": str(self.folder / "key")},
        )
        begun = time.monotonic()
        try:
            out, err = process.communicate(timeout=240 if kill_after is None else kill_after)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            if kill_after is None:
                raise
            return None
        self.commands.append((arguments, time.monotonic() - begun, process.returncode))
        if kill_after is None:
            assert process.returncode == status, f"{arguments}: {process.returncode}\n{out}\n{err}"
        return out

    def gauntlet(self, *arguments, status=0):
        """Run another command of gauntlet."""
        argv = [sys.executable, "-m", "gauntlet", *arguments, "--warehouse", self.location]
        done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout

    def store(self, name, *rows):
        """Put rows into the warehouse; the same name is stored once."""
        deliver(self.location, [Batch.of(name, rows, created_at=utc_now())])

    def build(self, commit, number, branch, position=None):
        """Record a green full build of a commit."""
        at = utc_now() - timedelta(hours=2)
        rows = [build_row(number, sha=commit, branch=branch, created_at=at, finished_at=at)]
        spent = {"started_at": at, "finished_at": at + timedelta(minutes=20)}
        where = {"sha": commit, "branch": branch, "created_at": at, "runnable_at": at}
        keys = ("kernels", "models", "entrypoints")
        rows += [attempt_row(key, number, **where, **spent) for key in keys]
        if position is not None:
            rows.append(commit_row(position, sha=commit, branch=branch, committed_at=at))
        self.store(f"build {number}", *rows)

    def state(self):
        """The state of the release, as it is kept."""
        return json.loads((self.releases / "v1.2.0" / "release.json").read_text())

    def measure(self, candidate):
        """Measure the candidate's own wheel beside the last release's, and judge it."""
        made = next(c for c in self.state()["candidates"] if c["name"] == candidate)
        image = next(a["digest"] for a in made["artifacts"] if a["kind"] == "image")
        dist = self.releases / "v1.2.0" / "candidates" / candidate / "dist"
        (wheel,) = [path for path in dist.glob("*.whl") if "+" not in path.name]
        sides = {"baseline": self._baseline(), "candidate": self._installed(wheel, candidate)}
        rows = list(_rows(candidate, sides, made["commit"], self.released, image, self.folder))
        self.store(f"measured {candidate} {image}", *rows)
        run_id = f"measure-{candidate}"
        slow = candidate == "v1.2.0rc1"
        self.gauntlet("analyze", "compare", run_id, status=6 if slow else 0)

    def _baseline(self):
        place = self.folder / "installed-baseline"
        if not place.exists():
            source = self.folder / "baseline-source"
            self.engine.git("worktree", "add", "--detach", "--quiet", str(source), "v1.1.0")
            out = self.folder / "baseline-dist"
            command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "-o", str(out)]
            _done([*command, str(source)])
            (wheel,) = out.glob("*.whl")
            self._install(wheel, place)
        return place

    def _installed(self, wheel, candidate):
        place = self.folder / f"installed-{candidate}"
        shutil.rmtree(place, ignore_errors=True)
        self._install(wheel, place)
        return place

    def _install(self, wheel, place):
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
        _done([*pip, "--target", str(place), str(wheel)])

    def outcome(self):
        """What the world sees in the end, without times and places of this world."""
        published = self.releases / "v1.2.0" / "published"
        record = json.loads((published / "documents" / "record.json").read_text())
        index = self.releases / "public" / "index"
        files = {
            str(path.relative_to(index)): digest(path.read_bytes().hex())
            for path in sorted(index.rglob("*"))
            if path.is_file()
        }
        refs = self.engine.git("ls-remote", str(self.engine.remote)).splitlines()
        heads = dict(reversed(line.split("\t")) for line in refs)
        return {
            "index": files,
            "artifacts": record["artifacts"],
            "commit": record["commit"],
            "candidate": record["candidate"],
            "picks": record["commits"],
            "tags": record["tags"],
            "gates": [(gate["gate"], gate["state"]) for gate in record["gates"]],
            "branch": heads["refs/heads/releases/v1.2.0"],
            "released": heads["refs/tags/v1.2.0^{}"],
            "candidates": [(c["name"], c["commit"]) for c in record["candidates"]],
        }


def _done(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def _rows(candidate, sides, commit, before, image, folder):
    recipe_file = folder / "recipe.yaml"
    recipe_file.write_text(RECIPE)
    recipe = load_model(recipe_file, Recipe)
    at = utc_now() - timedelta(minutes=30)
    run_id = f"measure-{candidate}"
    yield RunRow(
        run_id=run_id,
        version=1,
        recipe=recipe.name,
        recipe_digest=digest(recipe.model_dump(mode="json")),
        recipe_definition=recipe.model_dump_json(),
        engine_kind="tinyengine",
        gauntlet_version="0",
        host="here",
        seed=7,
        status="complete",
        started_at=at,
        updated_at=at + timedelta(minutes=5),
    )
    script = folder / "measure.py"
    script.write_text(MEASURE)
    for pair in range(6):
        order = ("baseline", "candidate") if pair % 2 == 0 else ("candidate", "baseline")
        for position, side in enumerate(order):
            lines = _done([sys.executable, str(script), str(sides[side])]).splitlines()
            measured = [json.loads(line) for line in lines]
            shared = {
                "run_id": run_id, "repetition_id": f"{run_id}/one/{pair}/{side}", "side": side,
                "workload": "one", "pair": pair,
            }  # fmt: skip
            which = (commit, image) if side == "candidate" else (before, None)
            begun = at + timedelta(seconds=10 * (2 * pair + position))
            yield _repetition(shared, "load", position, which, begun, len(measured))
            times = sorted(value for value, _ in measured)
            for index, (value, _) in enumerate(measured):
                yield RequestRow(
                    **shared, request_index=index, status="ok", prompt_tokens=8, output_tokens=8,
                    sent_ms=float(index), ttft_ms=value, tpot_ms=value / 8, e2e_ms=value,
                )  # fmt: skip
            yield MetricRow(
                **shared, series_id="tiny/one", metric="e2e_ms", statistic="p50",
                value=times[len(times) // 2], unit="ms", direction="lower", n=len(times),
            )  # fmt: skip
            if pair == 0:
                task = {**shared, "repetition_id": f"{run_id}/letters/0/{side}"}
                asked = {**task, "workload": "letters"}
                yield _repetition(asked, "eval", position, which, begun, 320)
                right = all(correct for _, correct in measured)
                for item in range(320):
                    yield EvalSampleRow(
                        run_id=run_id, repetition_id=task["repetition_id"], side=side,
                        task="letters", item_id=f"{item:04d}", pair=0, status="scored",
                        score=float(right), answer="hgfedcba" if right else "?",
                        expected="hgfedcba",
                    )  # fmt: skip


def _repetition(shared, kind, position, which, begun, completed):
    commit, image = which
    return RepetitionRow(
        **shared,
        series_id=f"tiny/{shared['workload']}",
        recipe="tiny",
        kind=kind,
        position=position,
        status="valid",
        config_fp=f"tiny-{kind}",
        engine_kind="tinyengine",
        engine_version="1",
        engine_commit=commit,
        image_digest=image,
        model="tiny",
        host="here",
        accelerator="CPU",
        client="tests",
        client_version="0",
        dataset_digest="letters",
        seed=7,
        started_at=begun,
        ended_at=begun + timedelta(seconds=8),
        completed=completed,
        failed=0,
    )


def clean(path: Path):
    """Names below a folder that a killed process may have left behind."""
    return sorted(each.name for each in path.rglob(".*") if each.name != ".lock")
