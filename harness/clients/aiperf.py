"""AIPerf, in an environment of its own."""

from dataclasses import dataclass
from pathlib import Path

from gauntlet.harness.clients.port import ClientLoad, Invocation
from gauntlet.harness.clients.programs import find_program, version_of
from gauntlet.warehouse.results.bench import read_bench
from gauntlet.warehouse.results.bench_report import BenchReport

_RESULT = "profile_export_aiperf.json"
HOW = (
    "not installed: `python -m venv V; V/bin/pip install aiperf==0.13.0`, then give --aiperf-venv V"
)


@dataclass(frozen=True, slots=True)
class Aiperf:
    """``aiperf profile``; ``place`` is its environment, or None for PATH."""

    place: Path | None = None
    name: str = "aiperf"

    @property
    def program(self) -> Path | None:
        """The program, where there is one."""
        return find_program("aiperf", self.place)

    def available(self) -> str | None:
        """Say how to get it, or None where it is installed."""
        return None if self.program else HOW

    def version(self) -> str:
        """Its version."""
        return version_of(self.program, "aiperf") if self.program else ""

    def plan(self, load: ClientLoad, folder: Path) -> Invocation:
        """Plan one run: the server's token counts, one prompt per request, no scraping."""
        options = {
            "--model": load.model,
            "--url": load.base_url,
            "--endpoint-type": "completions",
            "--tokenizer": str(load.tokenizer),
            "--request-count": str(load.requests),
            "--num-dataset-entries": str(load.requests),
            "--isl": str(load.input_tokens),
            "--isl-stddev": "0",
            "--osl": str(load.output_tokens),
            "--osl-stddev": "0",
            "--random-seed": str(load.seed),
            "--artifact-dir": str(folder),
            "--ui": "none",
            **_arrivals(load),
        }
        argv = [str(self.program or self.name), "profile"]
        argv += [word for pair in options.items() for word in pair]
        argv += ["--streaming", "--use-legacy-max-tokens", "--use-server-token-count"]
        argv += ["--extra-inputs", "ignore_eos:true", "--extra-inputs", "temperature:0"]
        argv += ["--no-gpu-telemetry", "--no-server-metrics"]
        # Offline mode takes a tokenizer's folder for the name of a repository, and fails; any
        # text at all in these, even 0, is offline mode.
        env = {"HF_HUB_OFFLINE": "", "TRANSFORMERS_OFFLINE": ""}
        return Invocation(argv=tuple(argv), env=env, result=folder / _RESULT)

    def read(self, text: str, file: str) -> BenchReport:
        """Read its result file."""
        return read_bench(text, file=file)


def _arrivals(load: ClientLoad) -> dict[str, str]:
    found = {}
    if load.rate is not None:
        found = {"--request-rate": f"{load.rate:g}", "--arrival-pattern": "constant"}
    if load.concurrency is not None:
        found["--concurrency"] = str(load.concurrency)
    return found
