"""Real pytest runs: collect, plan, run every shard, and prove that each test ran once."""

import io
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
import yaml
from unit.pipelines.factories import write_tree

from gauntlet.__main__ import run
from gauntlet.core.json_file import json_text
from gauntlet.pipelines.sharding import plugin
from gauntlet.pipelines.timings import Timings, load_timings

# Every id that pytest has trouble with, fixtures of every scope, and each way to end.
SUITE = {
    "conftest.py": """\
        import os, pathlib, pytest

        @pytest.fixture(scope="module")
        def server(request):
            log = pathlib.Path(os.environ["SETUPS"])
            with log.open("a") as stream:
                stream.write(request.node.nodeid + "\\n")
            return 1

        def pytest_configure(config):
            config.addinivalue_line("markers", "slow: is left out")
        """,
    "test_ids.py": """\
        import pytest

        @pytest.mark.parametrize(
            "x", ["a b", "a::b", "[x]", "x[", "]", "é ☃", "", "a/b", "-k", "a\\nb", "{shard}", "%"]
        )
        def test_odd(x):
            pass

        @pytest.mark.parametrize("x", [1, 2])
        @pytest.mark.parametrize("y", ["p", "q"])
        def test_crossed(x, y):
            pass
        """,
    "test_server.py": """\
        def test_one(server): pass
        def test_two(server): pass
        def test_three(server): pass
        """,
    "test_classes.py": """\
        import pytest, unittest

        class TestA:
            def test_x(self): pass
            @pytest.mark.parametrize("n", range(3))
            def test_n(self, n): pass
            class TestInner:
                def test_x(self): pass

        class OldStyle(unittest.TestCase):
            def test_x(self): pass
        """,
    "sub/test_ends.py": """\
        import pytest

        @pytest.mark.skip
        def test_skipped(): pass
        @pytest.mark.xfail
        def test_expected(): assert False
        @pytest.mark.slow
        def test_slow(): pass
        def test_subtests(subtests):
            for n in range(3):
                with subtests.test(n=n): pass
        """,
    "other/test_more.py": """\
        def test_x(): pass
        def test_y(): pass
        """,
}
DEFINITIONS = """\
group: Areas
depends_on: [base]
steps:
- {{label: base, key: base, depends_on: [], commands: ["true"], device: cpu-small}}
- label: Long
  key: long
  working_dir: {folder}
  device: cpu-small
  commands:
  - export SETUPS={folder}/../setups
{commands}
"""
PLUGIN_FILE = Path(plugin.__file__)


