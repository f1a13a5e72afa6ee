import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

from gauntlet.core.errors import InfrastructureError
from gauntlet.core.proc import CommandError, Service, run
from integration.processes import MARK, describe, marked, wait_gone

PYTHON = sys.executable


@pytest.fixture
def mark():
    name = uuid.uuid4().hex
    yield name
    for pid in marked(name):
        os.kill(pid, signal.SIGKILL)


def environment(mark):
    return {**os.environ, MARK: mark}


def wait_until(condition, within_s=10.0):
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.02)


def test_run_returns_what_was_written_and_the_status():
    result = run([PYTHON, "-c", "import sys; print('out'); sys.stderr.write('err')"], timeout=20)
    assert (result.stdout, result.stderr, result.returncode) == ("out\n", "err", 0)
    assert not result.truncated


def test_a_failing_command_names_itself_its_status_and_its_last_words():
    with pytest.raises(CommandError, match=r"exit status 3\nboom") as caught:
        run([PYTHON, "-c", "import sys; sys.exit(print('boom', file=sys.stderr) or 3)"], timeout=20)
    assert caught.value.result.returncode == 3
    assert run([PYTHON, "-c", "exit(3)"], timeout=20, check=False).returncode == 3


def test_output_is_bounded():
    result = run([PYTHON, "-c", "print('x' * 10_000_000)"], timeout=30, limit=1000)
    assert len(result.stdout) == 1000
    assert result.truncated


@pytest.mark.parametrize(
    "data", [b"", b"a\x00b\n", b"x" * 3_000_000], ids=["none", "bytes", "much"]
)
def test_a_program_reads_what_it_is_given(data):
    count = "import sys; print(len(sys.stdin.buffer.read()))"
    assert run([PYTHON, "-c", count], timeout=20, stdin=data).stdout == f"{len(data)}\n"


def test_a_program_that_reads_nothing_is_not_waited_for():
    assert run([PYTHON, "-c", "print('a')"], timeout=20, stdin=b"x" * 3_000_000).stdout == "a\n"


def test_a_supervised_program_has_no_input():
    with pytest.raises(ValueError, match="standard input"):
        run([PYTHON], timeout=1, supervised=True, stdin=b"")


@pytest.mark.parametrize("supervised", [False, True])
def test_a_timeout_kills_the_whole_group(mark, supervised):
    nap = "import time; time.sleep(60)"
    child = f"import subprocess; subprocess.Popen([{PYTHON!r}, '-c', {nap!r}]).wait()"
    with pytest.raises(CommandError, match="killed"):
        run([PYTHON, "-c", child], timeout=1.5, env=environment(mark), supervised=supervised)
    assert not (left := wait_gone(mark, 5)), describe(left)


def test_a_command_that_is_not_there():
    with pytest.raises(CommandError, match="cannot run no-such-program"):
        run(["no-such-program"], timeout=5)
    with pytest.raises(CommandError, match="127"):
        run(["no-such-program"], timeout=5, supervised=True)


def test_a_service_passes_on_its_status_and_its_log(tmp_path):
    service = Service([PYTHON, "-c", "print('said'); exit(7)"], log=tmp_path / "log")
    wait_until(lambda: service.returncode is not None)
    assert service.returncode == 7
    assert service.log_tail() == "said"
    assert service.close() == 7


def test_stopping_a_service_stops_daemons_that_left_its_group(tmp_path, mark):
    daemon = "import os, time\nif os.fork() == 0:\n os.setsid()\n time.sleep(60)\ntime.sleep(60)"
    with Service([PYTHON, "-c", daemon], log=tmp_path / "log", env=environment(mark)):
        wait_until(lambda: len(marked(mark)) == 3)
    assert not (left := wait_gone(mark, 5)), describe(left)


def test_a_service_that_ignores_term_is_killed_after_the_grace(tmp_path):
    deaf = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "print('deaf', flush=True); time.sleep(60)"
    )
    service = Service([PYTHON, "-c", deaf], log=tmp_path / "log", grace=0.3)
    wait_until(lambda: "deaf" in service.log_tail())
    assert service.close() == 128 + signal.SIGKILL


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("victim", ["owner", "supervisor"])
def test_nothing_outlives_its_owner(tmp_path, mark, number, victim):
    code = (
        "import sys, time; from pathlib import Path; from gauntlet.core.proc import Service\n"
        "nap = [sys.executable, '-c', 'import time; time.sleep(60)']\n"
        f"s = Service(nap, log=Path({str(tmp_path / 'log')!r}))\n"
        "print(s._process.pid, flush=True); time.sleep(60)"
    )
    owner = subprocess.Popen(
        [PYTHON, "-c", code], env=environment(mark), stdout=subprocess.PIPE, text=True
    )
    with owner:
        supervisor = int(owner.stdout.readline())
        wait_until(lambda: len(marked(mark)) == 3)
        os.kill(owner.pid if victim == "owner" else supervisor, number)
        try:
            wait_until(lambda: len(marked(mark)) <= (0 if victim == "owner" else 1))
        finally:
            owner.kill()
    assert not (left := wait_gone(mark, 5)), describe(left)


