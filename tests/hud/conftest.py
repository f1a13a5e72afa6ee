"""One page at a time in Streamlit's own test harness, and all of them in a real browser."""

import sys
from pathlib import Path

import pytest
from pages_under_test import Shown

from gauntlet.hud.acting.actors import READ_ONLY, Actors
from gauntlet.hud.reading import Reader

SCRIPT = Path(__file__).with_name("page_script.py")


@pytest.fixture
def location(tmp_path):
    return str(tmp_path / "warehouse")


@pytest.fixture
def show(location, monkeypatch):
    """Draw a page of ``location`` by its path, with parameters of its address."""
    from streamlit.testing.v1 import AppTest

    readers = []

    def draw(
        path: str, reader: Reader | None = None, actors: Actors = READ_ONLY, **query: str
    ) -> Shown:
        shared = reader or Reader(location)
        if shared not in readers:
            readers.append(shared)
        monkeypatch.setattr("gauntlet.hud.shell.parts.PAUSE_S", 0)  # nobody looks
        monkeypatch.setattr(sys, "argv", ["page_script.py", path])
        monkeypatch.setattr("pages_under_test.READER", shared)
        monkeypatch.setattr("pages_under_test.ACTORS", actors)
        test = AppTest.from_file(str(SCRIPT), default_timeout=60)
        for key, value in query.items():
            test.query_params[key] = value
        return Shown(test.run(), shared)

    yield draw
    for each in readers:
        each.close()
