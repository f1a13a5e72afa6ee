"""Second load clients: their plans, where they are found, and what is believed of their results."""

import itertools
import json
import sys
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.core.errors import InfrastructureError, UsageError
from gauntlet.core.proc import Usage
from gauntlet.harness.clients.aiperf import Aiperf
from gauntlet.harness.clients.catalog import (
    NAMES,
    LoadRequest,
    Places,
    clients_of,
    loads_of,
    model_of,
)
from gauntlet.harness.clients.compare import (
    ClientRun,
    Comparison,
    differences,
    error_percent,
    medians,
    turns,
)
from gauntlet.harness.clients.distrust import distrust
from gauntlet.harness.clients.guidellm import Guidellm
from gauntlet.harness.clients.own import OwnClient
from gauntlet.harness.clients.own_run import load_of
from gauntlet.harness.clients.port import ClientLoad, ClientResult, Invocation, pinned
from gauntlet.harness.clients.programs import find_program, version_of
from gauntlet.harness.clients.run import run_client
from gauntlet.harness.clients.table import as_data, render, status_of
from gauntlet.harness.clients.tokenizer import WORDS, write_word_tokenizer
from gauntlet.harness.clients.vllm_bench import VllmBench
from gauntlet.harness.load.known_timing import Truth
from gauntlet.warehouse.results.bench import read_bench
from gauntlet.warehouse.results.bench_report import BenchReport, Value
from gauntlet.warehouse.results.identity import UnreadableResultError

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
LOAD = ClientLoad(
    base_url="http://127.0.0.1:8000",
    model="m",
    requests=20,
    input_tokens=32,
    output_tokens=16,
    concurrency=4,
    seed=7,
    tokenizer=Path("/words"),
)
OPEN = replace(LOAD, concurrency=None, rate=12.5)


def report(**changes):
    """A report of LOAD, all as it should be."""
    fields = {
        "client": "vllm-bench",
        "client_version": "",
        "model": "m",
        "started_at": NOW,
        "duration_s": 1.0,
        "asked": 20,
        "completed": 20,
        "failed": 0,
        "input_tokens": 640.0,
        "output_tokens": 320.0,
        "concurrency": 4,
        "values": (),
        "requests": (),
        "settings": {},
        "problems": (),
    }
    return BenchReport(**{**fields, **changes})


def value(metric, statistic, number):
    return Value(field=metric, metric=metric, statistic=statistic, window="full", value=number)


def result(client="own", ttft=50.0, *, reasons=(), tokens_per_s=300.0):
    values = (value("ttft_ms", "mean", ttft), value("output_tokens_per_s", "mean", tokens_per_s))
    return ClientResult(
        client=client,
        version="1",
        status="invalid" if reasons else "ok",
        reasons=reasons,
        report=report(values=values),
        usage=Usage(cpu_s=0.5, peak_rss_kib=2048),
        seconds=2.0,
        returncode=0,
    )


def truth(mean=50.0):
    known = {"n": 20, "mean": mean, "p50": mean, "p99": mean, "max": mean}
    return Truth(
        requests=20, chunks=320, dropped=0, peak=4, ttft_ms=known, itl_ms=None, late_ms=None
    )


def runs_of(*results, truth_of=None):
    return [
        ClientRun(load=LOAD, point=0, repetition=n, result=each, truth=truth_of)
        for n, each in enumerate(results)
    ]


def options(argv):
    """Options of a command line with one value each, by name; flags are left out."""
    pairs = itertools.pairwise(argv)
    return {name: word for name, word in pairs if name.startswith("-") and word[:2] != "--"}