def test_a_supervised_command_does_not_outlive_its_owner_either(mark):
    code = (
        "import sys; from gauntlet.core.proc import run\n"
        "nap = [sys.executable, '-c', 'import time; time.sleep(60)']\n"
        "run(nap, timeout=60, supervised=True)"
    )
    owner = subprocess.Popen([PYTHON, "-c", code], env=environment(mark))
    wait_until(lambda: len(marked(mark)) == 3)
    owner.kill()
    owner.wait()
    assert not (left := wait_gone(mark, 5)), describe(left)


def test_a_log_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InfrastructureError, match="cannot write the log"):
        Service([PYTHON, "-c", "pass"], log=Path(tmp_path / "file" / "log"))


def test_the_program_s_own_process_is_known(tmp_path):
    code = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
    with Service([PYTHON, "-c", code], log=tmp_path / "log") as service:
        wait_until(service.log_tail)
        assert service.pid == int(service.log_tail())


def test_a_bounded_log_keeps_its_beginning_and_its_end(tmp_path):
    code = "for n in range(200_000): print(f'line {n}')"
    service = Service([PYTHON, "-c", code], log=tmp_path / "log", log_limit=100_000)
    wait_until(lambda: service.returncode is not None)
    text = (tmp_path / "log").read_text()
    assert len(text) <= 100_000
    assert text.startswith("line 0\nline 1\n")
    assert service.log_tail(lines=2) == "line 199998\nline 199999"
    assert service.log_problem is None
    assert service.close() == 0


@pytest.mark.parametrize("status", [0, 3])
def test_a_full_disk_costs_the_log_but_neither_the_program_nor_its_last_words(tmp_path, status):
    (tmp_path / "log").symlink_to("/dev/full")
    code = f"for n in range(20_000): print(f'line {{n}}')\nexit({status})"
    service = Service([PYTHON, "-c", code], log=tmp_path / "log", log_limit=100_000)
    wait_until(lambda: service.returncode is not None)
    assert service.returncode == status
    assert service.log_tail(lines=1) == "line 19999"
    assert service.log_problem == "No space left on device"
    service.close()
    assert service.log_tail(lines=1) == "line 19999"


def test_a_child_that_keeps_the_log_open_does_not_keep_the_service(tmp_path, mark):
    code = (
        "import os, time\nif os.fork() == 0:\n os.setsid()\n time.sleep(60)\n"
        "print('parent ends', flush=True)"
    )
    service = Service(
        [PYTHON, "-c", code], log=tmp_path / "log", env=environment(mark), log_limit=1 << 20
    )
    wait_until(lambda: service.returncode is not None)
    assert service.log_tail() == "parent ends"
    service.close()
    assert not (left := wait_gone(mark, 5)), describe(left)


HELD_MIB = 40
HOLD = f"import time; x = bytearray({HELD_MIB} << 20); x[:: 4096] = b'1' * len(x[:: 4096])"


def test_what_a_program_and_its_children_used_is_told():
    """Two children that hold memory at once count together, and so does an orphan's time."""
    burn = "import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass"
    held = f"{HOLD}; time.sleep(1.2)"
    script = (
        "import subprocess, sys\n"
        f"held = [subprocess.Popen([sys.executable, '-c', {held!r}]) for _ in range(2)]\n"
        # Left to itself by a shell that ends at once.
        f"subprocess.run(['sh', '-c', '{PYTHON} -c \"$0\" & ', {burn!r}])\n"
        "[each.wait() for each in held]"
    )
    used = run([PYTHON, "-c", script], timeout=60, usage=True).usage
    assert used.cpu_s >= 0.3
    assert used.peak_rss_kib >= 2 * HELD_MIB * 1024


def test_one_short_process_is_not_missed_between_two_samples():
    used = run([PYTHON, "-c", HOLD], timeout=20, usage=True).usage
    assert used.peak_rss_kib >= HELD_MIB * 1024


def test_what_a_killed_program_used_is_told_too():
    with pytest.raises(CommandError) as caught:
        run([PYTHON, "-c", f"{HOLD}; time.sleep(60)"], timeout=1.0, usage=True)
    assert caught.value.result.usage.peak_rss_kib >= HELD_MIB * 1024


def test_usage_is_told_only_where_it_is_asked_for():
    assert run([PYTHON, "-c", ""], timeout=20, supervised=True).usage is None
