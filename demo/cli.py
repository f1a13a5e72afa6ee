"""``gauntlet demo``: the whole main job in one command."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gauntlet.core.errors import ExitCode
from gauntlet.warehouse.location import warehouse_option

if TYPE_CHECKING:
    from gauntlet.demo.request import DemoRequest
_READY_TIMEOUT_S = {"simulator": 20.0, "vllm": 300.0}
# Compiling two servers on two cores takes longer than measuring them.
_VLLM_ARGUMENTS = ("--enforce-eager", "--max-model-len=2048", "--max-num-seqs=16")
_RECIPES = {"simulator": "smoke", "vllm": "cpu-smoke"}


@click.command()
@click.option("--engine", type=click.Choice(["simulator", "vllm"]), default="simulator")
@click.option("--baseline", default="baseline", show_default=True, help="Built-in name or .yaml.")
@click.option(
    "--candidate",
    default="slower-and-worse",
    show_default=True,
    help="`same` as the baseline, a built-in name, or a .yaml with simulator settings.",
)
@click.option("--recipe", help="Name or .yaml.  [default: smoke, vllm: cpu-smoke]")
@click.option("--seed", type=click.IntRange(0, 2**31), default=1, show_default=True)
@click.option("--engine-version", default="0.25.0", show_default=True, help="vLLM to decide on.")
@click.option("--engine-source", type=click.Path(path_type=Path), help="Or a source tree on disk.")
@click.option("--example", default="sampler", show_default=True, help="Built-in list of changes.")
@click.option("--diff-from", metavar="BASE..HEAD", help="Or a range in --engine-source.")
@click.option("--engine-venv", type=click.Path(path_type=Path), default=Path(".venv-engine"))
@click.option("--model", type=click.Path(path_type=Path), default=Path(".cache/tiny-model"))
@click.option(
    "--engine-arg",
    "engine_args",
    multiple=True,
    help="vLLM: arguments of both sides, instead of the default ones.",
)
@click.option("--candidate-arg", "candidate_args", multiple=True, help="vLLM: of the candidate.")
@click.option(
    "--ready-timeout",
    type=click.FloatRange(1, 3600),
    help="Seconds for an engine to become healthy.  [default: 20, vllm: 300]",
)
@click.option("--runs", type=click.Path(path_type=Path), default=Path(".gauntlet/runs"))
@click.option("--cache", type=click.Path(path_type=Path), help="Where engine sources are kept.")
@click.option("--dry-run", is_flag=True, help="Decide, print what would be measured, and stop.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON, steps to stderr.")
@warehouse_option
def demo(location: str, **options: Any) -> int:  # noqa: ANN401 - click's options, resolved below
    """Decide, measure, keep, judge, gate and show, once.

    Exits 0 where the candidate is QUALIFIED and 6 where it is not.
    """
    from rich.console import Console

    from gauntlet.core.proc import terminable
    from gauntlet.demo.run import plan_demo, run_demo
    from gauntlet.demo.screen import Screen

    dry_run, as_json = options.pop("dry_run"), options.pop("as_json")
    request = _request(location, options)
    screen = Screen(Console(stderr=True, highlight=False)) if as_json else Screen()
    with terminable():
        if dry_run:
            plan_demo(request, screen)
            return int(ExitCode.OK)
        result = run_demo(request, screen)
    if as_json:
        click.echo(result.to_json())
    click.echo(f"{result.qualification.outcome} after {result.seconds:.0f} s", err=True)
    return int(ExitCode.OK if result.qualification.qualified else ExitCode.NOT_QUALIFIED)


def _request(location: str, options: dict[str, Any]) -> "DemoRequest":
    from gauntlet.core.ids import new_run_id
    from gauntlet.demo.request import DemoRequest, engine_settings

    run_id = new_run_id()
    runs = options.pop("runs")
    baseline, candidate = options.pop("baseline"), options.pop("candidate")
    ready_timeout_s = options.pop("ready_timeout") or _READY_TIMEOUT_S[options["engine"]]
    engine_args = options.pop("engine_args") or _VLLM_ARGUMENTS
    recipe = options.pop("recipe") or _RECIPES[options["engine"]]
    return DemoRequest(
        run_id=run_id,
        recipe=recipe,
        engine_args=engine_args,
        baseline=engine_settings(baseline),
        candidate=engine_settings(baseline if candidate == "same" else candidate),
        warehouse=location,
        workdir=runs / run_id,
        ready_timeout_s=ready_timeout_s,
        **options,
    )
