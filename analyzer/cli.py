"""``gauntlet analyze``: is it slower, is it worse? Imports a command only when it is called."""

import click

from gauntlet.core.lazy_group import LazyGroup

_COMMANDS = {
    "accuracy": (
        "gauntlet.analyzer.accuracy.accuracy_command",
        "accuracy",
        "Judge answers question by question: is it worse?",
    ),
    "compare": (
        "gauntlet.analyzer.compare_command",
        "compare",
        "Judge a candidate against a baseline.",
    ),
    "frontier": (
        "gauntlet.analyzer.frontier_command",
        "frontier",
        "Compare two sweeps as frontiers.",
    ),
    "nightly": (
        "gauntlet.analyzer.nightly_command",
        "nightly",
        "Judge one night: what is new, what is missing.",
    ),
    "perf": (
        "gauntlet.analyzer.perf_command",
        "perf",
        "Say what happened to the speed of every series.",
    ),
    "series": (
        "gauntlet.analyzer.series_command",
        "series",
        "Say what happened to one series of numbers.",
    ),
}


class Commands(LazyGroup):
    """Every command below ``gauntlet analyze``."""

    table = _COMMANDS


@click.group(cls=Commands)
def analyze() -> None:
    """Compare builds; verdicts with reasons."""
