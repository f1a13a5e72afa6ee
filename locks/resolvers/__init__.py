"""Resolvers that serve the port in ``gauntlet.locks.resolver``."""

from typing import assert_never

from gauntlet.locks.manifest import Resolver as Name
from gauntlet.locks.resolver import Resolver
from gauntlet.locks.resolvers.pip_tools import PipTools
from gauntlet.locks.resolvers.uv import Uv


def resolver_for(name: Name) -> Resolver:
    """The resolver of a name that the manifest knows."""
    match name:
        case "uv":
            return Uv()
        case "pip-tools":
            return PipTools()
        case _:
            assert_never(name)
