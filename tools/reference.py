"""Write the generated part of docs/reference: the command line and the JSON schemas.

``--check`` writes nothing and exits 1 where a committed file differs from what it would write.
"""

import argparse
import json
import sys
from pathlib import Path

import click

from gauntlet.analyzer.acting.policy import Policy as ActingPolicy
from gauntlet.analyzer.comparison.margins import Margins
from gauntlet.analyzer.failures.rules import RuleFile
from gauntlet.cli import COMMANDS, gauntlet
from gauntlet.harness.simulator.config import SimulatorConfig
from gauntlet.images.model import Bases, ImagesManifest
from gauntlet.perf_eval.recipe import Recipe
from gauntlet.release.gates.qualification import Policy
from gauntlet.release.matrix.model import Matrix
from gauntlet.release.policy import ReleasePolicy
from gauntlet.release.ship.record import Record

REFERENCE = Path(__file__).resolve().parent.parent / "docs" / "reference"
SCHEMAS = {
    "recipe": Recipe,
    "simulator": SimulatorConfig,
    "policy": Policy,
    "margins": Margins,
    "acting": ActingPolicy,
    "failure-rules": RuleFile,
    "release-policy": ReleasePolicy,
    "release-matrix": Matrix,
    "release-record": Record,
    "images": ImagesManifest,
    "image-bases": Bases,
}


def command_line() -> str:
    """Help texts of every command as one Markdown page."""
    parts = [
        "# Command line",
        "Generated from the program by `tools/reference.py`; stdout is data, stderr is for people.",
        _help(gauntlet, "gauntlet"),
    ]
    for name in COMMANDS:
        command = gauntlet.get_command(click.Context(gauntlet), name)
        parts += _pages(command, f"gauntlet {name}")
    return "\n\n".join(parts) + "\n"


def _pages(command: click.Command | None, path: str, level: int = 2) -> list[str]:
    if command is None:
        return []
    pages = [f"{'#' * level} {path}", _help(command, path)]
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            # Lazy groups hold no commands, they look them up.
            inner = command.get_command(context, name)
            pages += _pages(inner, f"{path} {name}", level + 1)
    return pages


def _help(command: click.Command, path: str) -> str:
    with click.Context(command, info_name=path, terminal_width=88, max_content_width=88) as context:
        return f"```text\n{command.get_help(context)}\n```"


def pages() -> dict[Path, str]:
    """Every generated file with its text."""
    found = {REFERENCE / "cli.md": command_line()}
    for name, model in SCHEMAS.items():
        text = json.dumps(model.model_json_schema(), indent=2, sort_keys=True)
        found[REFERENCE / "schemas" / f"{name}.schema.json"] = text + "\n"
    return found


def main() -> None:
    """Write the files, or compare them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only compare")
    check = parser.parse_args().check
    stale = []
    for path, text in pages().items():
        if not path.exists() or path.read_text() != text:
            stale.append(path)
            if not check:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
    for path in stale:
        print(f"{'stale' if check else 'written'}: {path.name}")
    if check and stale:
        sys.exit("run `make golden` and look at the difference")


if __name__ == "__main__":
    main()
