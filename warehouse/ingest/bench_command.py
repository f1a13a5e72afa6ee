"""``gauntlet ingest bench``."""

import gzip
from pathlib import Path
from typing import Any

import click

from gauntlet.warehouse.ingest.identity_options import identity_options, pairs_of
from gauntlet.warehouse.ingest.outcome import Ingest, Target, files_below, target_options


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@identity_options
@click.option("--timezone", default="UTC", show_default=True, help="Of the client's clock.")
@target_options
def bench(
    paths: tuple[Path, ...],
    timezone: str,
    settings: tuple[str, ...],
    target: Target,
    **identity: Any,  # noqa: ANN401
) -> None:
    """Bring in results of vllm bench serve, vllm-rs, InferenceX, AIPerf, GuideLLM, inference-perf.

    A file that contradicts itself (no request completed, negative latencies, a rate that the
    latencies do not allow) becomes a repetition that is marked invalid, with the reasons.
    """
    from gauntlet.core.clock import utc_now
    from gauntlet.warehouse.results.bench_rows import bench_batch
    from gauntlet.warehouse.results.identity import Identity, UnreadableResultError

    who = Identity(settings=pairs_of(settings, "--set"), **identity)
    zone = zone_named(timezone)
    ingest = Ingest.to(target)
    for path in files_below(paths, ".json", ".json.gz"):
        data = path.read_bytes()
        try:
            plain = gzip.decompress(data) if path.suffix == ".gz" else data
            batch, row = bench_batch(plain, file=str(path), identity=who, zone=zone, now=utc_now())
        except (UnreadableResultError, OSError, EOFError) as error:
            ingest.refuse(f"{path}: {error}" if isinstance(error, OSError) else str(error))
            continue
        ingest.keep_judged(batch, path, row.reasons)
    ingest.finish()


def zone_named(name: str) -> Any:  # noqa: ANN401
    """Find a time zone. Raises UsageError for a name that is none."""
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    from gauntlet.core.errors import UsageError

    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        hint = "a name of the IANA database, such as UTC or Asia/Shanghai"
        raise UsageError(f"--timezone {name}: no such zone", hint=hint) from error
