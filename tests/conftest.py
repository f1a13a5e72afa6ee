"""Options and fixtures of the whole test suite."""

import os
from pathlib import Path

import pytest
from hypothesis import settings
from stores import stop_server

# A busy machine is slow, and no property is about time.
settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")

_TESTS = Path(__file__).parent


def pytest_addoption(parser):
    parser.addoption(
        "--update-golden", action="store_true", help="accept the present output as the golden one"
    )


@pytest.fixture
def golden(request):
    """Compare text with ``tests/golden/<name>``, or write it there with --update-golden."""

    def check(name: str, text: str) -> bool:
        path = _TESTS / "golden" / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
            return True
        assert path.is_file(), f"no golden file {name}: run `make golden` and look at it"
        assert text == path.read_bytes().decode(), f"{name} differs: `make golden` accepts it"
        return True

    return check


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of large real inputs, which is not part of the repository."""
    folder = Path(os.environ.get("GAUNTLET_SHARED") or _TESTS.parent.parent / "shared")
    if not (folder / "data").is_dir():
        pytest.skip(f"no shared inputs in {folder}; set GAUNTLET_SHARED to their folder")
    return folder


@pytest.fixture(autouse=True)
def end_servers(request):
    """End the warehouse servers that a test started in its own folder; they would linger."""
    yield
    folder = request.node.funcargs.get("tmp_path") if hasattr(request.node, "funcargs") else None
    for state in folder.rglob("*.server.json") if folder else ():
        stop_server(state.with_name(state.name.removesuffix(".server.json")))
