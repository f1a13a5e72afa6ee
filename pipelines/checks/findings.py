"""What a check says: where in the pipeline, what is wrong, what would be right."""

from dataclasses import dataclass

from gauntlet.core.errors import Problem
from gauntlet.core.yaml_file import KeyPath, YamlDocument


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing wrong; ``where`` names the step or key for people, ``path`` finds its line."""

    path: KeyPath
    where: str
    message: str
    value: str | None = None
    nearest: str | None = None

    def problem(self, document: YamlDocument) -> Problem:
        """Say it as a problem of the file that the pipeline is in."""
        return Problem(
            file=document.file,
            line=document.line(self.path),
            key=self.where,
            message=self.message,
            value=self.value,
            nearest=self.nearest,
        )
