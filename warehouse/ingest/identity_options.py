"""Options that say what a result file does not: recipe, engine, machine."""

from collections.abc import Callable
from typing import TypeVar

import click

from gauntlet.core.errors import UsageError

CommandT = TypeVar("CommandT", bound=Callable[..., object])

_OPTIONS = (
    click.option("--recipe", required=True, help="Name of the experiment; part of the series."),
    click.option("--workload", help="Name of the workload or task, where the file has none."),
    click.option("--run-id", help="Run that this belongs to."),
    click.option("--engine", "engine_kind", default="vllm", show_default=True, help="Its kind."),
    click.option("--engine-version", help="Version of the engine."),
    click.option("--commit", "engine_commit", envvar="BUILDKITE_COMMIT", help="Engine commit."),
    click.option("--image", "image_digest", help="Digest of the image."),
    click.option("--accelerator", help="Such as H200; part of the series."),
    click.option("--driver", help="Version of the accelerator's driver."),
    click.option("--host", default="", help="Machine that it was measured on."),
    click.option("--build-id", envvar="BUILDKITE_BUILD_ID", help="Build that it belongs to."),
    click.option("--seed", type=int, help="Seed of the prompts."),
    click.option(
        "--set",
        "settings",
        multiple=True,
        metavar="KEY=VALUE",
        help="What else could change the number (repeatable): part of the configuration.",
    ),
)


def identity_options(function: CommandT) -> CommandT:
    """Add the options; ``identity_from`` reads them."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def pairs_of(texts: tuple[str, ...], option: str) -> dict[str, str]:
    """Split ``KEY=VALUE`` texts. Raises UsageError for one without ``=``, or given twice."""
    found: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise UsageError(f"{option} {text}: expected KEY=VALUE")
        if key in found:
            raise UsageError(f"{option} {text}: {key} is given twice")
        found[key] = value
    return found
