"""Ingest under faults, as processes: killed anywhere, twice at once, without a store."""

import contextlib
import json
import os
import random
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from urllib.parse import unquote_to_bytes
from uuid import UUID, uuid5

import pytest
from stores import stop_server

from gauntlet.warehouse.server.launch import find_or_start
from gauntlet.warehouse.server.state import read_state
from gauntlet.warehouse.spool import Spool
from gauntlet.warehouse.store import open_store
from integration.processes import MARK, describe, marked, wait_gone

NAMESPACE = UUID("8f14e45f-ceea-467f-a83b-0c9b4f6d1a11")
JOBS, CASES = 30, 12
KILLS = 200 if os.environ.get("GAUNTLET_SLOW") == "full" else 6


@pytest.fixture
def reports(tmp_path):
    """Reports of thirty jobs and the manifest that names them."""
    lines = []
    for job in range(JOBS):
        cases = "".join(
            f'<testcase classname="t.x{job % 5}" name="c{n}" time="0.{n:03}"/>'
            if n
            else '<testcase classname="t.x" name="bad" time="1"><failure message="no"/></testcase>'
            for n in range(CASES)
        )
        (tmp_path / f"{job}.xml").write_text(f'<testsuite name="pytest">{cases}</testsuite>')
        entry = {"job_id": str(uuid5(NAMESPACE, str(job))), "files": [f"{job}.xml"]}
        lines.append(json.dumps({**entry, "sha": "a" * 40, "branch": "main"}))
    path = tmp_path / "jobs.jsonl"
    path.write_text("\n".join(lines) + "\n")
    return path


def command(reports, *options):
    words = ["ingest", "junit", "--jobs", str(reports), "--json", *options]
    return [sys.executable, "-m", "gauntlet", *words, "--warehouse", str(reports.parent / "wh")]


def ingest(reports, *options):
    done = subprocess.run(
        command(reports, *options), capture_output=True, text=True, timeout=120, check=False
    )
    return done.returncode, json.loads(done.stdout)


