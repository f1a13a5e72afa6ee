"""``gauntlet simulator``: serve a simulated engine."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from gauntlet.harness.simulator.config import SimulatorConfig
    from gauntlet.harness.simulator.server import Listening


@click.command()
@click.option(
    "--config",
    "config_name",
    default="baseline",
    show_default=True,
    metavar="FILE",
    help="YAML file, or the name of a shipped one: baseline, slower-decode.",
)
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=0, show_default="any free one", type=click.IntRange(0, 65_535))
@click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="Override one key, such as timing.decode_step_ms=6.5. Repeatable.",
)
@click.option(
    "--knowledge",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="JSON Lines file with questions and answers, added to those of the file. Repeatable.",
)
@click.option(
    "--port-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the port here, once it listens.",
)
@click.option("--print-config", is_flag=True, help="Print the effective configuration and end.")
def simulator(
    config_name: str,
    host: str,
    port: int,
    overrides: tuple[str, ...],
    knowledge: tuple[Path, ...],
    port_file: Path | None,
    print_config: bool,
) -> int:
    """Serve an OpenAI-compatible engine that is as fast, right and broken as it is told.

    Prints one JSON line once it listens. SIGTERM and SIGINT end it with status 0.
    """
    from gauntlet.harness.simulator.config import config_path, load_config

    path = Path(config_name)
    if path.suffix not in {".yaml", ".yml"} and not path.exists():
        path = config_path(config_name)
    config = load_config(path, overrides=overrides, knowledge=knowledge)
    if print_config:
        _print_config(config)
        return 0
    return _serve(config, host, port, port_file)


def _print_config(config: "SimulatorConfig") -> None:
    import yaml

    text = yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False, allow_unicode=True)
    click.echo(text, nl=False)


def _serve(config: "SimulatorConfig", host: str, port: int, port_file: Path | None) -> int:
    from gauntlet.core.files import write_atomic
    from gauntlet.harness.simulator.knowledge import load_knowledge
    from gauntlet.harness.simulator.server import bind, serve

    if config.faults.die_at_start:
        click.echo("RuntimeError: simulated failure of the engine's initialisation", err=True)
        return 1
    known = load_knowledge(config.answers.knowledge)

    def announce(where: "Listening") -> None:
        if port_file is not None:
            write_atomic(port_file, f"{where.port}\n")
        event = {"event": "listening", "host": where.host, "port": where.port, "pid": os.getpid()}
        click.echo(json.dumps(event))

    serve(config, known, bind(host, port), announce)
    return 0
