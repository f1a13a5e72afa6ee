from hypothesis import given
from hypothesis import strategies as st

from gauntlet.core.supervisor import BoundedLog

LIMIT = 4096
HEAD = LIMIT // 4


def filled(path, chunks, limit=LIMIT):
    log = BoundedLog(path, limit=limit)
    sizes = []
    for chunk in chunks:
        log.write(chunk)
        sizes.append(path.stat().st_size)
    log.close()
    return path.read_bytes(), sizes


def test_a_short_log_is_whole_and_appended_to(tmp_path):
    path = tmp_path / "log"
    filled(path, [b"one\n", b"two\n"])
    assert filled(path, [b"three\n"])[0] == b"one\ntwo\nthree\n"


@given(st.lists(st.integers(1, 500), min_size=60, max_size=200))
def test_head_and_tail_are_kept_and_the_size_is_bounded(tmp_path_factory, lengths):
    chunks = [f"{number:0{length}d}\n".encode() for number, length in enumerate(lengths)]
    kept, sizes = filled(tmp_path_factory.mktemp("log") / "log", chunks)
    written = b"".join(chunks)
    assert max(sizes) <= LIMIT
    assert kept[:HEAD] == written[:HEAD]
    assert kept.endswith(written[-HEAD:])
    if len(written) > LIMIT:
        assert b"bytes of this log are left out here" in kept
    else:
        assert kept == written


def test_what_was_left_out_is_counted(tmp_path):
    chunks = [b"%09d\n" % number for number in range(5000)]
    kept, _ = filled(tmp_path / "log", chunks)
    said = int(kept.split(b" bytes of this log")[0].rpartition(b"[")[2])
    marker = len(f"\n[{said} bytes of this log are left out here]\n")
    # The marker of an earlier cut is cut out by the next one, and counts as left out.
    assert abs(said + len(kept) - marker - 50_000) <= marker * 50


def test_what_the_disk_refuses_is_told_once_and_its_end_kept(tmp_path):
    (tmp_path / "log").symlink_to("/dev/full")
    told = []
    log = BoundedLog(tmp_path / "log", limit=LIMIT, on_problem=told.append)
    for number in range(3000):
        log.write(b"line %d\n" % number)
    log.close()
    assert told == ["No space left on device"]
    assert log.unwritten.endswith(b"line 2999\n")
    assert len(log.unwritten) <= 16 << 10
