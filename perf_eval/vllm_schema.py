"""What a workload file of vLLM's perf-eval holds. Unknown keys are kept, to be reported."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue


class Loose(BaseModel):
    """Keeps keys that it does not know, so that nothing is lost without a word."""

    model_config = ConfigDict(extra="allow", frozen=True)

    @property
    def unknown(self) -> list[str]:
        """Keys that have no meaning here."""
        return sorted(self.model_extra or {})


class Server(Loose):
    """``vllm``: the server."""

    model: str = ""
    image: str | None = None
    env: dict[str, Any] = Field(default_factory=dict)
    serve_args: str = ""


class BenchMetadata(Loose):
    """``vllm_bench.metadata``: what upstream would otherwise guess."""

    device: str | None = None
    tp: int | None = None
    precision: str | None = None


class BenchConfig(Loose):
    """One of ``vllm_bench.configs``."""

    name: str
    input_len: int
    output_len: int
    num_prompts: int | list[int]
    max_concurrency: int | list[int]
    backend: str | None = None
    dataset: str = "random"
    repetitions: int = 1
    args: dict[str, JsonValue] | None = None
    speed_bench_dataset_subset: str | None = None
    speed_bench_category: str | None = None


class Bench(Loose):
    """``vllm_bench``: the loads."""

    metadata: BenchMetadata | None = None
    configs: list[BenchConfig] = Field(default_factory=list)


class LmEvalEntry(Loose):
    """One of ``lm_eval.tasks``."""

    name: str
    num_fewshot: int = 0
    model_args: dict[str, JsonValue] | None = None


class LmEval(Loose):
    """``lm_eval``: accuracy tasks, with arguments that hold for all of them."""

    model_args: dict[str, JsonValue] | None = None
    tasks: list[LmEvalEntry] = Field(default_factory=list)


class Bfcl(Loose):
    """``bfcl``: function-calling categories."""

    test_categories: list[str] = Field(min_length=1)
    num_threads: int = 8
    temperature: float = 0.001
    maximum_step_limit: int | None = None
    max_test_cases: int | dict[str, int] | None = None


class VllmWorkload(Loose):
    """The whole file."""

    name: str | None = None
    gpu: str
    num_gpus: int = 1
    nightly: bool = False
    timeout_in_minutes: int | float = 120
    bench_only: bool = False
    vllm: Server = Server()
    lm_eval: LmEval | None = None
    vllm_bench: Bench | None = None
    bfcl: Bfcl | None = None