class TestPlans:
    """What each client is told, and where it is to leave its result."""

    @pytest.mark.parametrize("name", ["vllm", "vllm-rs"])
    def test_vllms_clients_get_a_closed_loop_of_exact_lengths(self, name, tmp_path):
        plan = VllmBench(name, Path("/none")).plan(LOAD, tmp_path)
        assert plan.argv[:3] == (name, "bench", "serve")
        told = options(plan.argv)
        assert told["--base-url"] == LOAD.base_url
        assert told["--max-concurrency"] == "4"
        assert told["--request-rate"] == "inf"
        assert (told["--random-input-len"], told["--random-output-len"]) == ("32", "16")
        assert (told["--num-prompts"], told["--seed"]) == ("20", "7")
        assert told["--random-range-ratio"] == "0"
        assert told["--tokenizer"] == "/words"
        assert {"--ignore-eos", "--save-result"} <= set(plan.argv)
        assert plan.result == tmp_path / told["--result-filename"]
        assert told["--result-dir"] == str(tmp_path)
        assert plan.env["HF_HUB_OFFLINE"] == "1"

    def test_only_the_rust_client_sends_token_ids(self, tmp_path):
        assert "--prompt-token-ids" in VllmBench("vllm-rs", Path("/none")).plan(LOAD, tmp_path).argv
        assert (
            "--prompt-token-ids" not in VllmBench("vllm", Path("/none")).plan(LOAD, tmp_path).argv
        )

    @pytest.mark.parametrize("name", ["vllm", "vllm-rs"])
    def test_vllms_clients_get_an_open_loop_of_equal_gaps(self, name, tmp_path):
        told = options(VllmBench(name, Path("/none")).plan(OPEN, tmp_path).argv)
        assert (told["--request-rate"], told["--burstiness"]) == ("12.5", "inf")
        assert "--max-concurrency" not in told

    def test_aiperf_counts_the_servers_tokens_and_is_not_put_offline(self, tmp_path):
        plan = Aiperf(Path("/none")).plan(LOAD, tmp_path)
        told = options(plan.argv)
        assert (told["--concurrency"], told["--request-count"]) == ("4", "20")
        assert told["--num-dataset-entries"] == "20", "one prompt for each request"
        assert (told["--isl"], told["--osl"], told["--random-seed"]) == ("32", "16", "7")
        assert {"--use-server-token-count", "--use-legacy-max-tokens"} <= set(plan.argv)
        assert "ignore_eos:true" in plan.argv
        assert plan.result == tmp_path / "profile_export_aiperf.json"
        # Any text in this variable is offline mode, in which it cannot load a folder.
        assert plan.env["HF_HUB_OFFLINE"] == ""

    def test_aiperf_gets_an_open_loop_of_equal_gaps(self, tmp_path):
        told = options(Aiperf(Path("/none")).plan(OPEN, tmp_path).argv)
        assert (told["--request-rate"], told["--arrival-pattern"]) == ("12.5", "constant")
        assert "--concurrency" not in told

    @pytest.mark.parametrize(
        ("load", "profile"),
        [
            (LOAD, {"kind": "concurrent", "streams": [4]}),
            (OPEN, {"kind": "constant", "rate": [12.5]}),
            (
                replace(OPEN, concurrency=9),
                {"kind": "constant", "rate": [12.5], "max_concurrency": 9},
            ),
        ],
        ids=["closed", "open", "open, bounded"],
    )
    def test_guidellm_is_told_in_json(self, load, profile, tmp_path):
        plan = Guidellm(Path("/none")).plan(load, tmp_path)
        told = {name: json.loads(text) for name, text in options(plan.argv).items()}
        assert told["--profile"] == profile
        assert told["--constraint"] == {"kind": "max_requests", "count": 20}
        assert told["--data"]["prompt_tokens"] == 32
        assert told["--data"]["output_tokens"] == 16
        assert told["--backend"]["target"] == LOAD.base_url
        assert told["--output"] == {"kind": "json", "path": str(plan.result)}

    def test_our_own_runs_as_a_process_too(self, tmp_path):
        plan = OwnClient(2).plan(LOAD, tmp_path)
        assert plan.argv[:3] == (sys.executable, "-m", "gauntlet.harness.clients.own_run")
        job = load_of(json.loads(plan.argv[3]))
        assert plan.argv[4] == str(plan.result)
        assert job.workers == 2
        assert job.schedule.streams == 4
        assert job.schedule.stagger_s == (0.0,) * 4, "all at once, as the others do"
        assert len(job.planned) == 20
        assert {request.prompt_tokens for request in job.planned} == {32}
        assert len({request.body for request in job.planned}) == 20

    def test_our_own_sends_an_open_loop_at_equal_gaps(self, tmp_path):
        plan = OwnClient().plan(replace(OPEN, rate=4.0, requests=3), tmp_path)
        assert load_of(json.loads(plan.argv[3])).schedule.due_s == (0.0, 0.25, 0.5)

    def test_planning_is_pure(self, tmp_path):
        for client in clients_of((), Places(vllm_rs=tmp_path, engine_venv=tmp_path)):
            assert client.plan(LOAD, tmp_path) == client.plan(LOAD, tmp_path)
        assert list(tmp_path.iterdir()) == []

    def test_a_load_needs_a_shape(self):
        with pytest.raises(UsageError, match="concurrency or a rate"):
            replace(LOAD, concurrency=None)

    def test_a_client_can_be_confined_to_cores(self):
        assert pinned(["x"], (0, 2), "/usr/bin/taskset") == ("/usr/bin/taskset", "-c", "0,2", "x")
        assert pinned(["x"], (), "/usr/bin/taskset") == ("x",)
        assert pinned(["x"], (0,), None) == ("x",)


