import gzip
import hashlib
import io
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from unit.warehouse.reports.documents import NOW

from gauntlet.core.errors import InfrastructureError
from gauntlet.warehouse.reports.log import keep_log, scan_log
from gauntlet.warehouse.reports.log_text import is_error, read_line

JOB, BUILD = UUID(int=7), UUID(int=8)
T0 = datetime(2026, 7, 1, 10, tzinfo=UTC)


def mark(seconds):
    return b"\x1b_bk;t=%d\x07" % ((T0.timestamp() + seconds) * 1000)


def scan(data, **options):
    chunks = [data] if isinstance(data, bytes) else data
    return scan_log(chunks, job_id=JOB, build_id=BUILD, now=NOW, **options)


def log_of(*lines):
    return b"".join(line + b"\r\n" for line in lines)


def test_a_buildkite_log_becomes_sections_with_their_times():
    data = log_of(
        mark(0) + b"~~~ Preparing working directory",
        mark(1) + b"$ git fetch",
        mark(2.5) + b"\x1b[90m--- :docker: Pull image\x1b[0m",
        mark(4) + b"done",
        mark(5) + b"+++ Tests",
        mark(9) + b"1 passed",
    )
    found = scan(data)
    spans = [(s.name, s.started_at, s.duration_ms, s.attributes) for s in found.spans]
    assert spans == [
        ("Preparing working directory", T0, 2500, {"line": "1", "mark": "~~~"}),
        (":docker: Pull image", T0 + timedelta(seconds=2.5), 2500, {"line": "3", "mark": "---"}),
        ("Tests", T0 + timedelta(seconds=5), 4000, {"line": "5", "mark": "+++"}),
    ]
    assert {(s.job_id, s.build_id, s.kind) for s in found.spans} == {(JOB, BUILD, "log_section")}
    assert len({s.span_id for s in found.spans}) == 3
    log = found.log
    assert (log.first_at, log.last_at) == (T0, T0 + timedelta(seconds=9))
    assert (log.bytes, log.lines) == (len(data), 6)
    assert log.sha256 == hashlib.sha256(data).hexdigest()
    assert log.tail.splitlines()[2:5] == ["--- :docker: Pull image", "done", "+++ Tests"]


def test_a_github_log_becomes_sections_with_their_times():
    data = (
        "\ufeff2026-07-01T10:00:00.1234567Z ##[group]Set up\n"
        "2026-07-01T10:00:01.0000000Z inside\n"
        "2026-07-01T10:00:03.0000000Z ##[endgroup]\n"
        "2026-07-01T10:00:04.0000000Z between\n"
        "2026-07-01T10:00:06.0000000Z ##[group]Run\n"
        "2026-07-01T10:00:10.0000000Z ##[error]Process completed with exit code 1.\n"
    ).encode()
    found = scan(data)
    assert [(s.name, s.duration_ms) for s in found.spans] == [
        ("Set up", pytest.approx(2876.544)),
        ("Run", 4000),
    ]
    assert found.log.error_line_numbers == (6,)
    assert found.log.error_lines == ("##[error]Process completed with exit code 1.",)
    assert found.log.tail.splitlines()[1] == "inside"


def test_sections_without_a_time_are_no_spans():
    found = scan(b"--- a\n+++ b\n")
    assert (found.spans, found.spans_left_out) == ([], 2)
    assert (found.log.first_at, found.log.last_at) == (None, None)


def test_a_clock_that_was_set_back_measures_nothing():
    day = 86_400
    data = log_of(mark(100) + b"--- a", mark(50) + b"--- b", mark(2 * day) + b"end")
    found = scan_log([data], job_id=JOB, now=NOW + timedelta(days=3))
    assert [s.duration_ms for s in found.spans] == [None, None]


def test_times_that_cannot_be_are_none():
    found = scan(b"\x1b_bk;t=5\x07--- a\n\x1b_bk;t=9999999999999999\x07--- b\n")
    assert (found.log.first_at, found.log.last_at, found.spans) == (None, None, [])


def test_a_log_full_of_sections_keeps_the_first_thousand():
    found = scan(log_of(*(mark(n) + b"--- a" for n in range(1100))))
    assert (len(found.spans), found.spans_left_out) == (1000, 100)
    assert found.spans[-1].duration_ms == 1000


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"\x1b[1m\x1b[38;5;9mred\x1b[0m plain\r", "red plain"),
        (b"10%\r50%\r100% done\r\n", "100% done"),
        (b"10%\r100%\r\r", "100%"),
        (b"a\x1b[2K\rb", "b"),
        (b"\x1b]0;title\x07text\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "textlink"),
        (b"\x1b_bk;t=1782900000000\x07a\x1b_bk;t=1782900001000\x07\rb", "b"),
        (b"tab\tstays \x00\x08", "tab\tstays"),
        (b"a\xc3\xa9 \xff", "aé �"),
        (b"cut off \x1b[3", "cut off 3"),
        (b"", ""),
    ],
)
def test_a_line_is_what_a_terminal_shows_at_its_end(raw, text):
    assert read_line(raw).text == text


