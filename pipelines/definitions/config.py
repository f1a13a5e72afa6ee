"""A pipeline's own configuration, in whichever language it is written."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from gauntlet.core.errors import ConfigError, Problem
from gauntlet.core.yaml_file import YamlDocument, parse_yaml, validate_model
from gauntlet.pipelines.definitions import vllm
from gauntlet.pipelines.definitions.job import LabelRule, Tier
from gauntlet.pipelines.definitions.models import CiConfig, Repositories
from gauntlet.pipelines.definitions.native_models import MARKER, NativeConfig

# A pipeline of one file has its steps at the top level and names no folders. Told by a look at
# the text, because parsing the older AMD pipeline takes a good part of a second.
_STEPS = re.compile(r"^steps:", re.MULTILINE)
_FOLDERS = re.compile(r"^job_dirs:", re.MULTILINE)

Language = Literal["vllm", "native", "legacy"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinitionFile:
    """One file, by its path in the source tree. Bytes that are not UTF-8 survive as surrogates."""

    path: str
    text: str

    @property
    def sha256(self) -> str:
        """Hash of the bytes on disk, in hex."""
        return hashlib.sha256(self.text.encode("utf-8", "surrogateescape")).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineConfig:
    """What a pipeline is made of and when all of it runs.

    ``elsewhere`` None: the files of other pipelines are known by vLLM's layout.
    """

    name: str
    language: Language
    job_dirs: tuple[str, ...] = ()
    run_all_patterns: tuple[str, ...] = ()
    run_all_exclude_patterns: tuple[str, ...] = ()
    labels: Mapping[str, LabelRule] = field(default_factory=dict)
    elsewhere: tuple[str, ...] | None = None
    registry: str | None = None
    repositories: Mapping[str, str] = field(default_factory=dict)


def parse_config(file: DefinitionFile) -> PipelineConfig:
    """Parse the configuration. Raises ConfigError with every problem in it."""
    check_text(file)
    if _STEPS.search(file.text) and not _FOLDERS.search(file.text):
        name = file.path.rpartition("/")[2].partition(".")[0]
        return PipelineConfig(name=name, language="legacy", labels=vllm.LABELS)
    document = parse_yaml(file.text, file=file.path)
    return _native(document) if is_native(document) else _vllm(document)


def check_text(file: DefinitionFile) -> None:
    """Raise ConfigError where a file is not UTF-8 text."""
    try:
        file.text.encode()
    except UnicodeEncodeError as error:
        line = file.text.count("\n", 0, error.start) + 1
        problem = Problem(file=file.path, line=line, message="not UTF-8 text")
        raise ConfigError([problem]) from error


def is_native(document: YamlDocument) -> bool:
    """Whether a document says that it is in Gauntlet's own language."""
    return isinstance(document.value, dict) and MARKER in document.value


def _vllm(document: YamlDocument) -> PipelineConfig:
    model = validate_model(document, CiConfig)
    return PipelineConfig(
        name=model.name,
        language="vllm",
        job_dirs=model.job_dirs,
        run_all_patterns=model.run_all_patterns,
        run_all_exclude_patterns=model.run_all_exclude_patterns,
        labels=vllm.LABELS,
        registry=model.registries,
        repositories=_repositories(model.repositories),
    )


def _native(document: YamlDocument) -> PipelineConfig:
    model = validate_model(document, NativeConfig)
    labels = {
        name: LabelRule(
            tier=Tier[label.tier.upper()] if label.tier else None, run_all=label.run_all
        )
        for name, label in model.labels.items()
    }
    return PipelineConfig(
        name=model.name,
        language="native",
        job_dirs=model.job_dirs,
        run_all_patterns=model.run_all_patterns,
        run_all_exclude_patterns=model.run_all_exclude_patterns,
        labels=labels,
        elsewhere=model.elsewhere,
        registry=model.registries,
        repositories=_repositories(model.repositories),
    )


def _repositories(model: Repositories | None) -> dict[str, str]:
    return model.model_dump() if model else {}