class TestWhereProgramsAre:
    """Environments, unpacked wheels, paths and PATH."""

    @pytest.mark.parametrize(
        "where",
        ["bin/vllm-rs", "vllm/vllm-rs", "vllm-rs", "lib/python3.11/site-packages/vllm/vllm-rs"],
    )
    def test_the_rust_client_is_found_wherever_a_wheel_puts_it(self, where, tmp_path):
        program = tmp_path / where
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text("")
        assert VllmBench("vllm-rs", tmp_path).program == program
        assert VllmBench("vllm-rs", program).available() is None

    def test_path_is_searched_without_a_place(self, tmp_path, monkeypatch):
        program = tmp_path / "aiperf"
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path))
        assert find_program("aiperf", None) == program
        monkeypatch.setenv("PATH", "")
        assert find_program("aiperf", None) is None

    @pytest.mark.parametrize("name", [name for name in NAMES if name != "own"])
    def test_an_absent_client_says_how_to_get_it(self, name, tmp_path):
        places = Places(
            engine_venv=tmp_path, vllm_rs=tmp_path, aiperf_venv=tmp_path, guidellm_venv=tmp_path
        )
        client = next(each for each in clients_of((), places) if each.name == name)
        said = run_client(client, LOAD, tmp_path / "run", limit_s=1)
        assert said.status == "not installed"
        assert "not installed" in said.reasons[0]
        assert "--" in said.reasons[0], "the option that tells where it is"
        assert not (tmp_path / "run").exists()
        with pytest.raises(UsageError, match=f"{name!r} was asked for"):
            clients_of((name,), places)

    def test_a_client_that_is_not_known(self):
        with pytest.raises(UsageError, match="did you mean 'guidellm'"):
            clients_of(("guidelm",), Places())

    def test_the_version_is_read_without_starting_the_program(self, tmp_path):
        (tmp_path / "lib/python3.11/site-packages/vllm-0.32.0+cpu.dist-info").mkdir(parents=True)
        assert version_of(tmp_path / "bin" / "vllm", "vllm") == "0.32.0+cpu"

    def test_else_the_program_is_asked(self, tmp_path):
        program = tmp_path / "bin" / "vllm-rs"
        program.parent.mkdir()
        program.write_text("#!/bin/sh\necho vllm-rs 0.33.0\n")
        program.chmod(0o755)
        assert version_of(program, "vllm-rs") == "0.33.0"
        assert version_of(tmp_path / "bin" / "nothing", "vllm-rs") == ""


class TestDistrust:
    """The exit status is no evidence."""

    def judged(self, load=LOAD, seconds=5.0, **changes):
        return distrust(report(**changes), load, seconds=seconds, now=NOW)

    def test_a_result_that_is_what_was_asked(self):
        assert self.judged() == ()

    @pytest.mark.parametrize(
        ("changes", "said"),
        [
            ({"completed": 15, "failed": 5}, "requests: 15 completed of 20 asked"),
            ({"completed": 19, "failed": 1}, "requests: 1 failed"),
            ({"output_tokens": 255.0}, "tokens: 255 came of 320 asked"),
            ({"output_tokens": None}, "tokens: the result does not say"),
            ({"duration_s": None}, "duration: none given"),
            ({"duration_s": 0.0}, "duration: 0 s"),
            ({"duration_s": 9.4}, "duration: 9.4 s, but the client itself ran 5 s"),
            ({"concurrency": 2}, "load: 2 streams instead of 4"),
            ({"model": "other"}, "load: the model 'other' instead of 'm'"),
            ({"values": (value("ttft_ms", "mean", -1.0),)}, "contradiction: ttft_ms: -1 is not"),
        ],
        ids=lambda each: next(iter(each)) if isinstance(each, dict) else None,
    )
    def test_what_is_not_what_was_asked(self, changes, said):
        reasons = self.judged(**changes)
        assert any(reason.startswith(said) for reason in reasons), reasons

    def test_an_open_loop_that_was_over_too_soon(self):
        load = replace(OPEN, rate=4.0)
        reasons = self.judged(load, duration_s=2.0, concurrency=None)
        assert reasons == ("duration: 2 s, but the last request was not due before 4.275 s",)
        assert self.judged(load, duration_s=4.9, concurrency=None) == ()

    @given(
        completed=st.integers(0, 40),
        failed=st.integers(0, 40),
        tokens=st.integers(0, 640),
    )
    def test_only_exactly_what_was_asked_is_believed(self, completed, failed, tokens):
        reasons = self.judged(completed=completed, failed=failed, output_tokens=float(tokens))
        assert (not reasons) == ((completed, failed, tokens) == (20, 0, 320))


