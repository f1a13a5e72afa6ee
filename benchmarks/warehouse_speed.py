"""How fast does the warehouse take test results, and how fast does it answer?

    python benchmarks/warehouse_speed.py ingest [--jobs N] [--cases N]
    python benchmarks/warehouse_speed.py queries [--millions 1 10 100]

``ingest`` writes JUnit files of pytest's shape and runs ``gauntlet ingest junit`` on them: parse,
check, spool (synced), ship, store. Beside it the same rows through the client library's own insert
of Python columns, and the insert alone. ``queries`` fills a warehouse at vLLM's shape and runs
every named query that a page asks, through the local server as a page does.
"""

import argparse
import json
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from uuid import UUID, uuid5

from gauntlet.core.clock import utc_now
from gauntlet.warehouse.batch import Batch, join_sections
from gauntlet.warehouse.named_queries import load_query
from gauntlet.warehouse.reports.block import JobContext, report_batch
from gauntlet.warehouse.reports.junit import parse_junit
from gauntlet.warehouse.server.state import read_state
from gauntlet.warehouse.store import Store, open_store
from gauntlet.warehouse.synth.history import SynthRequest, make_history
from gauntlet.warehouse.synth.shape import SCALES

NAMESPACE = UUID("0d3b2f6a-5c3e-4b0e-8a56-0c9f5f0f4d11")


def junit_text(job: int, cases_of_job: int, dice: random.Random) -> str:
    """A report as pytest writes it: most pass, some are skipped, one in two hundred fails."""
    start = utc_now() - timedelta(hours=2)
    cases = []
    for case in range(cases_of_job):
        name = f"test_case[{case % 50}-bf16-{case % 7}]"
        head = (
            f'<testcase classname="tests.kernels.area_{job % 40}.test_file_{case // 30}"'
            f' name="{name}" time="{dice.random():.3f}"'
        )
        luck = dice.random()
        if luck < 0.005:
            trace = "E   assert 1 == 2\n" * 20
            cases.append(f'{head}><failure message="assert 1 == 2">{trace}</failure></testcase>')
        elif luck < 0.05:
            said = '<skipped type="pytest.skip" message="needs sm100">x.py:1: skip</skipped>'
            cases.append(f"{head}>{said}</testcase>")
        else:
            cases.append(f"{head} />")
    return (
        '<?xml version="1.0" encoding="utf-8"?><testsuites><testsuite name="pytest" errors="0"'
        f' failures="0" skipped="0" tests="{cases_of_job}" time="205.1" hostname="gpu-17"'
        f' timestamp="{start.isoformat()}">{"".join(cases)}</testsuite></testsuites>'
    )


def write_reports(folder: Path, jobs: int, cases: int) -> tuple[int, Path]:
    """Write one report a job and the manifest of all; return bytes and the manifest."""
    dice = random.Random(5)
    size = 0
    lines = []
    for job in range(jobs):
        text = junit_text(job, cases, dice)
        (folder / f"{job}.xml").write_text(text)
        size += len(text)
        lines.append(
            json.dumps(
                {
                    "job_id": str(uuid5(NAMESPACE, str(job))),
                    "files": [f"{job}.xml"],
                    "repository": "engine",
                    "sha": f"{job // 200:040x}",
                    "branch": "main",
                    "job_key": f"job-{job % 266}",
                    "queue": "gpu-1",
                }
            )
        )
    manifest = folder / "jobs.jsonl"
    manifest.write_text("\n".join(lines) + "\n")
    return size, manifest


def gauntlet(*words: str) -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "-m", "gauntlet", *words], check=True, capture_output=True, text=True
    )
    return json.loads(done.stdout) if "--json" in words else {}