class Site:
    """A job in a folder: its tests, its definitions, and what happened there."""

    def __init__(self, root: Path, commands):
        self.root = root
        self.tests = root / "tests"
        for name, text in SUITE.items():
            self.write(name, text)
        (self.tests / "pytest.ini").write_text("[pytest]\n")
        (root / "bin").mkdir()
        shutil.copy(PLUGIN_FILE, root / "bin" / "copied_plugin.py")
        (root / "bin" / "pytest").write_text(
            f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m pytest "$@"\n'
        )
        (root / "bin" / "pytest").chmod(0o755)
        listed = "\n".join(f"  - {json.dumps(command)}" for command in commands)
        text = DEFINITIONS.format(folder=self.tests, commands=listed)
        config = "name: tiny\njob_dirs: [.buildkite/areas]\n"
        self.tree = write_tree(root / "tree", {".buildkite/areas/a.yaml": text}, config)
        self.plan = root / "plan.json"
        self.inventory = root / "inventory.json"

    def write(self, name, text):
        path = self.tests / name
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = text.splitlines()
        margin = len(lines[0]) - len(lines[0].lstrip())
        path.write_text("\n".join(line[margin:] for line in lines) + "\n", encoding="utf-8")

    def gauntlet(self, *arguments):
        with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
            code = run(["pipelines", "shard", *map(str, arguments)])
        return code, out.getvalue(), err.getvalue()

    def shell(self, lines, folder=".", **env):
        """Run lines as an agent does, where there is neither Gauntlet nor any other plugin.

        Every agent has a checkout of its own, which is its ``folder``.
        """
        checkout = self.root / folder
        checkout.mkdir(exist_ok=True)
        kept = {name: os.environ[name] for name in ("HOME", "LANG", "TMPDIR") if name in os.environ}
        kept["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
        path = f"{self.root / 'bin'}:{os.environ['PATH']}"
        return subprocess.run(
            ["bash", "-e", "-c", "\n".join(lines)],
            env={**kept, "PATH": path, "PYTHONDONTWRITEBYTECODE": "1", **env},
            cwd=checkout,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def collect(self):
        code, out, err = self.gauntlet(
            *("collect", "long", "--definitions", self.tree, "--inventory", self.inventory),
            *copied(self),
        )
        assert code == 0, err
        return self.shell(out.splitlines())

    def plan_shards(self, seconds):
        """Plan with every collected test at so many seconds and shards of one minute."""
        calls = json.loads(self.inventory.read_text())["commands"]
        past = {node_id: (seconds,) for call in calls for node_id in call["node_ids"]}
        timings = self.root / "past.json"
        timings.write_text(json_text(Timings(schema_version=1, tests=past)))
        return self.gauntlet(
            *("plan", "--inventory", self.inventory, "--timings", timings, "--target", 1),
            *("--overhead", 0, "--split-cost", 0, "--definitions", self.tree, "--out", self.plan),
        )

    def run_shards(self):
        """Run the rendered commands of every shard; return what each ended in."""
        code, out, err = self.gauntlet(
            *("render", "long", "--definitions", self.tree, "--plan", self.plan),
            *("--plan-path", self.plan, "--receipt-path", self.root / "r" / "{shard}.json"),
            *copied(self),
        )
        assert code == 0, err
        ((step,),) = [group["steps"] for group in yaml.safe_load(out)["steps"]]
        # The agent turns a doubled sign into one when it takes the pipeline.
        lines = [command.replace("$$", "$") for command in step["commands"]]
        count = str(step["parallelism"])

        def one(number):
            return self.shell(
                lines,
                f"agent-{number}",
                BUILDKITE_PARALLEL_JOB=str(number),
                BUILDKITE_PARALLEL_JOB_COUNT=count,
            )

        with ThreadPoolExecutor(max_workers=2) as agents:
            return list(agents.map(one, range(step["parallelism"])))

    def receipts(self):
        return sorted((self.root / "r").glob("*.json"))

    def verify(self):
        return self.gauntlet("verify", "--plan", self.plan, *self.receipts())

    def ran(self):
        return Counter(
            (command["index"], result["node_id"])
            for path in self.receipts()
            for command in json.loads(path.read_text())["commands"]
            for result in command["results"]
        )

    def planned(self):
        return Counter(
            (command["index"], node_id)
            for shard in json.loads(self.plan.read_text())["shards"]
            for command in shard["commands"]
            for node_id in command["node_ids"]
        )


def copied(site):
    return ("--plugin", "copied_plugin", "--plugin-folder", site.root / "bin")


@pytest.fixture
def site(tmp_path):
    def make(*commands):
        return Site(tmp_path, commands)

    return make


@pytest.fixture(scope="module")
def planned(tmp_path_factory):
    """A job with a plan of two shards; not to be changed."""
    here = Site(tmp_path_factory.mktemp("planned"), ["pytest test_server.py other"])
    here.collect()
    assert here.plan_shards(20)[0] == 0
    return here


def test_every_test_runs_once_whatever_its_id(site):
    here = site("pytest -v -m 'not slow' --ignore=other", 'A=1 pytest other -k "x or y"')
    collected = here.collect()
    assert collected.returncode == 0, collected.stdout + collected.stderr
    code, _, err = here.plan_shards(5)
    assert code == 0, err
    assert "provably the fewest" in err
    assert "100% of the estimated time" in err
    ended = here.run_shards()
    assert len(ended) == 3
    assert [shard.returncode for shard in ended] == [0] * len(ended), ended[0].stdout
    assert here.ran() == here.planned()
    names = {node_id for _, node_id in here.ran()}
    assert len(here.ran()) == 30
    assert not any("test_slow" in name for name in names)
    assert sum("test_odd" in name for name in names) == 12
    code, out, err = here.verify()
    assert code == 0, err
    assert out == f"30 tests ran on {len(ended)} shards, each exactly once\n"
    # A file that fits one shard is set up once.
    assert (here.root / "setups").read_text().split() == ["test_server.py"]


def test_durations_come_back_as_timings(site):
    here = site("pytest sub other")
    here.collect()
    here.plan_shards(20)
    assert len(here.run_shards()) == 2
    into = here.root / "timings.json"
    for known in (1, 2):
        code, _, _ = here.gauntlet("merge-timings", *here.receipts(), "--into", into)
        assert code == 0
        past = load_timings(into).tests
        assert set(past) == {node_id for _, node_id in here.planned()}
        assert {len(seconds) for seconds in past.values()} == {known}


def test_a_test_added_since_runs_on_one_shard(site):
    here = site("pytest test_server.py other", "pytest sub")
    here.collect()
    here.plan_shards(19)
    here.write("other/test_more.py", "def test_x(): pass\ndef test_y(): pass\ndef test_z(): pass")
    here.write("other/test_new.py", "def test_new(): pass\ndef test_newer(): pass")
    ended = here.run_shards()
    assert [shard.returncode for shard in ended] == [0] * 3, ended[0].stdout
    added = here.ran() - here.planned()
    assert added == Counter(
        {
            (0, f"other/test_{name}"): 1
            for name in ("more.py::test_z", "new.py::test_new", "new.py::test_newer")
        }
    )
    assert sum("not planned, runs here: other/test_new.py" in s.stdout for s in ended) in {1, 2}
    # The shard of its file takes it: its fixtures are there.
    of_file = next(
        n
        for n, shard in enumerate(json.loads(here.plan.read_text())["shards"])
        if "other/test_more.py::test_x" in str(shard)
    )
    assert "runs here: other/test_more.py::test_z" in ended[of_file].stdout
    code, _, err = here.verify()
    assert code == 0, err


def test_a_planned_test_that_is_gone_fails_its_own_shard_only(site):
    here = site("pytest test_server.py other sub")
    here.collect()
    here.plan_shards(19)
    here.write("other/test_more.py", "def test_x(): pass")
    ended = here.run_shards()
    codes = [shard.returncode for shard in ended]
    assert sorted(codes) == [0, 0, plugin.EXIT_MISSING]
    (failed,) = [shard for shard in ended if shard.returncode]
    assert "planned, but not collected: other/test_more.py::test_y" in failed.stdout
    code, _, err = here.verify()
    assert code == 6
    assert "other/test_more.py::test_y of call 1) not collected" in err
    assert "never ran" in err


def test_failures_keep_pytests_own_exit_code(site):
    here = site("pytest -x test_server.py other")
    here.write("other/test_more.py", "def test_x(): assert False\ndef test_y(): pass")
    here.collect()
    here.plan_shards(19)
    ended = here.run_shards()
    assert sorted(shard.returncode for shard in ended) == [0, 1]
    code, _, err = here.verify()
    assert code == 6
    assert "test_y of call 1) never ran" in err


def test_a_failing_test_that_stops_nothing_ran_all_the_same(site):
    here = site("pytest test_server.py other")
    here.write("other/test_more.py", "def test_x(): assert False\ndef test_y(): pass")
    here.collect()
    here.plan_shards(19)
    assert sorted(shard.returncode for shard in here.run_shards()) == [0, 1]
    assert here.verify()[0] == 0


def test_a_call_that_has_nothing_for_a_shard_is_no_failure(site):
    here = site("pytest test_server.py", "pytest other")
    here.collect()
    here.plan_shards(20)
    first, second = here.run_shards()
    assert (first.returncode, second.returncode) == (0, 0)
    assert "no test of this pytest call is planned for this shard" in first.stdout
    assert here.verify()[0] == 0


def test_a_broken_module_gives_no_inventory(site):
    here = site("pytest other", "pytest sub")
    here.write("other/test_more.py", "import nowhere")
    ended = here.collect()
    assert ended.returncode == 2
    assert "is not written: the collection failed" in ended.stdout
    code, _, err = here.plan_shards(20)
    assert code == 3
    assert "2 pytest calls, the inventory 0" in err


def test_a_call_without_tests_leaves_the_job_as_it_is(site):
    here = site("pytest other", "pytest sub -k nothing")
    here.plan.write_text("an earlier build's")
    assert here.collect().returncode == 0
    code, _, err = here.plan_shards(20)
    assert code == 3
    assert "pytest call 2 collects no test" in err
    assert not here.plan.exists()


def test_a_doubtful_job_is_not_collected(site):
    here = site("pytest other | tee log")
    code, out, err = here.gauntlet("collect", "long", "--definitions", here.tree)
    assert (code, out) == (3, "")
    assert "more than one command" in err


def test_an_unknown_job_is_named(site):
    here = site("pytest a")
    code, _, err = here.gauntlet("collect", "lon", "--definitions", here.tree)
    assert code == 2
    assert "did you mean 'long'?" in err


def test_a_short_job_renders_as_it_is(site):
    here = site("pytest other")
    here.collect()
    assert here.plan_shards(1)[0] == 3
    code, out, _ = here.gauntlet("render", "long", "--definitions", here.tree)
    assert code == 0
    assert "parallelism" not in out
    assert "pytest other\n" in out


def pytest_run(here, *arguments, **env):
    words = shlex.join(map(str, arguments))
    line = f"cd tests && PYTHONPATH=../bin SETUPS=../setups pytest -p copied_plugin {words}"
    return here.shell([line], **env)


@pytest.mark.parametrize(
    ("arguments", "env", "words"),
    [
        pytest.param([], {}, "which shard?", id="no number"),
        pytest.param(["--gauntlet-shard=2"], {}, "no shard 2", id="number too high"),
        pytest.param([], {"BUILDKITE_PARALLEL_JOB": "x"}, "not a number", id="no number at all"),
        pytest.param(
            ["--gauntlet-shard=0"], {"BUILDKITE_PARALLEL_JOB_COUNT": "3"}, "plan has 2", id="count"
        ),
        pytest.param(
            ["--gauntlet-shard=0", "--gauntlet-command=1"], {}, "no pytest call 1", id="call"
        ),
        pytest.param(["--gauntlet-shard=0", "--gauntlet-collect=i"], {}, "runs nothing", id="both"),
    ],
)
def test_options_that_do_not_fit_are_refused(planned, arguments, env, words):
    ended = pytest_run(planned, f"--gauntlet-shard-plan={planned.plan}", *arguments, **env)
    assert ended.returncode == 4
    assert words in ended.stderr


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        pytest.param(lambda text: text.replace("test_x", "test_q"), "were altered", id="altered"),
        pytest.param(lambda text: text[:99], "cannot read", id="cut off"),
        pytest.param(lambda _: "{}", "cannot read", id="another file"),
        pytest.param(
            lambda text: text.replace('"schema_version": 1', '"schema_version": 9'),
            "schema_version 9",
            id="of another version",
        ),
    ],
)
def test_a_plan_that_is_none_is_refused(planned, tmp_path, spoil, words):
    path = tmp_path / "plan.json"
    path.write_text(spoil(planned.plan.read_text()))
    ended = pytest_run(planned, f"--gauntlet-shard-plan={path}", "--gauntlet-shard=0")
    assert ended.returncode == 4
    assert words in ended.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        pytest.param(["--target", "nan"], "finite", id="no number"),
        pytest.param(["--overhead", "inf"], "finite", id="infinite"),
        pytest.param(["--json", "--out", "-"], "both print", id="two on standard output"),
        pytest.param(["--inventory", "none.json"], "none.json", id="no inventory"),
    ],
)
def test_planning_refuses_what_makes_no_sense(planned, options, words):
    before = planned.plan.read_bytes()
    code, out, err = planned.gauntlet(
        *("plan", "--inventory", planned.inventory, "--timings", planned.root / "past.json"),
        *("--out", planned.plan, *options),
    )
    assert (code, out) == (2, "")
    assert words in err
    assert planned.plan.read_bytes() == before


