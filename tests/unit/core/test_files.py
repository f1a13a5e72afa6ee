import os
import stat
import threading

import pytest

from gauntlet.core.errors import InfrastructureError
from gauntlet.core.files import write_atomic


def test_a_file_is_whole_and_as_public_as_any_other(tmp_path):
    path = write_atomic(tmp_path / "deep" / "a", "text")
    assert path.read_text() == "text"
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~_umask()
    assert list(path.parent.iterdir()) == [path]


def test_a_private_file_is_private(tmp_path):
    path = write_atomic(tmp_path / "key", "text", mode=0o600)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_is_no_regular_file_is_written_to_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write_atomic(pipe, "text")
    reader.join(10)
    assert read == [b"text"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_folder_in_the_way_is_an_error_with_its_name(tmp_path):
    (tmp_path / "a").mkdir()
    with pytest.raises(InfrastructureError, match=str(tmp_path / "a")):
        write_atomic(tmp_path / "a", "text")
    assert list(tmp_path.iterdir()) == [tmp_path / "a"]


def _umask() -> int:
    value = os.umask(0)
    os.umask(value)
    return value
