import logging
import os
from datetime import UTC, datetime

import pytest

from gauntlet.core import log
from gauntlet.core.errors import (
    ExitCode,
    InfrastructureError,
    Problem,
    UsageError,
    nearest,
    unknown_name,
)
from gauntlet.core.files import write_atomic
from gauntlet.core.ids import canonical_json, digest, file_digest, new_run_id
from gauntlet.core.proc import redacted


def test_exit_codes_are_the_documented_ones():
    assert {code.name: int(code) for code in ExitCode} == {
        "OK": 0,
        "USAGE": 2,
        "NOTHING_SELECTED": 3,
        "INFRASTRUCTURE": 4,
        "INVALID_MEASUREMENT": 5,
        "NOT_QUALIFIED": 6,
        "EXTERNAL_SERVICE": 7,
        "INTERRUPTED": 130,
    }


def test_unknown_names_come_with_the_nearest_and_the_known():
    error = unknown_name("recipe", "smok", ["smoke", "nightly"])
    assert isinstance(error, UsageError)
    assert error.message == "unknown recipe 'smok'; did you mean 'smoke'? Known: nightly, smoke."
    assert nearest("zzz", ["smoke"]) is None


def test_problem_text_without_and_with_details():
    assert str(Problem(file="a.yaml", message="odd")) == "a.yaml: odd"
    full = Problem(file="a.yaml", line=3, key="x", message="bad", value="7", allowed=("1", "2"))
    assert str(full) == "a.yaml:3: x: bad (got 7); allowed: 1, 2"


def test_run_ids_sort_by_time_and_differ():
    early = new_run_id(datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
    late = new_run_id(datetime(2026, 1, 2, 3, 4, 6, tzinfo=UTC))
    assert early < late
    assert early.startswith("20260102-030405-")
    assert new_run_id() != new_run_id()


def test_digests_do_not_depend_on_key_order(tmp_path):
    assert digest({"a": 1, "b": [2]}) == digest({"b": [2], "a": 1}) != digest({"a": 1, "b": [3]})
    assert canonical_json({"b": "ä", "a": 1}) == '{"a":1,"b":"ä"}'
    (tmp_path / "f").write_bytes(b"abc")
    assert file_digest(tmp_path / "f").startswith("ba7816bf")


def test_atomic_writes_replace_whole_files_and_respect_the_umask(tmp_path):
    target = tmp_path / "deep" / "file.txt"
    before = os.umask(0o027)
    try:
        write_atomic(target, "one", fsync=True)
        write_atomic(target, b"two")
    finally:
        os.umask(before)
    assert target.read_text() == "two"
    assert target.stat().st_mode & 0o777 == 0o640
    assert [path.name for path in target.parent.iterdir()] == ["file.txt"]


def test_a_folder_that_cannot_be_made_is_an_infrastructure_error(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InfrastructureError, match="cannot write"):
        write_atomic(tmp_path / "file" / "x", "data")


def test_environment_values_are_hidden_unless_known_to_be_harmless():
    shown = redacted({"PATH": "/bin", "API_TOKEN": "secret", "NEW_THING": "also"})
    assert shown == {"PATH": "/bin", "API_TOKEN": "***", "NEW_THING": "***"}


def test_sections_fold_on_buildkite_only(monkeypatch, capsys):
    monkeypatch.delenv("BUILDKITE", raising=False)
    with log.section("quiet"):
        pass
    monkeypatch.setenv("BUILDKITE", "true")
    with log.section("folded"), log.section("open", expanded=True):
        pass
    assert capsys.readouterr().err.splitlines() == ["--- folded", "+++ open"]


def test_verbose_logging_reaches_stderr(capsys):
    log.configure(verbose=True)
    logging.getLogger("gauntlet.test").info("hello")
    log.configure()
    logging.getLogger("gauntlet.test").info("not this")
    assert "hello" in (err := capsys.readouterr().err)
    assert "not this" not in err
