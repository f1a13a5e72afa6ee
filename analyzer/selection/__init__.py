"""From what people name (a run, a build, files) to measured repetitions."""

from gauntlet.analyzer.selection.selector import Selector, parse_selector
from gauntlet.analyzer.selection.sides import load, load_sides

__all__ = ["Selector", "load", "load_sides", "parse_selector"]
