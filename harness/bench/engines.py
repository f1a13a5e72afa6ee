"""From a variant of a recipe to engines that can be started."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from gauntlet.core.errors import UsageError
from gauntlet.harness.bench.request import EngineOptions
from gauntlet.harness.engines.engine import Engine
from gauntlet.harness.engines.group import EngineGroup
from gauntlet.harness.engines.launch import Container, External, GpuVendor, LaunchSpec, Pod
from gauntlet.harness.engines.roles import RoleSpec, RouterSpec, launch_roles
from gauntlet.harness.engines.running import RunningEngine
from gauntlet.harness.engines.simulator import simulator_launch
from gauntlet.harness.engines.vllm import server_environment
from gauntlet.harness.evals.knowledge import write_knowledge
from gauntlet.harness.schedule import Side
from gauntlet.harness.simulator.config import config_path, load_config
from gauntlet.perf_eval.evals import Eval
from gauntlet.perf_eval.expand import Variant

_READY_S = {"simulator": 30.0, "vllm": 1800.0, "openai": 60.0}
_URL = re.compile(r"\{url\.([\w-]+)\.(\d+)\}")


def engine_of(
    variant: Variant,
    side: Side,
    options: EngineOptions,
    *,
    workdir: Path,
    seed: int,
    evals: Sequence[Eval] = (),
) -> RunningEngine:
    """Describe the engine of one side of a variant; nothing is started yet.

    Raises UsageError where neither the recipe nor the options say what it is.
    """
    log = workdir / f"{side}.log"
    url = options.candidate_url if side == "candidate" else options.base_url
    if url is not None:
        return Engine(_external(variant, url, options), side=side, log=log)
    kind = options.runtime or _runtime_of(variant)
    if kind == "simulator":
        spec = _simulator(variant, side, options, workdir=workdir, seed=seed, evals=evals)
        return Engine(spec, side=side, log=log)
    if variant.engine is None or variant.engine.kind != "vllm":
        found = variant.engine.kind if variant.engine else "none"
        msg = f"--runtime {kind} starts vLLM, but the recipe's engine is {found}"
        raise UsageError(msg, hint="--base-url measures a server that runs already")
    specs = _vllm(variant, options, local=kind == "process")
    if kind == "process":
        return EngineGroup(specs, side=side, logs=workdir)
    if len(specs) > 1:
        msg = f"--runtime {kind} starts one server, the recipe has {len(specs)}"
        raise UsageError(msg, hint="start them yourself and give --base-url")
    return Engine(_in_container(specs[0], variant, kind, options, side), side=side, log=log)


def _runtime_of(variant: Variant) -> str:
    engine = variant.engine
    if engine is None:
        msg = "the recipe names no engine"
        raise UsageError(msg, hint="give --base-url, or --runtime simulator")
    if engine.kind == "openai":
        msg = "the recipe's engine is a server that others run"
        raise UsageError(msg, hint="say where it is: --base-url")
    if engine.kind == "simulator":
        return "simulator"
    return "docker" if engine.image else "process"


def _external(variant: Variant, url: str, options: EngineOptions) -> LaunchSpec:
    engine = variant.engine
    return LaunchSpec(
        kind=engine.kind if engine else "openai",
        label=url,
        where=External(url=url),
        model=(engine.served_name or engine.model) if engine else None,
        ready_timeout_s=options.ready_timeout_s or _READY_S["openai"],
        commit=engine.commit if engine else None,
        configuration=f"a server that runs already at {url}",
    )


def _simulator(
    variant: Variant,
    side: Side,
    options: EngineOptions,
    *,
    workdir: Path,
    seed: int,
    evals: Sequence[Eval],
) -> LaunchSpec:
    engine = variant.engine
    name = (engine.config if engine else None) or options.simulator
    path = Path(name) if Path(name).suffix in {".yaml", ".yml"} else config_path(name)
    load_config(path)  # a mistake in it is a ConfigError here, not an engine that died
    spec = simulator_launch(
        path,
        workdir=workdir,
        side=side,
        seed=seed,
        knowledge=write_knowledge(evals, workdir),
        ready_timeout_s=options.ready_timeout_s or _READY_S["simulator"],
    )
    words = engine.arguments if engine else ()
    return replace(spec, argv=(*spec.argv, *words), env=dict(engine.env) if engine else {})


def _vllm(variant: Variant, options: EngineOptions, *, local: bool) -> tuple[LaunchSpec, ...]:
    """Every server of the variant and its router, as processes of this machine."""
    engine, hardware = variant.engine, variant.hardware
    accelerator = hardware.accelerator if hardware else ""
    vendor: GpuVendor = "amd" if accelerator.upper().startswith("MI") else "nvidia"
    needs = sum(server.replicas * server.gpus for server in variant.servers)
    devices = options.devices or tuple(map(str, range(needs)))
    on_cpu = accelerator.lower() == "cpu"
    common = server_environment(
        cpu=on_cpu,
        local=bool(engine and engine.model and Path(engine.model).is_dir()),
    )
    roles = [
        RoleSpec(
            name=server.role,
            replicas=server.replicas,
            gpus=0 if on_cpu else server.gpus,
            arguments=_words(server.argv, options.environment if local else None),
            env={**common, **server.env},
        )
        for server in variant.servers
    ]
    router = (
        RouterSpec(command=_words(variant.router, options.environment)) if variant.router else None
    )
    specs = launch_roles(
        roles,
        router=router,
        command=(),
        devices=devices if not on_cpu else (),
        vendor=vendor,
        model=(engine.served_name or engine.model) if engine else None,
        ready_timeout_s=options.ready_timeout_s or _READY_S["vllm"],
    )
    commit = engine.commit if engine else None
    return tuple(replace(spec, commit=commit) for spec in specs)


def _words(argv: Sequence[str], environment: Path | None) -> tuple[str, ...]:
    """A recipe's command with the names that servers are started by.

    With an ``environment``, its own ``vllm`` is the one that runs.
    """
    words = [
        _URL.sub(r"{\1.\2.url}", word)
        .replace("{host}", "{self.host}")
        .replace("{port}", "{self.port}")
        for word in argv
    ]
    if environment is not None and words[0] == "vllm":
        program = environment / "bin" / "vllm"
        if not program.exists():
            msg = f"no vLLM in {environment}"
            hint = "make engine builds one for the CPU, or give --engine-venv"
            raise UsageError(msg, hint=hint)
        words[0] = str(program)
    return tuple(words)


def _in_container(
    spec: LaunchSpec, variant: Variant, kind: str, options: EngineOptions, side: Side
) -> LaunchSpec:
    """The server of a plan, in a container; its image's entry point is ``vllm serve``."""
    engine = variant.engine
    if engine is None or not engine.image:
        msg = f"--runtime {kind} needs engine.image"
        raise UsageError(msg, hint="--set engine.image=NAME@sha256:DIGEST")
    where: Container | Pod
    if kind == "docker":
        where = Container(image=engine.image)
    else:
        where = Pod(
            image=engine.image,
            name=f"gauntlet-{side}",
            namespace=options.namespace,
            context=options.context,
        )
    argv = list(spec.argv[spec.argv.index("serve") + 1 :])
    # Inside, it listens to everybody on its own port; what is outside decides how to get there.
    for flag, value in (("--host", "0.0.0.0"), ("--port", str(where.container_port))):  # noqa: S104
        argv[argv.index(flag) + 1] = value
    digest = engine.image.partition("@")[2] or None
    return replace(spec, where=where, argv=tuple(argv), port=None, image_digest=digest)
