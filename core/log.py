"""Logging to stderr, and the only place that knows Buildkite's folds."""

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from gauntlet.core.clock import Stopwatch

_LOGGER = logging.getLogger(__name__)


def configure(*, verbose: bool = False) -> None:
    """Send log records to stderr: warnings by default, everything of ours with ``verbose``."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger("gauntlet")
    root.handlers = [handler]
    root.propagate = False
    root.setLevel(logging.DEBUG if verbose else logging.WARNING)


def on_buildkite() -> bool:
    """Whether this process is a Buildkite job."""
    return os.environ.get("BUILDKITE") == "true"


@contextmanager
def section(title: str, *, expanded: bool = False) -> Iterator[None]:
    """Fold what is printed inside into one Buildkite group; elsewhere only log its duration."""
    if on_buildkite():
        sys.stderr.write(f"{'+++' if expanded else '---'} {title}\n")
    watch = Stopwatch()
    try:
        yield
    finally:
        _LOGGER.info("%s: %.2f s", title, watch.seconds)
