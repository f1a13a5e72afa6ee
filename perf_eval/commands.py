"""Exact commands, as lists of words with placeholders for what is only known when they run."""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gauntlet.perf_eval.arguments import find_flag
from gauntlet.perf_eval.engine import EngineSpec
from gauntlet.perf_eval.parallelism import EXPERT_FLAG, FLAGS, gpus_of, servers_of
from gauntlet.perf_eval.topology import Hardware, Parallel, Role, Topology

_PLACEHOLDER = re.compile(r"\{[a-z0-9_.-]+\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerCommand:
    """How the servers of one role are started; ``{port}`` and ``{host}`` are filled in then."""

    role: str
    kind: str
    replicas: int
    gpus: int
    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)


def server_commands(
    engine: EngineSpec | None, topology: Topology | None, hardware: Hardware | None
) -> tuple[ServerCommand, ...]:
    """One command for each role; none where the server is somebody else's."""
    if engine is None or engine.kind == "openai":
        return ()
    return tuple(
        ServerCommand(
            role=role.name,
            kind=role.kind,
            replicas=role.replicas,
            gpus=gpus_of(role, hardware) if engine.kind == "vllm" else 0,
            argv=server_argv(engine, role),
            env={**engine.env, **role.env},
        )
        for role in servers_of(engine, topology)
    )


def server_argv(engine: EngineSpec, role: Role) -> tuple[str, ...]:
    """The command of one server of a role."""
    words = (*engine.arguments, *role.arguments)
    if engine.kind == "simulator":
        config = ("--config", engine.config) if engine.config else ()
        return ("gauntlet", "simulator", *config, "--port", "{port}", *words)
    named = (
        ("--revision", engine.revision),
        ("--tokenizer", engine.tokenizer),
        ("--served-model-name", engine.served_name),
    )
    return (
        *("vllm", "serve", engine.model or "", "--host", "{host}", "--port", "{port}"),
        *(word for flag, value in named if value for word in (flag, value)),
        *_parallel_words(role.parallel, words),
        *words,
    )


def _parallel_words(parallel: Parallel, said: Sequence[str]) -> list[str]:
    """Flags for what ``parallel`` asks and the arguments do not say already."""
    words: list[str] = []
    for key, flag in FLAGS.items():
        size = getattr(parallel, key)
        if size > 1 and find_flag(said, flag) is None:
            words += [flag, str(size)]
    if parallel.ep and find_flag(said, EXPERT_FLAG) is None:
        words.append(EXPERT_FLAG)
    return words


def router_argv(topology: Topology | None) -> tuple[str, ...]:
    """The router's command, empty without one.

    A word with ``{urls.ROLE}`` is repeated as ``{url.ROLE.0}``, ``{url.ROLE.1}`` ... together with
    the flag before it.
    """
    if topology is None or topology.router is None:
        return ()
    router = topology.router
    policy = ("--policy", router.policy) if router.policy else ()
    words: list[str] = []
    for word in (*router.command, *policy, *router.arguments):
        repeated = _repeated(word, topology.servers)
        if not repeated:
            words.append(word)
            continue
        flag = [words.pop()] if words and words[-1].startswith("-") else []
        words += [each for one in repeated for each in (*flag, one)]
    return tuple(words)


def _repeated(word: str, roles: Sequence[Role]) -> list[str]:
    for role in roles:
        placeholder = f"{{urls.{role.name}}}"
        if placeholder in word:
            urls = (f"{{url.{role.name}.{index}}}" for index in range(role.replicas))
            return [word.replace(placeholder, url) for url in urls]
    return []


def point_argv(reference: str, key: str, settings: Sequence[str] = ()) -> tuple[str, ...]:
    """The command that measures one point of a recipe again."""
    changed = [word for setting in settings for word in ("--set", setting)]
    return ("gauntlet", "bench", "run", reference, "--point", key, *changed)


def shown(argv: Sequence[str]) -> str:
    """A command as one types it, placeholders left as they are."""
    return " ".join(word if _PLACEHOLDER.fullmatch(word) else shlex.quote(word) for word in argv)
