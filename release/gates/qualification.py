"""Gate policies: which verdicts each gate needs, and which of them it accepts."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from gauntlet.core.errors import unknown_name
from gauntlet.core.yaml_file import StrictModel, load_model

Acceptable = Literal["better", "same"]


class GateRule(StrictModel):
    """One gate: patterns (``*`` matches any text) of the verdict subjects that it weighs."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]*$")]
    verdicts: tuple[str, ...] = Field(min_length=1)
    accept: tuple[Acceptable, ...] = ("better", "same")


class Policy(StrictModel):
    """All gates of one kind of release."""

    name: str
    gates: tuple[GateRule, ...] = Field(min_length=1)


def load_policy(name_or_path: str = "qualification") -> Policy:
    """Load a policy that ships with this version by name, or from a file.

    Raises UsageError for an unknown name and ConfigError with every problem in the file.
    """
    folder = Path(__file__).parent
    if name_or_path.endswith((".yaml", ".yml")):
        return load_model(Path(name_or_path), Policy)
    known = [path.stem for path in folder.glob("*.yaml")]
    if name_or_path not in known:
        raise unknown_name("policy", name_or_path, known, hint="or give the path of a .yaml file")
    return load_model(folder / f"{name_or_path}.yaml", Policy)
