"""``gauntlet bench clients``: several load clients, one server, one table."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gauntlet.core.errors import ExitCode

if TYPE_CHECKING:
    from gauntlet.harness.clients.compare import ClientRun

_PLACE = click.Path(path_type=Path, exists=True)


def _numbers(_context: object, _parameter: object, given: tuple[str, ...]) -> tuple[int, ...]:
    words = [word.strip() for text in given for word in text.split(",")]
    if not all(word.isdecimal() and int(word) for word in words):
        message = f"{','.join(given)} is not a list of whole numbers from 1 on, such as 1,16,64"
        raise click.BadParameter(message)
    return tuple(map(int, words))


@click.command()
@click.option("--base-url", metavar="URL", help="Server to measure, without /v1.")
@click.option("--known-timing", is_flag=True, help="Start a server whose timing is known instead.")
@click.option("--ttft-ms", type=click.FloatRange(0.1), default=50.0, show_default=True)
@click.option("--itl-ms", type=click.FloatRange(0.1), default=10.0, show_default=True)
@click.option(
    "--concurrency",
    multiple=True,
    callback=_numbers,
    metavar="N[,N...]",
    help="Streams of a closed loop, or the most in flight with --rate. Repeatable.",
)
@click.option("--rate", type=click.FloatRange(0, min_open=True), help="Requests a second.")
@click.option("--requests", type=click.IntRange(1), help="Default: 4 x concurrency, or 10 s.")
@click.option("--input-tokens", type=click.IntRange(1), default=32, show_default=True)
@click.option("--output-tokens", type=click.IntRange(1), default=64, show_default=True)
@click.option("--repetitions", type=click.IntRange(1), default=1, show_default=True)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--model", help="Model to ask for. Default: the first that the server names.")
@click.option(
    "--tokenizer",
    type=_PLACE,
    help="Folder of the model's tokenizer, for clients that send text. Default: plain words.",
)
@click.option(
    "--client",
    "names",
    multiple=True,
    help="own, vllm-rs, vllm, aiperf or guidellm; repeatable. Default: all that are installed.",
)
@click.option("--engine-venv", type=_PLACE, help="Environment with `vllm`.")
@click.option("--vllm-rs", type=_PLACE, help="The program, or a folder with vLLM's wheel unpacked.")
@click.option("--aiperf-venv", type=_PLACE, help="Environment with `aiperf`.")
@click.option("--guidellm-venv", type=_PLACE, help="Environment with `guidellm`.")
@click.option("--workers", type=click.IntRange(1), help="Worker processes of our own client.")
@click.option(
    "--time-limit",
    type=click.FloatRange(1),
    default=600.0,
    show_default=True,
    help="Seconds after which a client is killed, and its run is invalid.",
)
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Keep results here.")
@click.option("--json", "as_json", is_flag=True, help="Print one object for each run.")
def clients(
    *,
    base_url: str | None,
    known_timing: bool,
    ttft_ms: float,
    itl_ms: float,
    concurrency: tuple[int, ...],
    rate: float | None,
    requests: int | None,
    input_tokens: int,
    output_tokens: int,
    repetitions: int,
    seed: int,
    model: str | None,
    tokenizer: Path | None,
    names: tuple[str, ...],
    engine_venv: Path | None,
    vllm_rs: Path | None,
    aiperf_venv: Path | None,
    guidellm_venv: Path | None,
    workers: int | None,
    time_limit: float,
    out: Path | None,
    as_json: bool,
) -> int:
    """Measure one server with every load client that is installed, side by side.

    Ends with status 5 where a client's result is invalid, whatever status the client ended with.
    """
    from gauntlet.harness.clients.catalog import LoadRequest, Places
    from gauntlet.harness.clients.session import ClientsRequest, compare_clients
    from gauntlet.harness.clients.table import as_data, render

    request = ClientsRequest(
        base_url=base_url,
        known_timing=known_timing,
        ttft_ms=ttft_ms,
        itl_ms=itl_ms,
        load=LoadRequest(
            concurrencies=concurrency,
            rate=rate,
            requests=requests,
            input_tokens=input_tokens,
            output_tokens=output_tokens,
            seed=seed,
        ),
        places=Places(
            engine_venv=engine_venv,
            vllm_rs=vllm_rs,
            aiperf_venv=aiperf_venv,
            guidellm_venv=guidellm_venv,
            workers=workers,
        ),
        names=names,
        repetitions=repetitions,
        model=model,
        tokenizer=tokenizer,
        time_limit_s=time_limit,
        out=out,
    )
    runs = compare_clients(request, tell=_tell)
    lines = [json.dumps(each) for each in as_data(runs)] if as_json else [render(runs)]
    click.echo("\n".join(lines))
    invalid = any(run.result.status == "invalid" for run in runs)
    return ExitCode.INVALID_MEASUREMENT if invalid else ExitCode.OK


def _tell(run: "ClientRun") -> None:
    """Say on stderr what is done: some clients take half a minute to start."""
    result = run.result
    lines = [f"{run.load.label}, repetition {run.repetition + 1}: {result.client} {result.status}"]
    if result.status == "invalid":
        lines += [f"  {reason}" for reason in result.reasons]
        lines += [f"  | {line}" for line in result.tail.splitlines()]
    click.echo("\n".join(lines), err=True)