def test_a_plan_is_the_same_on_standard_output_and_a_decision_is_json(planned):
    arguments = ("--inventory", planned.inventory, "--timings", planned.root / "past.json")
    given = ("plan", *arguments, "--target", 1, "--overhead", 0, "--split-cost", 0)
    code, out, _ = planned.gauntlet(*given, "--out", "-")
    assert code == 0
    assert out == planned.plan.read_text()
    code, out, _ = planned.gauntlet(*given, "--out", planned.root / "p.json", "--json")
    record = json.loads(out)
    assert code == 0
    assert (record["sharded"], record["provably_fewest"], len(record["shards"])) == (True, True, 2)
    code, out, _ = planned.gauntlet(*given[:-6], "--out", planned.root / "p.json", "--json")
    assert code == 3
    assert json.loads(out) == {
        "sharded": False,
        "reason": "one shard keeps within 20.0 min: nothing to share out",
    }


def test_a_receipt_alone_measures_without_changing_anything(site):
    here = site("pytest other")
    ended = pytest_run(here, "other", "sub", "--gauntlet-receipt=../r/{shard}.json")
    assert ended.returncode == 0, ended.stdout
    assert "gauntlet" not in ended.stdout
    (receipt,) = [json.loads(path.read_text()) for path in here.receipts()]
    outcomes = {
        result["node_id"].partition("::")[2]: result["outcome"]
        for result in receipt["commands"][0]["results"]
    }
    assert outcomes == {
        "test_x": "passed",
        "test_y": "passed",
        "test_skipped": "skipped",
        "test_expected": "xfailed",
        "test_slow": "passed",
        "test_subtests": "passed",
    }
    assert here.gauntlet("merge-timings", *here.receipts(), "--into", here.root / "t")[0] == 0