@pytest.mark.parametrize(
    "text",
    [
        "E   AssertionError: assert 1 == 2",
        "FAILED tests/test_a.py::test_x - assert 0",
        "FAILED: [code=127] src/a.cc.o",
        "ERROR tests/test_a.py - ImportError",
        "Traceback (most recent call last):",
        "torch.OutOfMemoryError: CUDA out of memory.",
        "RuntimeError: CUDA error: an illegal memory access was encountered",
        "ValueError",
        "src/a.cc:10:5: error: use of undeclared identifier 'x'",
        "error[E0425]: cannot find value",
        "fatal: unable to access 'https://example.org/': Could not resolve host",
        "a.cu(3): fatal error: cuda.h: No such file",
        "panic: runtime error",
        "thread 'main' panicked at src/main.rs:2:5:",
        "Killed",
        "Segmentation fault (core dumped)",
        "OSError: [Errno 28] No space left on device",
        "Error response from daemon: manifest unknown",
        "!!!!!!!!!!! KeyboardInterrupt !!!!!!!!!!!",
    ],
)
def test_what_looks_like_an_error(text):
    assert is_error(text)


@pytest.mark.parametrize(
    "text",
    [
        "0 errors, 3 warnings",
        "-- Checking for -Werror",
        "tests/test_errors.py::test_error PASSED",
        "SOME   E   thing",
        "no panic, please",
        "the process Killed another one",
        "CUDA 13.0 found",
        "FAILEDx",
    ],
)
def test_what_does_not_look_like_an_error(text):
    assert not is_error(text)


def test_error_lines_are_the_first_and_the_last_with_their_numbers():
    lines = [b"fine", b"\x1b[31mE   bad %d\x1b[0m", b"fine"] * 100
    data = log_of(*(line % n if b"%d" in line else line for n, line in enumerate(lines)))
    log = scan(data).log
    numbers = [n + 1 for n in range(300) if n % 3 == 1]
    assert log.error_line_numbers == (*numbers[:25], *numbers[-25:])
    assert log.error_lines[0] == "E   bad 1"
    assert log.error_lines[-1] == "E   bad 298"
    few = scan(log_of(*[b"E   x"] * 30)).log
    assert few.error_line_numbers == tuple(range(1, 31))


def test_the_tail_is_the_last_lines_and_bounded():
    log = scan(b"".join(b"line %d\n" % n for n in range(100_000)) + b"no end").log
    assert log.lines == 100_001
    assert log.tail.splitlines() == [*(f"line {n}" for n in range(99_801, 100_000)), "no end"]
    wide = scan(("é" * 3000 + "\n").encode() * 300).log.tail
    assert 65_000 < len(wide.encode()) <= 65_536


def test_a_line_of_any_length_is_kept_bounded_and_counted():
    data = b"first\nError: begin " + b"x" * 10_000_000 + b" end\nlast\n"
    found = scan(data)
    assert (found.log.bytes, found.log.lines) == (len(data), 3)
    assert found.log.error_line_numbers == (2,)
    assert found.log.error_lines[0].startswith("Error: begin xxx")
    assert len(found.log.error_lines[0]) == 1000
    assert found.log.tail.endswith("xxx end\nlast")
    assert len(found.log.tail) <= 65_536


@pytest.mark.parametrize("data", [b"", b"\n", b"one", b"\xff\xfe", b"\r\r\n"])
def test_small_and_odd_logs_have_their_numbers(data):
    log = scan(data).log
    assert (log.bytes, log.lines) == (
        len(data),
        data.count(b"\n") + (data[-1:] not in (b"", b"\n")),
    )


