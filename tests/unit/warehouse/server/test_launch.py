import importlib.util

import pytest

from gauntlet.core.errors import ExitCode, UsageError
from gauntlet.warehouse.server.launch import find, find_or_start


def test_without_chdb_the_remedy_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match="needs chDB") as caught:
        find_or_start(tmp_path / "warehouse")
    assert caught.value.hint == "pip install 'gauntlet[embedded]'"
    assert caught.value.exit_code == ExitCode.USAGE
    assert list(tmp_path.iterdir()) == []


def test_where_nobody_ever_served_nobody_is_found(tmp_path):
    assert find(tmp_path / "warehouse") is None
