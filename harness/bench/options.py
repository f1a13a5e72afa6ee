"""Options that say which engine a bench command measures."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from gauntlet.harness.bench.request import EngineOptions

CommandT = TypeVar("CommandT", bound=Callable[..., object])
_FIELDS = (
    "base_url", "candidate_url", "runtime", "environment", "lock", "simulator", "devices",
    "namespace", "context", "ready_timeout_s", "proxy",
)  # fmt: skip

_OPTIONS = (
    click.option("--base-url", metavar="URL", help="A server that runs already, without /v1."),
    click.option("--candidate-url", metavar="URL", help="The other side of a comparison."),
    click.option(
        "--runtime",
        type=click.Choice(["process", "docker", "kubernetes", "simulator"]),
        help="How engines are started.  [default: as the recipe's engine says]",
    ),
    click.option(
        "--engine-venv",
        "environment",
        type=click.Path(path_type=Path),
        default=Path(".venv-engine"),
        show_default=True,
        help="Virtual environment that holds vllm.",
    ),
    click.option(
        "--engine-lock",
        "lock",
        type=click.Path(path_type=Path, exists=True, dir_okay=False),
        help="Lock of the engine's packages; what differs is part of every result's identity.",
    ),
    click.option(
        "--simulator",
        default="baseline",
        show_default=True,
        help="Settings of the simulator for a recipe without an engine: a name or a .yaml.",
    ),
    click.option("--devices", metavar="0,1,...", help="GPUs to use.  [default: the first ones]"),
    click.option("--namespace", default="default", show_default=True, help="Kubernetes."),
    click.option("--context", metavar="NAME", help="Kubernetes: context of kubectl."),
    click.option(
        "--ready-timeout",
        "ready_timeout_s",
        type=click.FloatRange(1, 86_400),
        metavar="SECONDS",
        help="For an engine to answer.  [default: simulator 30, vllm 1800, a URL 60]",
    ),
    click.option(
        "--proxy", metavar="URL", help="HTTP proxy to the server; a slower client, and it says so."
    ),
)


def engine_options(function: CommandT) -> CommandT:
    """Add the options that say which engine is measured."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def take_engine_options(options: dict[str, object]) -> EngineOptions:
    """Take those options out of a command's arguments."""
    chosen = {name: options.pop(name) for name in _FIELDS}
    devices = chosen.pop("devices")
    names = tuple(str(devices).split(",")) if devices else ()
    return EngineOptions(**chosen, devices=names)  # type: ignore[arg-type]
