"""``gauntlet recipes import``."""

from pathlib import Path

import click


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--owner", default="unowned", show_default=True, help="Who answers for the recipe.")
@click.option("--out", type=click.Path(path_type=Path), help="Write here instead of to stdout.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="PATH=VALUE",
    help="Change one value of the recipe, such as engine.precision=fp8. Repeatable.",
)
@click.option("--strict", is_flag=True, help="What cannot be translated is an error.")
def import_file(
    file: Path, owner: str, out: Path | None, settings: tuple[str, ...], strict: bool
) -> None:
    """Turn a workload file of vLLM's perf-eval into a recipe; each key left out is reported."""
    from gauntlet.core.errors import ConfigError
    from gauntlet.core.files import write_atomic
    from gauntlet.core.yaml_file import load_yaml
    from gauntlet.perf_eval.overrides import parse_settings
    from gauntlet.perf_eval.vllm_workload import import_workload

    chosen = parse_settings(settings)
    imported = import_workload(load_yaml(file), stem=file.stem, owner=owner, settings=chosen)
    if strict and imported.warnings:
        raise ConfigError(imported.warnings)
    for warning in imported.warnings:
        click.echo(f"warning: {warning}", err=True)
    if out is None:
        click.echo(imported.text, nl=False)
    else:
        write_atomic(out, imported.text)
