import os
import sys

import pytest

from gauntlet.core.errors import InfrastructureError
from gauntlet.core.proc import reap_later, start_detached


def test_a_detached_program_has_a_session_of_its_own_and_says_errors_to_its_log(tmp_path):
    log = tmp_path / "deep" / "log"
    log.parent.mkdir()
    log.write_text("before\n")
    code = "import os, sys; print('lost'); sys.stderr.write(f'{os.getsid(0)} {sys.stdin.read()!r}')"
    process = start_detached([sys.executable, "-c", code], log=log)
    assert process.wait(30) == 0
    assert log.read_text() == f"before\n{process.pid} ''"
    assert process.pid != os.getsid(0)


def test_a_program_that_ends_later_leaves_no_zombie(tmp_path):
    process = start_detached([sys.executable, "-c", ""], log=tmp_path / "log")
    reap_later(process)
    assert process.wait(30) == 0
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, 0)


def test_a_program_that_is_not_there_is_an_error_with_its_name(tmp_path):
    with pytest.raises(InfrastructureError, match="no-such-program"):
        start_detached([str(tmp_path / "no-such-program")], log=tmp_path / "log")