def test_a_packed_log_is_the_log_and_a_cut_one_says_so():
    data = log_of(*(mark(n) + b"--- part %d" % n for n in range(5000)))
    packed = gzip.compress(data)
    assert scan(packed) == scan(data)
    cut = scan(packed[: len(packed) // 2])
    assert cut.problem == "gzip: the stream is cut"
    assert 0 < cut.log.bytes < len(data)


def test_a_kept_log_is_one_file_named_by_its_digest(tmp_path):
    data = log_of(mark(0) + b"--- a", mark(1) + b"Error: b")
    folder = tmp_path / "logs"
    first = keep_log([data[:10], data[10:]], folder, job_id=JOB, now=NOW)
    path = folder / f"{hashlib.sha256(data).hexdigest()}.log.gz"
    assert first.log.location == str(path)
    assert gzip.decompress(path.read_bytes()) == data
    written = path.read_bytes()
    again = keep_log([gzip.compress(data)], folder, job_id=JOB, now=NOW)
    assert again.log == first.log
    assert [entry.name for entry in folder.iterdir()] == [path.name]
    assert path.read_bytes() == written
    assert first.log.model_copy(update={"location": ""}) == scan(data).log


def test_a_log_that_breaks_off_while_it_is_kept_leaves_nothing(tmp_path):
    def chunks():
        yield b"x" * 100_000
        msg = "the connection is gone"
        raise ConnectionError(msg)

    with pytest.raises(ConnectionError, match="the connection is gone"):
        keep_log(chunks(), tmp_path / "logs", job_id=JOB, now=NOW)
    assert list((tmp_path / "logs").iterdir()) == []


def test_a_folder_that_cannot_be_written_is_said_so(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(InfrastructureError, match="cannot keep a log in"):
        keep_log([b"x"], tmp_path / "file", job_id=JOB, now=NOW)


def test_the_bytes_of_a_log_can_go_elsewhere_too():
    sink = io.BytesIO()
    scan([gzip.compress(b"hello\n")], copy_to=sink)
    assert sink.getvalue() == b"hello\n"


LINES = st.sampled_from(
    [
        b"plain\n", b"\n", b"E   bad\r\n", b"--- head\n", mark(5) + b"+++ next\r\n",
        mark(9) + b"x\r", b"\x1b[31m~~~ z\x1b[0m\n", b"##[group]g\n", b"2026-07-01T10:00:07Z y\n",
        b"\xff\xfe", b"\xc3\xa9" * 40_000, b"z" * 300_000,
    ]
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(
    lines=st.lists(LINES, max_size=30),
    cuts=st.lists(st.integers(0, 2_000_000), max_size=8),
)
def test_a_log_is_the_same_in_any_pieces(lines, cuts):
    data = b"".join(lines)
    edges = sorted({0, len(data), *(min(cut, len(data)) for cut in cuts)})
    pieces = [data[a:b] for a, b in pairwise(edges)]
    assert scan(pieces) == scan(data)


MEMORY = """
import resource, sys
from uuid import UUID
from gauntlet.warehouse.reports.log import scan_log

def lines(size):
    line = b"\\x1b_bk;t=%d\\x07\\x1b[90mtests/test_%d.py::test_x PASSED, and more\\x1b[0m\\r\\n"
    done = 0
    while done < size:
        first = 1782900000000 + done // 10
        part = b"".join(line % (first + n, n) for n in range(1000))
        part += b"\\x1b_bk;t=%d\\x07--- section\\r\\nE   Error: bad\\r\\n" % first + b"y" * 20000
        yield part
        done += len(part)

before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
found = scan_log(lines(int(sys.argv[1])), job_id=UUID(int=1))
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(found.log.bytes, (after - before) // 1024)
"""


@pytest.mark.parametrize(
    "megabytes",
    [20, pytest.param(100, marks=pytest.mark.slow), pytest.param(400, marks=pytest.mark.slow)],
)
def test_memory_does_not_grow_with_the_log(megabytes):
    argv = [sys.executable, "-c", MEMORY, str(megabytes * 1_000_000)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    size, grown_mib = map(int, done.stdout.split())
    assert size >= megabytes * 1_000_000
    assert grown_mib < 20


def test_marked_lines_of_real_logs_are_mostly_found(shared):
    folder = shared / "data/log-classifier/logs"
    found, missed = 0, []
    for path in sorted(folder.glob("*.txt")):
        text = path.read_text(encoding="utf-8").replace("\u2039", "").replace("\u203a", "")
        lines = text.split("\n")
        marked = {n for n, line in enumerate(lines, 1) if line.startswith("#=MATCH=#")}
        data = text.replace("#=MATCH=# ", "").encode()
        log = scan_log([data], job_id=JOB, now=datetime(2026, 9, 1, tzinfo=UTC)).log
        assert log.lines == len(lines) - (lines[-1] == "")
        assert log.first_at is not None
        if marked & set(log.error_line_numbers):
            found += 1
        else:
            missed.append(path.stem)
    # The others are sentences of one project's own tools.
    assert (found, len(missed)) == (22, 6), missed


@pytest.mark.parametrize("name", ["leak", "mochitest-fail", "xpcshell-crash"])
def test_large_real_logs_have_their_numbers(shared, name):
    path = shared / f"data/treeherder-logs/{name}.log.gz"
    data = gzip.decompress(path.read_bytes())
    log = scan(path.read_bytes()).log
    assert (log.bytes, log.lines) == (len(data), data.count(b"\n"))
    assert log.sha256 == hashlib.sha256(data).hexdigest()
    lines = data.split(b"\n")
    for number, text in zip(log.error_line_numbers, log.error_lines, strict=True):
        assert is_error(text)
        assert read_line(lines[number - 1]).text[:900] == text[:900]
    assert len(log.tail.splitlines()) <= 200
