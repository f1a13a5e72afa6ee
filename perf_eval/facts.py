"""Known facts about models and accelerators, kept as data next to this module."""

from functools import cache
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from gauntlet.core.yaml_file import StrictModel, load_model
from gauntlet.perf_eval.topology import Hardware

CPU = "cpu"
_Count = Annotated[int, Field(ge=1)]


class ModelFacts(StrictModel):
    """How a model can be divided; see the head of ``models.yaml``."""

    ids: tuple[str, ...]
    attention: Literal["mla", "gqa", "other"]
    heads: _Count
    kv_heads: _Count | None = None
    experts: Annotated[int, Field(ge=0)]

    @model_validator(mode="after")
    def _kv_heads_with_gqa(self) -> Self:
        if (self.attention == "gqa") != (self.kv_heads is not None):
            msg = "kv_heads belongs to attention gqa, and to no other"
            raise ValueError(msg)
        return self


class AcceleratorFacts(StrictModel):
    """What one device is."""

    vendor: Literal["nvidia", "amd"]
    memory_gb: float
    dies: _Count


class _Models(StrictModel):
    models: tuple[ModelFacts, ...]


class _Accelerators(StrictModel):
    accelerators: dict[str, AcceleratorFacts]


@cache
def _models() -> dict[str, ModelFacts]:
    found = load_model(Path(__file__).with_name("models.yaml"), _Models).models
    return {name: facts for facts in found for name in facts.ids}


@cache
def _accelerators() -> dict[str, AcceleratorFacts]:
    return load_model(Path(__file__).with_name("accelerators.yaml"), _Accelerators).accelerators


def model_facts(model: str | None) -> ModelFacts | None:
    """Facts about a model by its id, None where it is not listed."""
    return _models().get(model) if model else None


def accelerator_facts(name: str) -> AcceleratorFacts | None:
    """Facts about an accelerator by its name, None where it is not listed."""
    return _accelerators().get(name)


def dies_per_device(hardware: Hardware) -> int | None:
    """Compute dies of one device: as the recipe says, else as known, else None."""
    if hardware.dies_per_device is not None:
        return hardware.dies_per_device
    facts = accelerator_facts(hardware.accelerator)
    return facts.dies if facts else None