def test_a_second_call_must_not_take_the_firsts_place_in_an_inventory(site):
    here = site("pytest other")
    assert pytest_run(here, "other", "--gauntlet-collect=../i.json").returncode == 0
    assert pytest_run(here, "other", "--gauntlet-collect=../i.json").returncode == 0
    ended = pytest_run(here, "sub", "--gauntlet-collect=../i.json")
    assert ended.returncode == 4
    assert "another pytest call 0" in ended.stderr


def test_without_its_options_the_plugin_changes_nothing(site):
    here = site("pytest other")
    ended = pytest_run(here, "other", "-q", BUILDKITE_PARALLEL_JOB="1")
    assert ended.returncode == 0
    assert "2 passed" in ended.stdout
    assert "gauntlet" not in ended.stdout
    assert pytest_run(here, "other", "-k", "nothing").returncode == 5


def test_the_plugin_needs_nothing_that_gauntlet_depends_on(site):
    here = site("pytest other")
    here.write(
        "other/test_more.py",
        """\
        import sys

        def test_modules():
            assert "gauntlet.pipelines.sharding.plugin" in sys.modules
            assert not {"click", "pydantic", "yaml"} & sys.modules.keys()
        """,
    )
    package = PLUGIN_FILE.parents[3]
    line = f"PYTHONPATH={package} pytest tests/other -p {plugin.__name__} --gauntlet-receipt=r.json"
    ended = here.shell([line], SETUPS="x")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "r.json" in {path.name for path in here.root.iterdir()}


def test_workers_are_refused(planned):
    (planned.root / "bin" / "workers.py").write_text(
        "def pytest_addoption(parser): parser.addoption('--dist', default='no')\n"
    )
    options = ("--gauntlet-shard=0", f"--gauntlet-shard-plan={planned.plan}", "-p", "workers")
    ended = pytest_run(planned, *options, "--dist=load")
    assert ended.returncode == 4
    assert "leave pytest-xdist away" in ended.stderr
