"""Which two engines the demo starts, from its options."""

from gauntlet.demo.request import DemoRequest
from gauntlet.harness.engines.engine import Engine
from gauntlet.harness.engines.simulator import simulator_launch
from gauntlet.harness.engines.vllm import vllm_launch
from gauntlet.harness.evals.knowledge import write_knowledge
from gauntlet.harness.schedule import Side
from gauntlet.harness.simulator.config import load_config
from gauntlet.perf_eval.recipe import Recipe


def build_engines(request: DemoRequest, recipe: Recipe) -> dict[Side, Engine]:
    """Describe baseline and candidate; nothing is started yet.

    Raises UsageError where the engine, its settings or its model are not there.
    """
    sides: tuple[Side, ...] = ("baseline", "candidate")
    if request.engine == "vllm":
        arguments = {
            "baseline": request.engine_args,
            "candidate": (*request.engine_args, *request.candidate_args),
        }
        specs = {
            side: vllm_launch(
                request.engine_venv,
                request.model,
                side=side,
                arguments=arguments[side],
                served_name="tiny",
                tool_call_parser="hermes",
                ready_timeout_s=request.ready_timeout_s,
            )
            for side in sides
        }
    else:
        settings = {"baseline": request.baseline, "candidate": request.candidate}
        for path in settings.values():
            load_config(path)  # a mistake in it is a ConfigError here, not an engine that died
        knowledge = write_knowledge(recipe.evals, request.workdir)
        specs = {
            # Seeds differ by side: two builds share no noise.
            side: simulator_launch(
                settings[side],
                workdir=request.workdir,
                side=side,
                seed=2 * request.seed + offset,
                knowledge=knowledge,
                ready_timeout_s=request.ready_timeout_s,
            )
            for offset, side in enumerate(sides)
        }
    return {
        side: Engine(specs[side], side=side, log=request.workdir / f"{side}.log") for side in sides
    }
