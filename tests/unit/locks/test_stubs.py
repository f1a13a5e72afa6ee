"""Stubs hold what is recorded; without a record, what the lock says."""

import zipfile

from gauntlet.locks.lock_file import parse_lock
from gauntlet.locks.metadata import read_metadata, wheel_metadata
from gauntlet.locks.record import IndexRecord, Recorded
from gauntlet.locks.stubs import write_stubs

LOCK = parse_lock(
    "a-b==1.0\n    # via -r a.in\nc==2\n    # via a-b\nd==3\n    # via -r a.in\n", file="a.txt"
)


def test_a_stub_has_the_metadata_and_nothing_else(tmp_path):
    told = Recorded(
        files={}, requires=("c>1", 'e ; extra == "x"'), requires_python=">=3.9", extras=("x",)
    )
    record = IndexRecord(packages={"a-b==1.0": told, "c==2": Recorded(files={}, requires=())})
    assert write_stubs(tmp_path, LOCK, record) == ()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "a_b-1.0-py3-none-any.whl",
        "c-2-py3-none-any.whl",
    ]
    path = tmp_path / "a_b-1.0-py3-none-any.whl"
    with path.open("rb") as stream:
        raw = read_metadata(wheel_metadata(stream, path.name))
    assert raw["name"] == "a-b"
    assert raw["requires_dist"] == ["c>1", 'e ; extra == "x"']
    assert raw["requires_python"] == ">=3.9"
    assert raw["provides_extra"] == ["x"]
    with zipfile.ZipFile(path) as archive:
        assert len(archive.namelist()) == 3


def test_what_only_a_build_would_tell_is_taken_from_the_lock_and_said(tmp_path):
    record = IndexRecord(packages={"a-b==1.0": Recorded(files={})})
    assert write_stubs(tmp_path, LOCK, record) == ("a-b==1.0",)
    path = tmp_path / "a_b-1.0-py3-none-any.whl"
    with path.open("rb") as stream:
        assert read_metadata(wheel_metadata(stream, path.name))["requires_dist"] == ["c"]
