"""How many GPUs a stored repetition was measured on: what its run's recipe says."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from pydantic import ValidationError

from gauntlet.core.errors import ConfigError
from gauntlet.perf_eval.expand import Variant, expand
from gauntlet.perf_eval.recipe import Recipe
from gauntlet.warehouse.store import Store

# (point, side) of a repetition.
_Key = tuple[str, str]


def gpus_measured_on(store: Store, rows: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """GPUs by repetition id; those are absent whose recipe does not say, or is not kept."""
    definitions: dict[str, str] = {}
    for run_id in dict.fromkeys(row["run_id"] for row in rows):
        found = store.query("run", run_id=run_id)
        definitions[run_id] = found[0]["recipe_definition"] if found else ""
    counts: dict[str, int] = {}
    for row in rows:
        by_variant = _gpus_of(definitions[row["run_id"]])
        side = "" if row["side"] == "single" else row["side"]
        gpus = _lookup(by_variant, str(row["point"]), side)
        if gpus:
            counts[row["repetition_id"]] = gpus
    return counts


def _lookup(by_variant: Mapping[_Key, int], point: str, side: str) -> int | None:
    """A point is the variant's label, a comma, and what else is varied; either may be empty."""
    for label, of_side in sorted(by_variant, key=lambda key: -len(key[0])):
        if of_side in (side, "") and (not label or point == label or point.startswith(f"{label},")):
            return by_variant[label, of_side]
    return None


@lru_cache(maxsize=64)
def _gpus_of(definition: str) -> Mapping[_Key, int]:
    """GPUs by variant and side. Nothing for a recipe that is not kept, or of an older kind."""
    try:
        variants = expand(Recipe.model_validate_json(definition)).variants
    except (ValidationError, ConfigError):
        return {}
    counts = {(variant.label, variant.side): _gpus(variant) for variant in variants}
    return {key: count for key, count in counts.items() if count}


def _gpus(variant: Variant) -> int | None:
    return variant.gpus or (variant.hardware.count if variant.hardware else None)
