"""By which paths, labels and words of titles a change belongs to an area."""

from typing import Self

from pydantic import Field, model_validator

from gauntlet.core.yaml_file import StrictModel


class AreaRule(StrictModel):
    """One entry of ``areas``; the first that a change matches is its area."""

    name: str = Field(min_length=1)
    labels: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()
    """Tags at the begin of titles, without brackets: ``Kernel`` for ``[Kernel] Make it fast``."""
    paths: tuple[str, ...] = ()
    """Patterns of paths; ``*`` matches any text. Most of a change's paths have to match."""

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not (self.labels or self.titles or self.paths):
            msg = f"the area {self.name} needs labels, titles or paths"
            raise ValueError(msg)
        return self
