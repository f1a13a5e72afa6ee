"""The reference explains every field that definitions may have."""

from pathlib import Path

import pytest

from gauntlet.pipelines.definitions.legacy import LegacyFile, LegacyStep
from gauntlet.pipelines.definitions.models import (
    CiConfig,
    JobFile,
    MirrorModel,
    Mirrors,
    Repositories,
    StepModel,
)
from gauntlet.pipelines.definitions.native_models import (
    NativeConfig,
    NativeFile,
    NativeJob,
    NativeLabel,
)

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "pipelines.md"
VLLM, LEGACY, OWN = "## vLLM: the configuration", "## vLLM: the older", "## Gauntlet's own"


@pytest.mark.parametrize(
    ("model", "begin", "end"),
    [
        *((model, VLLM, LEGACY) for model in (CiConfig, Repositories, JobFile, StepModel)),
        *((model, "### Mirrors", LEGACY) for model in (Mirrors, MirrorModel)),
        *((model, VLLM, OWN) for model in (LegacyFile, LegacyStep)),
        *((m, OWN, "### Migration") for m in (NativeConfig, NativeLabel, NativeFile, NativeJob)),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_every_field_is_explained(model, begin, end):
    text = PAGE.read_text()
    part = text[text.index(begin) : text.index(end)]
    names = {info.alias or name for name, info in model.model_fields.items()}
    missing = {
        n for n in names if f"`{n}`" not in part and f"{n}:" not in part and f".{n}`" not in part
    }
    assert missing == set()