@dataclass
class Scripted:
    """A client that is a few lines of Python; ``RESULT`` is the path of its result file."""

    script: str
    name: str = "vllm"

    def available(self):
        return None

    def version(self):
        return "1"

    def plan(self, load, folder):
        file = folder / "result.json"
        return Invocation(argv=(sys.executable, "-c", f"RESULT={str(file)!r}\n{self.script}"),
                          env={}, result=file)  # fmt: skip

    def read(self, text, file):
        return read_bench(text, file=file)


def writes(result):
    return f"open(RESULT, 'w').write({json.dumps(result)!r})"


# Case C13: nothing succeeded, every latency is 0, the program ends with status 0.
ALL_FAILED = {
    "date": "20261130-120000", "backend": "openai", "model_id": "m", "num_prompts": 8,
    "max_concurrency": 4, "duration": 0.4, "completed": 0, "failed": 8, "total_input_tokens": 0,
    "total_output_tokens": 0, "request_throughput": 0.0, "output_throughput": 0.0,
    "mean_ttft_ms": 0.0, "p99_ttft_ms": 0.0, "mean_tpot_ms": 0.0, "mean_itl_ms": 0.0,
}  # fmt: skip


class TestRunning:
    """One client, one load, a hard limit."""

    def test_failures_with_status_0_are_no_measurement(self, tmp_path):
        load = replace(LOAD, requests=8)
        said = run_client(Scripted(writes(ALL_FAILED)), load, tmp_path, limit_s=20)
        assert (said.status, said.returncode) == ("invalid", 0)
        assert "contradiction: completed: 8 of 8 requests failed" in said.reasons
        assert said.value("ttft_ms", "mean") is None, "0 is not the best ever: it is missing"

    def test_a_client_that_hangs_is_killed_with_all_it_started(self, tmp_path):
        script = (
            "import subprocess, sys, time\n"
            "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
            f"open({str(tmp_path / 'pid')!r}, 'w').write(str(child.pid))\n"
            "time.sleep(60)"
        )
        said = run_client(Scripted(script), LOAD, tmp_path / "run", limit_s=1.0)
        assert said.status == "invalid"
        assert said.reasons[0] == "timeout: no end after 1 s, killed"
        assert said.usage is not None
        pid = (tmp_path / "pid").read_text()
        assert not Path(f"/proc/{pid}").exists()

    def test_a_status_that_is_not_0(self, tmp_path):
        said = run_client(
            Scripted("import sys; sys.exit('no such flag')"), LOAD, tmp_path, limit_s=20
        )
        assert said.reasons == ("exit-status: 1", "no-result: result.json was not written")
        assert said.tail == "no such flag"

    def test_a_result_that_was_cut_off(self, tmp_path):
        said = run_client(Scripted("open(RESULT, 'w').write('{')"), LOAD, tmp_path, limit_s=20)
        assert said.status == "invalid"
        assert said.reasons[0].startswith("unreadable-result: result.json:1: JSON")

    def test_an_old_result_does_not_pass_for_a_new_one(self, tmp_path):
        (tmp_path / "result.json").write_text(json.dumps(ALL_FAILED))
        said = run_client(Scripted("pass"), LOAD, tmp_path, limit_s=20)
        assert said.reasons == ("no-result: result.json was not written",)

    def test_a_program_that_cannot_be_started(self, tmp_path):
        class Broken(Scripted):
            def plan(self, load, folder):
                return Invocation(argv=("/no/such/program",), result=folder / "x")

        said = run_client(Broken(""), LOAD, tmp_path, limit_s=20)
        assert said.status == "invalid"
        assert said.reasons[0] == "exit-status: 127"

    def test_our_own_result_must_be_our_own(self):
        with pytest.raises(UnreadableResultError, match="own client"):
            OwnClient().read("{}", "own.json")


