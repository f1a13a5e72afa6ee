"""GuideLLM, in an environment of its own."""

import json
from dataclasses import dataclass
from pathlib import Path

from gauntlet.harness.clients.port import ClientLoad, Invocation
from gauntlet.harness.clients.programs import find_program, version_of
from gauntlet.warehouse.results.bench import read_bench
from gauntlet.warehouse.results.bench_report import BenchReport

_RESULT = "guidellm.json"
HOW = (
    "not installed: `python -m venv V; V/bin/pip install guidellm==0.8.1`, then give "
    "--guidellm-venv V"
)


@dataclass(frozen=True, slots=True)
class Guidellm:
    """``guidellm run``; ``place`` is its environment, or None for PATH."""

    place: Path | None = None
    name: str = "guidellm"

    @property
    def program(self) -> Path | None:
        """The program, where there is one."""
        return find_program("guidellm", self.place)

    def available(self) -> str | None:
        """Say how to get it, or None where it is installed."""
        return None if self.program else HOW

    def version(self) -> str:
        """Its version."""
        return version_of(self.program, "guidellm") if self.program else ""

    def plan(self, load: ClientLoad, folder: Path) -> Invocation:
        """Plan one run. Each option is an object, written as JSON so that no value can split it."""
        backend = {
            "kind": "openai_http",
            "target": load.base_url,
            "model": load.model,
            "request_format": "/v1/completions",
        }
        data = {
            "kind": "synthetic_text",
            "prompt_tokens": load.input_tokens,
            "output_tokens": load.output_tokens,
        }
        options: dict[str, dict[str, object]] = {
            "--backend": {**backend},
            "--profile": _profile(load),
            "--constraint": {"kind": "max_requests", "count": load.requests},
            "--tokenizer": {"kind": "hf_auto", "model": str(load.tokenizer)},
            "--data": {**data},
            "--seed": {"kind": "static", "value": load.seed},
            "--output": {"kind": "json", "path": str(folder / _RESULT)},
        }
        argv = [str(self.program or self.name), "run"]
        for name, value in options.items():
            argv += [name, json.dumps(value)]
        argv.append("--disable-console-interactive")
        env = {"HF_HUB_OFFLINE": "1", "NO_COLOR": "1"}
        return Invocation(argv=tuple(argv), env=env, result=folder / _RESULT)

    def read(self, text: str, file: str) -> BenchReport:
        """Read its result file."""
        return read_bench(text, file=file)


def _profile(load: ClientLoad) -> dict[str, object]:
    if load.rate is None:
        return {"kind": "concurrent", "streams": [load.concurrency]}
    profile: dict[str, object] = {"kind": "constant", "rate": [load.rate]}
    return profile | ({"max_concurrency": load.concurrency} if load.concurrency else {})
