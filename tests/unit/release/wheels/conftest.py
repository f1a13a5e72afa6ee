"""The engine's wheel, built once for each session."""

import pytest
from engine_repository import build_engine, make_engine


@pytest.fixture(scope="session")
def engine(tmp_path_factory):
    """Sources of the engine."""
    return make_engine(tmp_path_factory.mktemp("engine") / "source")


@pytest.fixture(scope="session")
def wheel(engine, tmp_path_factory):
    """A wheel of it for x86_64, as good as a wheel can be."""
    out = tmp_path_factory.mktemp("dist")
    return build_engine(engine, out, platform="manylinux_2_28_x86_64")
