"""``gauntlet pipelines validate``: check any pipeline file, without a network."""

from pathlib import Path

import click

from gauntlet.core.errors import ConfigError, Problem
from gauntlet.core.yaml_file import load_yaml, read_text
from gauntlet.pipelines.checks.schema import Schema
from gauntlet.pipelines.fleet import Fleet, fleet_text, parse_fleet
from gauntlet.pipelines.pipeline_file import load_pipeline
from gauntlet.pipelines.validation import command_steps, pipeline_warnings, validate_pipeline


@click.command()
@click.argument("file", metavar="FILE|-")
@click.option("--schema", type=click.Path(path_type=Path), metavar="FILE", help="Another schema.")
@click.option("--fleet", "fleet_file", type=click.Path(path_type=Path), metavar="FILE")
@click.option("--strict", is_flag=True, help="Take warnings for problems.")
def validate(file: str, schema: Path | None, fleet_file: Path | None, strict: bool) -> None:
    """Check a pipeline file against Buildkite's schema and rules, and against the fleet."""
    pipeline, document = load_pipeline(file)
    definitions = None if schema is None else load_schema(schema)
    fleet = load_fleet(fleet_file)
    problems = validate_pipeline(pipeline, definitions, fleet, document=document)
    warnings = pipeline_warnings(pipeline, fleet, document=document)
    if strict:
        problems, warnings = (*problems, *warnings), ()
    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)
    if problems:
        raise ConfigError(problems)
    click.echo(f"{document.file}: {sum(1 for _ in command_steps(pipeline))} command steps, sound")


def load_schema(file: Path) -> Schema:
    """Read a JSON schema of pipelines. Raises ConfigError where the file is no such thing."""
    value = load_yaml(file).value
    if not isinstance(value, dict) or "commandStep" not in (value.get("definitions") or {}):
        message = "no schema of pipelines: it defines no commandStep"
        raise ConfigError([Problem(file=str(file), message=message)])
    return value


def load_fleet(file: Path | None) -> Fleet:
    """Read a fleet from a file, or take the built-in one."""
    return (
        parse_fleet(fleet_text()) if file is None else parse_fleet(read_text(file), file=str(file))
    )
