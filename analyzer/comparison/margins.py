"""How much worse is still the same: data (``margins.yaml``), per metric and statistic.

docs/reference/margins.md describes the file.
"""

from collections.abc import Mapping
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Literal

from pydantic import Field

from gauntlet.analyzer.measured import Statistic
from gauntlet.core.yaml_file import StrictModel, load_model


class Margin(StrictModel):
    """What counts in one statistic of a metric."""

    margin_percent: float = Field(gt=0, lt=100)
    """How much worse is still the same."""
    noise_percent: float = Field(gt=0, lt=100)
    """Standard deviation of what one session gives, where sides were not interleaved and history
    says nothing."""
    blocking: bool = False
    """Whether it decides; otherwise it only informs."""


class MetricMargins(StrictModel):
    """One metric: which way is good, and what counts in its statistics."""

    direction: Literal["higher", "lower"]
    """Which way is good."""
    unit: str = Field(min_length=1)
    """Unit of its values, for people."""
    statistics: Mapping[str, Margin] = Field(min_length=1)
    """Statistic to what counts in it."""


class Margins(StrictModel):
    """Everything that is judged; what is not listed is not judged."""

    schema_version: Literal[1]
    common_share: float = Field(default=0.2, ge=0, le=1)
    """Share of a session's noise (its variance) that all its points have in common."""
    metrics: Mapping[str, MetricMargins]
    """Metric to what counts in it."""

    def of(self, statistic: Statistic) -> Margin | None:
        """What counts in a statistic; None where it is not judged."""
        metric = self.metrics.get(statistic.metric)
        return None if metric is None else metric.statistics.get(statistic.statistic)

    def with_changes(self, changes: "Margins") -> "Margins":
        """These margins where ``changes`` says nothing else, statistic by statistic."""
        metrics = dict(self.metrics)
        for name, metric in changes.metrics.items():
            known = metrics[name].statistics if name in metrics else {}
            metrics[name] = metric.model_copy(update={"statistics": {**known, **metric.statistics}})
        update: dict[str, object] = {"metrics": metrics}
        if "common_share" in changes.model_fields_set:
            update["common_share"] = changes.common_share
        return self.model_copy(update=update)


def load_margins(path: Path | None = None) -> Margins:
    """The margins that ship with this version, changed by those in ``path``.

    Raises ConfigError with every problem of the file.
    """
    shipped = _shipped()
    return shipped if path is None else shipped.with_changes(load_model(path, Margins))


@cache
def _shipped() -> Margins:
    with as_file(files("gauntlet.analyzer.comparison").joinpath("margins.yaml")) as path:
        return load_model(path, Margins)
