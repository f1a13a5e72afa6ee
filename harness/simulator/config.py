"""What a simulated engine is: one small strict YAML file, every key with a default and a unit."""

from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from gauntlet.core.errors import UsageError, unknown_name
from gauntlet.core.yaml_file import (
    KeyPath,
    StrictModel,
    YamlDocument,
    load_yaml,
    parse_yaml,
    validate_model,
)

Share = Annotated[float, Field(ge=0, le=1)]
Milliseconds = Annotated[float, Field(ge=0, le=600_000)]
Seconds = Annotated[float, Field(ge=0, le=86_400)]
EveryNth = Annotated[int, Field(ge=0, description="on every N-th request; 0 is never")]
Count = Annotated[int, Field(ge=1)]


class SchedulerConfig(StrictModel):
    """Limits of one engine step."""

    max_num_seqs: Count = 256
    # Tokens one step may compute, decode and chunked prefill together.
    max_num_batched_tokens: Count = 8192


class KvCacheConfig(StrictModel):
    """Size of the KV cache: ``blocks`` blocks of ``block_size`` tokens."""

    blocks: Count = 8192
    block_size: Count = 16
    prefix_caching: bool = True


class TimingConfig(StrictModel):
    """What a step costs; see :mod:`gauntlet.harness.simulator.scheduler` for the formula."""

    # Between a request's arrival and the scheduler seeing it.
    request_overhead_ms: Milliseconds = 2.0
    # Per prompt token that the prefix cache does not hold.
    prefill_ms_per_token: Milliseconds = 0.02
    # Base cost of a step with any work in it.
    decode_step_ms: Milliseconds = 8.0
    # Added per sequence that decodes in the step.
    decode_ms_per_seq: Milliseconds = 0.02
    # Coefficient of variation of the noise that each step's cost is multiplied with.
    noise_cv: Annotated[float, Field(ge=0, le=5)] = 0.0
    # The engine slows down (or, negative, speeds up) by this much of its first speed a minute.
    drift_percent_per_minute: Annotated[float, Field(ge=-100, le=1000)] = 0.0
    # From listening to the first healthy answer.
    startup_s: Seconds = 0.0


class AnswersConfig(StrictModel):
    """What the engine knows, and how often it is right."""

    # JSON Lines; relative paths are relative to the YAML file.
    knowledge: tuple[str, ...] = ()
    accuracy: Share = 0.9
    tool_accuracy: Share = 0.9
    # Share of calls whose answer turns from right to wrong, or back, at random.
    flip_rate: Share = 0.0
    # Mean number of filler tokens before a known answer.
    verbosity: Annotated[float, Field(ge=0, le=10_000)] = 24.0
    # Mean number of tokens of an answer to an unknown question.
    free_text_tokens: Annotated[float, Field(ge=1, le=100_000)] = 128.0


class FaultsConfig(StrictModel):
    """What goes wrong on purpose; everything is off by default."""

    never_healthy: bool = False
    die_at_start: bool = False
    # The process ends with status 1 in the middle of this request's response.
    die_after_requests: EveryNth = 0
    http_503_every: EveryNth = 0
    refuse_every: EveryNth = 0
    reset_mid_stream_every: EveryNth = 0
    stall_mid_stream_every: EveryNth = 0
    error_event_every: EveryNth = 0
    empty_stream_every: EveryNth = 0
    truncate_every: EveryNth = 0
    # Counts tool calls, not requests.
    wrong_tool_call_every: EveryNth = 0
    leak_mb_per_request: Annotated[float, Field(ge=0, le=1024)] = 0.0
    # Added to ``timing.startup_s``.
    slow_start_s: Seconds = 0.0


class SimulatorConfig(StrictModel):
    """A simulated build of an engine."""

    # Build label, the answer of ``/version``.
    name: Annotated[str, Field(min_length=1)] = "simulator"
    # The served model's name.
    model: Annotated[str, Field(min_length=1)] = "simulated-model"
    seed: int = 0
    max_model_len: Count = 32_768
    # Whether ``/reset_prefix_cache`` and ``/server_info`` are served, which vLLM hides by default.
    dev_mode: bool = True
    scheduler: SchedulerConfig = SchedulerConfig()
    kv_cache: KvCacheConfig = KvCacheConfig()
    timing: TimingConfig = TimingConfig()
    answers: AnswersConfig = AnswersConfig()
    faults: FaultsConfig = FaultsConfig()

    @model_validator(mode="after")
    def _one_sequence_fits(self) -> Self:
        held = self.kv_cache.blocks * self.kv_cache.block_size
        if held < self.max_model_len:
            msg = (
                f"kv_cache holds {held} tokens (blocks x block_size), fewer than max_model_len "
                f"{self.max_model_len}: enlarge kv_cache.blocks or lower max_model_len"
            )
            raise ValueError(msg)
        return self


def config_path(name: str) -> Path:
    """Path of a configuration that ships with the simulator, by its name without ``.yaml``.

    Raises UsageError for an unknown name.
    """
    folder = Path(str(resources.files("gauntlet.harness.simulator") / "configs"))
    path = folder / f"{name}.yaml"
    if not path.is_file():
        kind, known = "simulator configuration", (item.stem for item in folder.glob("*.yaml"))
        raise unknown_name(kind, name, known)
    return path


def load_config(
    path: Path, *, overrides: tuple[str, ...] = (), knowledge: tuple[Path, ...] = ()
) -> SimulatorConfig:
    """Read a configuration, apply ``key.path=value`` overrides and add knowledge files.

    The result holds absolute paths of knowledge files. Raises ConfigError with every problem in
    the file, or UsageError for an override that is not of the form ``key=value``.
    """
    document = load_yaml(path)
    if document.value is None:
        document = YamlDocument(document.file, {}, {})
    config = validate_model(document, SimulatorConfig)
    if overrides:
        config = _overridden(document, overrides)
    base = path.resolve().parent
    named = [str(base / item) for item in config.answers.knowledge]
    named += [str(item.resolve()) for item in knowledge]
    answers = config.answers.model_copy(update={"knowledge": tuple(named)})
    return config.model_copy(update={"answers": answers})


def _overridden(document: YamlDocument, overrides: tuple[str, ...]) -> SimulatorConfig:
    """Validate again with the overrides in place; the file alone was found valid before."""
    value: dict[str, Any] = dict(document.value)
    for text in overrides:
        path, scalar = _parse_override(text)
        level = value
        for part in path[:-1]:
            inner = level.get(str(part))
            level[str(part)] = dict(inner) if isinstance(inner, dict) else {}
            level = level[str(part)]
        level[str(path[-1])] = scalar
    return validate_model(YamlDocument("--set", value, {}), SimulatorConfig)


def _parse_override(text: str) -> tuple[KeyPath, Any]:
    key, equals, raw = text.partition("=")
    if not equals or not all(key.split(".")):
        msg = f"--set {text!r} is not of the form key.path=value"
        raise UsageError(msg, hint="for example --set timing.decode_step_ms=6.5")
    return tuple(key.split(".")), parse_yaml(raw, file=f"--set {key}").value
