import json
import stat

import pytest

from gauntlet.warehouse.server.endpoint import Endpoint
from gauntlet.warehouse.server.state import (
    own_state,
    read_state,
    remove_state,
    state_file,
    write_state,
)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "warehouse"


def test_a_state_is_read_as_it_was_written_and_only_by_its_user(folder):
    state = own_state(folder, Endpoint(port=4711, token="secret"))
    write_state(folder, state)
    assert read_state(folder) == state
    assert stat.S_IMODE(state_file(folder).stat().st_mode) == 0o600
    assert state.endpoint.url == "http://127.0.0.1:4711"


def test_the_key_is_in_no_text_of_an_endpoint():
    assert "secret" not in repr(Endpoint(port=1, token="secret"))


def test_a_server_of_a_later_version_is_understood(folder):
    state = own_state(folder, Endpoint(port=1, token="t"))
    later = {**json.loads(state.model_dump_json()), "version": "99.0", "new_key": [1]}
    state_file(folder).write_text(json.dumps(later))
    found = read_state(folder)
    assert (found.version, found.endpoint) == ("99.0", state.endpoint)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": 1}', "\xff"])
def test_a_file_that_says_nothing_useful_counts_as_none(folder, text):
    state_file(folder).write_text(text, encoding="latin-1")
    assert read_state(folder) is None


def test_a_state_is_removed_by_its_owner_alone(folder):
    first = own_state(folder, Endpoint(port=1, token="first"))
    second = own_state(folder, Endpoint(port=2, token="second"))
    write_state(folder, second)
    remove_state(folder, first)
    assert read_state(folder) == second
    remove_state(folder, second)
    assert not state_file(folder).exists()
    remove_state(folder, second)
