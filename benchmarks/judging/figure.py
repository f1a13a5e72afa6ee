"""One figure of the benchmark: what was measured, what is wanted, what others reach."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A measured value with its goal.

    ``anchors`` holds the same figure of other programs, measured in the same run. ``goal`` None:
    shown for information only. ``note`` says how it was measured (series, seeds).
    """

    area: str
    name: str
    value: float
    unit: str = ""
    goal: float | None = None
    better: Literal["higher", "lower"] = "higher"
    anchors: Mapping[str, float] = field(default_factory=dict)
    note: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the goal is reached; None without a goal."""
        if self.goal is None:
            return None
        return self.value >= self.goal if self.better == "higher" else self.value <= self.goal
