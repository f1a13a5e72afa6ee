"""The command line: mounts each package's commands, and imports one only when it is called."""

from importlib import import_module

import click

from gauntlet import __version__
from gauntlet.core import log

# command: (module, attribute, one line of help). The help stands here so that
# ``gauntlet --help`` imports none of them.
COMMANDS = {
    "demo": ("gauntlet.demo.cli", "demo", "Run the whole main job once: decide, measure, judge."),
    "pipelines": ("gauntlet.pipelines.cli", "pipelines", "From a diff to a Buildkite pipeline."),
    "recipes": ("gauntlet.perf_eval.cli", "recipes", "Check and expand measurement recipes."),
    "simulator": ("gauntlet.harness.simulator.cli", "simulator", "Serve the engine simulator."),
    "warehouse": ("gauntlet.warehouse.cli", "warehouse", "Look into the store of results."),
    "analyze": ("gauntlet.analyzer.cli", "analyze", "Compare builds; verdicts with reasons."),
    "release": ("gauntlet.release.cli", "release", "Evaluate release gates."),
    "hud": ("gauntlet.hud.cli", "hud", "Open the pages in a browser."),
}


class LazyGroup(click.Group):
    """A group whose commands are imported when they are used, not when they are listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order of the table, which is the order of the work."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command; None where there is none of that name."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module, attribute, _ = COMMANDS[cmd_name]
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry[2]) for name, entry in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="gauntlet")
@click.option("-v", "--verbose", is_flag=True, help="Log what is done to stderr.")
def gauntlet(verbose: bool) -> None:
    """Decide whether a build of an LLM inference engine is fit to ship.

    Exit codes: 0 ok, 2 usage or configuration, 3 nothing selected, 4 infrastructure
    (retryable), 5 invalid measurement, 6 gate failed or regression, 7 external service,
    130 interrupted.
    """
    log.configure(verbose=verbose)