class TestComparing:
    """Turns, differences and the table."""

    def test_repetitions_are_interleaved_with_a_seed_of_their_own(self, tmp_path):
        present, absent = Scripted("", name="own"), Aiperf(tmp_path)
        other = Scripted("", name="vllm")
        comparison = Comparison(clients=(present, absent, other), loads=(LOAD,), repetitions=2)
        planned = list(turns(comparison))
        order = [(turn.repetition, turn.client.name) for turn in planned]
        assert order == [(0, "own"), (0, "aiperf"), (0, "vllm"), (1, "vllm"), (1, "own")]
        seeds = [turn.load.seed for turn in planned]
        assert len(set(seeds)) == len(seeds)

    def test_a_difference_counts_where_it_exceeds_the_repetitions(self):
        runs = runs_of(
            result("own", 50.0), result("vllm", 64.0), result("own", 50.4), result("vllm", 65.0)
        )
        assert differences(runs) == (
            "beyond the spread of the repetitions, against own: vllm TTFT mean +28.5 %"
        )

    def test_within_the_spread_there_is_none(self):
        runs = runs_of(
            result("own", 50.0), result("vllm", 51.0), result("own", 55.0), result("vllm", 54.0)
        )
        assert differences(runs).startswith("no difference from own")

    def test_one_repetition_has_no_spread(self):
        assert "one valid repetition has no spread" in differences(
            runs_of(result("own"), result("vllm", 90.0))
        )

    def test_an_invalid_run_is_not_compared_nor_in_the_median(self):
        bad = result("vllm", 1.0, reasons=("requests: 3 failed",))
        runs = runs_of(result("own"), result("vllm", 60.0), bad)
        assert medians(runs[1:], "ttft_ms", "mean") == 60.0
        assert status_of(runs[1:]) == "invalid 1 of 2: requests: 3 failed"
        assert "fewer than two" in differences(runs_of(result("own"), bad))

    def test_the_error_is_against_what_the_server_did(self):
        (run,) = runs_of(result(ttft=51.0), truth_of=truth(50.0))
        assert error_percent(run, "ttft_ms", "mean") == pytest.approx(2.0)
        assert error_percent(run, "itl_ms", "p99") is None
        (bad,) = runs_of(result(ttft=51.0, reasons=("x",)), truth_of=truth())
        assert error_percent(bad, "ttft_ms", "mean") is None

    def test_the_table_names_what_is_absent_and_what_is_unknown(self):
        gone = ClientResult(
            client="aiperf", version="", status="not installed", reasons=("not installed: do x",)
        )
        text = render(runs_of(result(), gone, truth_of=truth()))
        lines = text.splitlines()
        assert lines[0].startswith("4 streams, 20 requests of 32 + 16 tokens")
        own = next(line for line in lines if line.startswith("own"))
        assert own.split()[1:3] == ["50.00", "-"]
        assert own.endswith("ok")
        assert next(line for line in lines if line.startswith("aiperf")).endswith("do x")

    def test_data_of_a_run_is_json(self):
        (run,) = runs_of(result(), truth_of=truth())
        (data,) = as_data([run])
        assert json.loads(json.dumps(data))["values"]["ttft_ms.mean"] == 50.0
        assert data["cpu_s"] == 0.5
        assert data["truth"]["requests"] == 20


class TestLoads:
    """What a command line asks for."""

    def loads(self, **changes):
        fields = {
            "concurrencies": (1, 64),
            "rate": None,
            "requests": None,
            "input_tokens": 8,
            "output_tokens": 4,
        }
        asked = LoadRequest(**{**fields, **changes})
        return loads_of(asked, base_url="http://x/", model="m", tokenizer=Path("/t"), limit_s=40.0)

    def test_one_load_for_each_concurrency(self):
        loads = self.loads()
        assert [(load.concurrency, load.requests) for load in loads] == [(1, 20), (64, 256)]
        assert {load.base_url for load in loads} == {"http://x"}
        assert {load.idle_s for load in loads} == {10.0}, "a stall is told before the limit"

    def test_a_rate_alone(self):
        (load,) = self.loads(concurrencies=(), rate=30.0)
        assert (load.concurrency, load.rate, load.requests) == (None, 30.0, 300)

    def test_neither(self):
        with pytest.raises(UsageError, match="concurrency or a rate"):
            self.loads(concurrencies=())

    @pytest.mark.parametrize("url", ["http://127.0.0.1:1", "not a url", "http://[bad"])
    def test_a_server_that_does_not_answer(self, url):
        with pytest.raises(InfrastructureError, match="does not tell a model"):
            model_of(url)


def test_the_word_tokenizer_knows_no_special_token(tmp_path):
    folder = write_word_tokenizer(tmp_path / "words")
    made = json.loads((folder / "tokenizer.json").read_text())
    vocabulary = made["model"]["vocab"]
    assert sorted(vocabulary.values()) == list(range(WORDS))
    assert made["added_tokens"] == []
    assert made["model"]["unk_token"] in vocabulary