def peak_mib(folder: Path) -> float:
    """Most memory that the folder's server ever held."""
    state = read_state(folder.resolve())
    assert state is not None
    for line in Path(f"/proc/{state.pid}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    raise LookupError("VmHWM")


def whole_path(work: Path, manifest: Path, rows: int) -> tuple[float, float]:
    """Rows a second of the command, its server running already; and the server's peak."""
    folder = work / "warehouse"
    gauntlet("warehouse", "init", "--warehouse", str(folder))
    began = time.perf_counter()
    told = gauntlet(
        "ingest", "junit", "--jobs", str(manifest), "--warehouse", str(folder), "--json"
    )
    took = time.perf_counter() - began
    assert told["accepted"] == rows, told
    peak = peak_mib(folder)
    gauntlet("warehouse", "stop", "--warehouse", str(folder))
    shutil.rmtree(folder)
    return rows / took, peak


def batches_of(folder: Path, jobs: int) -> list[Batch]:
    made = []
    for job in range(jobs):
        context = JobContext(
            job_id=uuid5(NAMESPACE, str(job)), repository="engine", sha="a" * 40, branch="main",
            job_key=f"job-{job % 266}", queue="gpu-1",
        )  # fmt: skip
        report = parse_junit([(folder / f"{job}.xml").read_bytes()])
        made += report_batch([(context, report)], source="junit", now=utc_now())
    return made


def insert_alone(store: Store, batches: list[Batch]) -> tuple[float, float]:
    """Rows a second of test results alone: as bytes, and as the library inserts columns."""
    (block,) = (each for each in join_sections(batches) if each.table == "test_results")
    began = time.perf_counter()
    store.insert_block(block)
    as_bytes = block.rows / (time.perf_counter() - began)
    found = store.sql("SELECT * FROM test_results")
    columns = {name: [row[name] for row in found] for name in found[0]}
    for name in ("job_id",):
        columns[name] = [str(value) for value in columns[name]]
    store.command("TRUNCATE TABLE test_results")
    began = time.perf_counter()
    store._client.insert(
        "test_results",
        list(columns.values()),
        column_names=list(columns),
        column_oriented=True,
        settings={"insert_deduplicate": 0},
    )
    as_columns = len(found) / (time.perf_counter() - began)
    store.command("TRUNCATE TABLE test_results")
    return as_bytes, as_columns


def bench_ingest(jobs: int, cases: int, rounds: int) -> None:
    rows = jobs * cases
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        reports = work / "reports"
        reports.mkdir()
        size, manifest = write_reports(reports, jobs, cases)
        print(f"{jobs:,} reports, {rows:,} results, {size / 1e6:.0f} MB of XML")
        whole, peaks, as_bytes, as_columns = [], [], [], []
        for _ in range(rounds):
            rate, peak = whole_path(work, manifest, rows)
            whole.append(rate)
            peaks.append(peak)
        few = batches_of(reports, min(jobs, 600_000 // cases))
        with open_store(str(work / "other")) as store:
            for _ in range(rounds):
                one, other = insert_alone(store, few)
                as_bytes.append(one)
                as_columns.append(other)
        gauntlet("warehouse", "stop", "--warehouse", str(work / "other"))
    print(f"{'':44}{'median':>12}{'range':>26}")
    for label, rates in (
        ("ingest junit: parse, check, spool, store", whole),
        ("insert alone, as bytes", as_bytes),
        ("anchor: insert alone, library, columns", as_columns),
    ):
        middle = statistics.median(rates)
        print(f"{label:44}{middle:12,.0f}{min(rates):14,.0f}-{max(rates):,.0f} rows/s")
    print(f"server's peak memory: {max(peaks):.0f} MiB")


def parameters_of(store: Store) -> dict[str, dict[str, object]]:
    """What a page would ask for: the busiest job, the most broken test, two nights, two builds."""

    def one(text: str) -> object:
        return next(iter(store.sql(text)[0].values()))

    job = one(
        "SELECT job_key FROM job_attempts WHERE state = 'failed' AND branch = 'main'"
        " GROUP BY job_key ORDER BY count() DESC LIMIT 1"
    )
    test = one(
        "SELECT nodeid FROM tests WHERE test_id IN (SELECT test_id FROM test_details"
        " GROUP BY test_id ORDER BY count() DESC LIMIT 1) LIMIT 1"
    )
    recipe = one("SELECT recipe FROM repetitions LIMIT 1")
    night = one("SELECT max(toDate(started_at)) FROM repetitions")
    newest = one("SELECT max(number) FROM builds WHERE branch = 'main'")
    before = one(f"SELECT max(number) FROM builds WHERE branch = 'main' AND number < {newest}")
    commits = [
        row["engine_commit"]
        for row in store.sql(
            "SELECT engine_commit, max(started_at) AS at FROM repetitions"
            " GROUP BY engine_commit ORDER BY at DESC LIMIT 2"
        )
    ]
    evals = [
        row["repetition_id"]
        for row in store.sql(
            "SELECT repetition_id FROM repetitions WHERE kind = 'eval'"
            " ORDER BY recipe, started_at DESC LIMIT 2"
        )
    ]
    queue = one("SELECT queue FROM queue_prices LIMIT 1")
    asked: dict[str, dict[str, object]] = {
        "main_grid": {"commits": 200},
        "job_streaks": {},
        "job_history": {"job_key": job},
        "tests_in_trouble": {},
        "test_history": {"nodeid": test},
        "test_streak": {"nodeid": test},
        "queues_now": {},
        "queue_history": {"queue": queue},
        "longest_jobs": {},
        "job_trend": {"job_key": job},
        "build_differences": {"before": before, "after": newest},
        "build_jobs": {"build": newest},
        "series_history": {"recipe": recipe},
        "eval_history": {"task": "gsm8k"},
        "minutes_lost": {},
        "costs": {},
        "missing_points": {"night": night},
        "history_nights": {"night": night},
        "history_values": {"night": night},
        "score_history": {"night": night},
        "freshness": {},
        "job_durations": {},
        "test_durations": {},
    }
    if len(commits) == 2:
        asked["compare_images"] = {"before": commits[1], "after": commits[0]}
    if len(evals) == 2:
        asked["eval_disagreements"] = {"task": "gsm8k", "before": evals[1], "after": evals[0]}
    return asked


def fill(store: Store, millions: int) -> str:
    """Fill to about so many million test results, at vLLM's shape: 31,500 attempts a day."""
    raw_days = {1: 1, 10: 3}.get(millions, 29)
    cases = round(110 * millions * 1e6 / (raw_days * 4.03e6))
    days = raw_days if millions < 100 else 365
    SCALES["bench"] = replace(SCALES["vllm"], cases_per_job=cases)
    request = SynthRequest(
        days=days, until=utc_now().date() - timedelta(days=1), scale="bench", seed=11
    )
    made = make_history(store, request, lambda _day, _rows: None)
    total = sum(made.rows.values())
    return (
        f"{made.rows['test_results']:,} test results, {made.rows['job_attempts']:,} attempts:"
        f" made at {total / made.seconds:,.0f} rows/s, {made.rolled_up} days rolled up"
    )


def bench_queries(sizes: list[int]) -> None:
    found: dict[int, dict[str, tuple[float, float]]] = {}
    for millions in sizes:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) / "warehouse"
            with open_store(str(folder)) as store:
                print(fill(store, millions), flush=True)
                asked = parameters_of(store)
            gauntlet("warehouse", "stop", "--warehouse", str(folder))
            with open_store(str(folder)) as store:
                found[millions] = {
                    query: timed(store, query, values) for query, values in asked.items()
                }
            size = sum(p.stat().st_size for p in folder.rglob("*") if p.is_file())
            print(f"  on disk {size / 1e9:.2f} GB, server's peak {peak_mib(folder):.0f} MiB")
            gauntlet("warehouse", "stop", "--warehouse", str(folder))
    print(f"{'query':22}" + "".join(f"{f'{size} M: first, then, ms':>28}" for size in sizes))
    for query in found[sizes[-1]]:
        cells = (found[size].get(query, (float("nan"),) * 2) for size in sizes)
        print(f"{query:22}" + "".join(f"{f'{one:.0f}, {rest:.0f}':>28}" for one, rest in cells))


def timed(store: Store, query: str, values: dict[str, object]) -> tuple[float, float]:
    """Milliseconds of the first run after the server began, and the median of five more."""
    load_query(query)
    took = []
    for _ in range(6):
        began = time.perf_counter()
        store.query(query, **values)
        took.append((time.perf_counter() - began) * 1000)
    return took[0], statistics.median(took[1:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="what", required=True)
    ingest = commands.add_parser("ingest")
    ingest.add_argument("--jobs", type=int, default=4_000)
    ingest.add_argument("--cases", type=int, default=150, help="test cases of a job")
    ingest.add_argument("--rounds", type=int, default=3)
    queries = commands.add_parser("queries")
    queries.add_argument("--millions", type=int, nargs="+", default=[1, 10, 100])
    given = parser.parse_args()
    if given.what == "ingest":
        bench_ingest(given.jobs, given.cases, given.rounds)
    else:
        bench_queries(given.millions)


if __name__ == "__main__":
    main()
