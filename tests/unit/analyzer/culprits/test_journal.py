from pathlib import Path

import pytest

from gauntlet.analyzer.culprits.journal import Header, Journal
from gauntlet.analyzer.culprits.model import ProbeResult
from gauntlet.core.errors import ConfigError, InfrastructureError, UsageError

HEADER = Header(good="a", bad="b", command=("make", "test"))


def result(sha, outcome="failed", **known):
    return ProbeResult(sha=sha, outcome=outcome, seconds=1.5, **known)


@pytest.fixture
def path(tmp_path):
    with Journal(tmp_path / "deep" / "j.jsonl", HEADER) as journal:
        journal.add("search", result("x"))
        journal.add("search", result("x", "passed", evidence="log"))
        journal.add("search", result("y", "passed", value=2.5))
    return tmp_path / "deep" / "j.jsonl"


def test_runs_come_back_once_each_in_their_order(path):
    with Journal(path, HEADER) as journal:
        assert journal.continued == 3
        taken = [journal.take("x") for _ in range(3)]
        assert [each and each.outcome for each in taken] == ["failed", "passed", None]
        assert journal.take("y") == result("y", "passed", value=2.5)
        assert journal.take("z") is None


@pytest.mark.parametrize("cut", [1, 10, 40])
def test_a_line_that_was_cut_is_as_if_never_begun(path, cut):
    path.write_bytes(path.read_bytes()[:-cut])
    with Journal(path, HEADER) as journal:
        assert journal.continued == 2
        journal.add("search", result("z"))
    with Journal(path, HEADER) as journal:
        assert (journal.continued, journal.take("z")) == (3, result("z"))


def test_another_search_is_refused_unless_begun_anew(path):
    other = Header(good="a", bad="c", command=("make", "test"))
    with pytest.raises(UsageError, match="another search: bad is b there, c here") as caught:
        Journal(path, other)
    assert "--restart" in caught.value.hint
    with Journal(path, other, restart=True) as journal:
        assert journal.continued == 0


def test_what_is_no_journal_is_said_with_its_line(tmp_path):
    (tmp_path / "j").write_text("hello\n")
    with pytest.raises(ConfigError, match="j:1: JSON"):
        Journal(tmp_path / "j", HEADER)


def test_a_folder_that_cannot_be_written_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InfrastructureError, match="cannot write the journal"):
        Journal(tmp_path / "file" / "j", HEADER)


@pytest.mark.parametrize("restart", [False, True])
def test_a_device_is_refused(restart):
    with pytest.raises(UsageError, match="/dev/full is no regular file"):
        Journal(Path("/dev/full"), HEADER, restart=restart)