def whole(folder):
    """Nothing is lost and nothing is there twice."""
    with open_store(str(folder / "wh")) as store:
        counts = store.sql(
            "SELECT count() AS there, uniqExact(job_id, test_id, occurrence) AS different,"
            " uniqExact(job_id) AS jobs FROM test_results"
        )[0]
        failed = store.sql("SELECT count() AS n FROM test_details")[0]["n"]
    done = subprocess.run(
        [sys.executable, "-m", "gauntlet", "warehouse", "check", "--warehouse", str(folder / "wh")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert counts == {"there": JOBS * CASES, "different": JOBS * CASES, "jobs": JOBS}
    assert failed == JOBS


@pytest.mark.slow
def test_killed_at_random_points_nothing_is_lost_and_nothing_is_there_twice(reports):
    """The command, the store's server, or both are killed; each time the rest goes on."""
    dice = random.Random(20261130)
    folder = reports.parent
    for _ in range(KILLS):
        victim = dice.choice(("command", "command", "server", "both"))
        running = subprocess.Popen(
            command(reports), stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        )
        time.sleep(dice.uniform(0.05, 1.2))
        if victim in {"server", "both"} and (state := read_state((folder / "wh").resolve())):
            kill(state.pid)
        if victim in {"command", "both"}:
            os.killpg(running.pid, signal.SIGKILL)
        running.communicate(timeout=120)
        if dice.random() < 0.3:
            forget_some(folder, dice)
    assert ingest(reports)[0] == 0
    assert Spool(folder / "wh-spool").pending() == []
    whole(folder)


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def forget_some(folder, dice):
    """Make an ingest store again what was stored: its line in the ledger is gone.

    As after a kill between the last insert and the ledger; what waits in the spool stays.
    """
    with open_store(str(folder / "wh")) as store:
        number = dice.randrange(7)
        store.command(
            "DELETE FROM batches WHERE batch % 7 = {n: UInt8}"
            " SETTINGS lightweight_deletes_sync = 2",
            {"n": number},
        )
        for table in ("test_results", "test_details", "tests"):
            store.command(
                f"DELETE FROM {table} WHERE batch % 7 = {{n: UInt8}}"
                " SETTINGS lightweight_deletes_sync = 2",
                {"n": number},
            )


def test_two_ingesters_at_once_store_everything_once(reports):
    both = [
        subprocess.Popen(
            command(reports), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    told = [json.loads(each.communicate(timeout=120)[0]) for each in both]
    assert [each.returncode for each in both] == [0, 0]
    assert all(each["spooled"] == 0 for each in told)
    whole(reports.parent)


def test_what_was_ingested_is_a_duplicate_the_next_time(reports):
    code, told = ingest(reports)
    assert (code, told["accepted"], told["duplicates"]) == (0, JOBS * CASES, 0)
    code, told = ingest(reports)
    assert (code, told["accepted"], told["duplicates"]) == (0, 0, JOBS * CASES)
    # One report more: the others are known one by one.
    extra = reports.parent / "extra.xml"
    extra.write_text('<testsuite><testcase classname="a" name="b" time="1"/></testsuite>')
    entry = {"job_id": str(uuid5(NAMESPACE, "extra")), "files": ["extra.xml"]}
    reports.write_text(f"{json.dumps(entry)}\n{reports.read_text()}")
    code, told = ingest(reports)
    assert (told["accepted"], told["duplicates"]) == (1, JOBS * CASES)


def test_without_a_store_everything_waits_and_is_shipped_later(reports, monkeypatch):
    """The folder belongs to somebody who is no server; then to nobody."""
    folder = reports.parent / "wh"
    code = (
        "import sys, time; from pathlib import Path\n"
        "from gauntlet.warehouse.folder_lock import lock_folder\n"
        f"lock = lock_folder(Path({str(folder)!r}), 5); print('held', flush=True); time.sleep(90)"
    )
    holder = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    with holder:
        try:
            assert holder.stdout.readline() == "held\n"
            status, told = ingest(reports)
        finally:
            holder.kill()
    assert (status, told["accepted"], told["spooled"]) == (4, JOBS * CASES, JOBS * CASES)
    assert "in use by another process" in told["reasons"][-1]
    done = subprocess.run(
        [*command(reports)[:4], "replay", "--json", "--warehouse", str(folder)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0
    assert json.loads(done.stdout)["accepted"] == JOBS * CASES
    whole(reports.parent)


def test_a_server_that_is_away_keeps_everything_in_the_spool(reports, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = subprocess.run(
        [*command(reports)[:-1], "http://127.0.0.1:1/ci"], capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip
    told = json.loads(done.stdout)
    assert (done.returncode, told["spooled"]) == (7, JOBS * CASES)
    assert "nothing is lost: gauntlet ingest replay" in done.stderr
    assert len(list((tmp_path / ".gauntlet" / "spool-127.0.0.1-1-ci" / "pending").iterdir())) == 1


def test_a_full_disk_is_told_and_nothing_is_half(reports, tmp_path):
    """No room for the spool: the exit code says so, and no parcel is left that cannot be read."""
    spool = tmp_path / "wh-spool"
    spool.mkdir()
    (spool / "pending").symlink_to("/dev/full")
    done = subprocess.run(command(reports), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 4
    assert "cannot write" in done.stderr


def test_the_clock_of_the_client_moves_no_instant(reports, tmp_path):
    """Another zone in the environment, the same instants in the store."""
    stamp = time.strftime("%Y-%m-%dT%H:00:00+00:00", time.gmtime(time.time() - 7200))
    (tmp_path / "0.xml").write_text(
        f'<testsuite name="pytest" timestamp="{stamp}">'
        '<testcase classname="a" name="b" time="1"/></testsuite>'
    )
    reports.write_text(reports.read_text().splitlines()[0] + "\n")
    env = {**os.environ, "TZ": "Asia/Shanghai"}
    subprocess.run(command(reports), check=True, capture_output=True, timeout=60, env=env)
    stop_server(tmp_path / "wh")
    done = subprocess.run(
        [
            sys.executable, "-m", "gauntlet", "warehouse", "sql", "--json",
            "SELECT started_at, toString(started_at) AS text FROM test_results",
            "--warehouse", str(tmp_path / "wh"),
        ],
        check=True, capture_output=True, text=True, timeout=60,
        env={**os.environ, "TZ": "US/Pacific"},
    )  # fmt: skip
    (row,) = json.loads(done.stdout)
    assert row["started_at"] == stamp
    assert row["text"].startswith(stamp[:19].replace("T", " "))


class CuttingProxy:
    """Passes requests on, and hangs up instead of answering the first inserts into a table.

    The server has taken the rows; the client never hears of it.
    """

    def __init__(self, port, table, cuts):
        self._server, self._wanted, self.cuts = port, f"INSERT INTO `{table}`".encode(), cuts
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self._listener.close()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        upstream = socket.create_connection(("127.0.0.1", self._server))
        asked = bytearray()
        with client, upstream, contextlib.suppress(OSError):
            while True:
                ready, _, _ = select.select([client, upstream], [], [])
                if client in ready:
                    data = client.recv(1 << 16)
                    if not data:
                        return
                    asked += data
                    upstream.sendall(data)
                if upstream in ready:
                    data = upstream.recv(1 << 16)
                    if not data:
                        return
                    text = unquote_to_bytes(bytes(asked)).replace(b"+", b" ")
                    if self.cuts and self._wanted.replace(b"`", b"") in text.replace(b"`", b""):
                        self.cuts -= 1
                        return
                    asked.clear()
                    client.sendall(data)


@pytest.mark.parametrize("cuts", [1, 3])
def test_a_connection_cut_after_the_server_took_the_rows(reports, tmp_path, monkeypatch, cuts):
    """Nothing is stored twice by the retries, the client library's own or ours."""
    monkeypatch.chdir(tmp_path)
    served = find_or_start(tmp_path / "wh")
    proxy = CuttingProxy(served.port, "test_results", cuts)
    url = f"http://default:{served.token}@127.0.0.1:{proxy.port}/default"
    told = []
    for words in (
        command(reports)[3:-2],
        ["ingest", "replay", "--json"],
        ["ingest", "replay", "--json"],
    ):
        done = subprocess.run(
            [*command(reports)[:3], *words, "--warehouse", url],
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        told.append((done.returncode, json.loads(done.stdout)["spooled"]))
    proxy.close()
    assert proxy.cuts < cuts
    assert told[-1] == (0, 0), told
    whole(tmp_path)


READ = """
import sys
from pathlib import Path
from gauntlet.core.clock import utc_now
from gauntlet.warehouse.reports import files
from gauntlet.warehouse.reports.manifest import load_manifest

if __name__ == "__main__":
    files._WORTH_PROCESSES_BYTES = files._PARCEL_BYTES = 1
    request = files.ReadRequest(
        kind="junit", now=utc_now(), spool=Path(sys.argv[2]), processes=2
    )
    jobs = load_manifest(Path(sys.argv[1])) * int(sys.argv[3])
    print("reading", flush=True)
    print(sum(each.results for each in files.read_reports(jobs, request, lambda: None)))
"""


def read_in_processes(reports, mark, times):
    script = reports.parent / "read.py"
    script.write_text(READ)
    return subprocess.Popen(
        [sys.executable, str(script), str(reports), str(reports.parent / "spool"), str(times)],
        env={**os.environ, MARK: mark},
        stdout=subprocess.PIPE,
        text=True,
    )


def test_processes_read_the_same_as_one(reports):
    running = read_in_processes(reports, "read-all", 1)
    out, _ = running.communicate(timeout=60)
    assert out.split() == ["reading", str(JOBS * CASES)]
    kept = [
        batch for parcel in Spool(reports.parent / "spool").pending() for batch in parcel.read()
    ]
    assert sum(batch.told_rows for batch in kept) == JOBS * CASES
    assert len({batch.number for batch in kept if batch.told_rows}) == JOBS


def test_readers_do_not_outlive_the_command(reports):
    running = read_in_processes(reports, "read-killed", 400)
    assert running.stdout.readline() == "reading\n"
    deadline = time.monotonic() + 30
    while len(marked("read-killed")) < 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(marked("read-killed")) >= 3
    running.kill()
    running.communicate()
    assert not (left := wait_gone("read-killed", 10)), describe(left)
