"""The command line: mounts each package's commands, and imports one only when it is called."""

import click

from gauntlet import __version__
from gauntlet.core import log
from gauntlet.core.lazy_group import LazyGroup

# command: (module, attribute, one line of help). The help stands here so that
# ``gauntlet --help`` imports none of them.
COMMANDS = {
    "demo": ("gauntlet.demo.cli", "demo", "Run the whole main job once: decide, measure, judge."),
    "pipelines": ("gauntlet.pipelines.cli", "pipelines", "From a diff to a Buildkite pipeline."),
    "recipes": ("gauntlet.perf_eval.cli", "recipes", "Check and expand measurement recipes."),
    "bench": ("gauntlet.harness.bench.cli", "bench", "Measure an engine; search; compare clients."),
    "simulator": ("gauntlet.harness.simulator.cli", "simulator", "Serve the engine simulator."),
    "warehouse": ("gauntlet.warehouse.cli", "warehouse", "Look into the store of results."),
    "ingest": ("gauntlet.warehouse.ingest.cli", "ingest", "Bring in results, builds and logs."),
    "analyze": ("gauntlet.analyzer.cli", "analyze", "Compare builds; verdicts with reasons."),
    "classify": (
        "gauntlet.analyzer.classify_command",
        "classify",
        "Say what kind of failure a log shows.",
    ),
    "incidents": (
        "gauntlet.analyzer.incidents_command",
        "incidents",
        "What is broken, since when, what to do.",
    ),
    "bisect": ("gauntlet.analyzer.bisect_command", "bisect", "Find and prove who broke it."),
    "flakes": ("gauntlet.analyzer.flakes_command", "flakes", "Which tests are broken or flaky."),
    "quarantine": (
        "gauntlet.analyzer.quarantine_command",
        "quarantine",
        "Let flaky tests run without blocking.",
    ),
    "alerts": (
        "gauntlet.analyzer.alerts_command",
        "alerts",
        "What is wrong with the fleet, and who owns it.",
    ),
    "nightly": ("gauntlet.analyzer.night_command", "nightly", "Everything that a night needs."),
    "release": ("gauntlet.release.cli", "release", "Cut, qualify, build, prove, ship."),
    "locks": ("gauntlet.locks.cli", "locks", "Pinned dependencies, and what is installed."),
    "images": ("gauntlet.images.cli", "images", "Plan, build and verify images."),
    "wheels": ("gauntlet.release.wheels.command", "wheels", "Check wheels before they ship."),
    "index": ("gauntlet.release.index.command", "index", "Build the package index."),
    "hud": ("gauntlet.hud.cli", "hud", "Open the pages in a browser."),
}


class Commands(LazyGroup):
    """Every command."""

    table = COMMANDS


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="gauntlet")
@click.option("-v", "--verbose", is_flag=True, help="Log what is done to stderr.")
def gauntlet(verbose: bool) -> None:
    """Decide whether a build of an LLM inference engine is fit to ship.

    Exit codes: 0 ok, 2 usage or configuration, 3 nothing selected, 4 infrastructure
    (retryable), 5 invalid measurement, 6 gate failed or regression, 7 external service,
    130 interrupted.
    """
    log.configure(verbose=verbose)
