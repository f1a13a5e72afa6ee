"""Servers of several roles behind a router, such as prefill and decode, as a list of launches."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gauntlet.core.errors import UsageError, unknown_name
from gauntlet.harness.engines.launch import GpuVendor, LaunchSpec
from gauntlet.harness.engines.ports import free_port

# {prefill.0.url}, {self.port}. JSON in an argument has quotes behind its braces, so it is no match.
_PLACEHOLDER = re.compile(r"\{([a-z_][\w-]*(?:\.[\w-]+)+)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleSpec:
    """One role: ``replicas`` servers with ``gpus`` devices each.

    ``arguments`` and ``env`` may hold placeholders. ``ports`` names further ports that each server
    needs beside its HTTP port, for talk between servers.
    """

    name: str
    replicas: int = 1
    gpus: int = 0
    arguments: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    ports: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RouterSpec:
    """The program that clients talk to; its command and environment may hold placeholders."""

    command: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    health_path: str = "/health"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Member:
    role: str
    index: int
    port: int
    gpus: tuple[str, ...]
    ports: Mapping[str, int]


def launch_roles(
    roles: Sequence[RoleSpec],
    *,
    router: RouterSpec | None,
    command: Sequence[str],
    devices: Sequence[str] = (),
    vendor: GpuVendor = "nvidia",
    kind: str = "vllm",
    model: str | None = None,
    host: str = "127.0.0.1",
    ready_timeout_s: float = 600.0,
    stop_grace_s: float = 10.0,
    take_port: Callable[[], int] = free_port,
) -> tuple[LaunchSpec, ...]:
    """Plan every server of every role in order, and the router last.

    Each server is ``command`` followed by the arguments of its role, on the next free ``devices``
    (indices or UUIDs). Placeholders: ``{prefill.0.url}``, ``.host``, ``.port``, ``.port.NAME`` of
    any server, ``{prefill.urls}`` of all of a role (comma-separated), and the same of ``self``,
    which has ``.index`` too.

    Raises UsageError where devices do not suffice, several servers have no router, or a
    placeholder names nothing.
    """
    _check(roles, router, devices)
    base = LaunchSpec(
        kind=kind,
        label="",
        host=host,
        model=model,
        vendor=vendor,
        ready_timeout_s=ready_timeout_s,
        stop_grace_s=stop_grace_s,
    )
    members = _members(roles, devices, take_port)
    names = {name: value for member in members for name, value in _names_of(member, host)}
    for role in roles:
        urls = (names[f"{role.name}.{index}.url"] for index in range(role.replicas))
        names[f"{role.name}.urls"] = ",".join(urls)
    by_name = {role.name: role for role in roles}
    specs = []
    for member in members:
        role = by_name[member.role]
        known = {**names, **_self_names(member, host)}
        spec = replace(base, label=f"{member.role}.{member.index}", gpus=member.gpus)
        specs.append(_filled_spec(spec, (*command, *role.arguments), role.env, member.port, known))
    if router is not None:
        port = take_port()
        known = {**names, "self.host": host, "self.port": str(port)}
        known["self.url"] = f"http://{host}:{port}"
        spec = replace(base, label="router", health_path=router.health_path)
        specs.append(_filled_spec(spec, router.command, router.env, port, known))
    return tuple(specs)


def _filled_spec(
    spec: LaunchSpec,
    command: Sequence[str],
    env: Mapping[str, str],
    port: int,
    known: Mapping[str, str],
) -> LaunchSpec:
    argv = tuple(_filled(part, known) for part in command)
    return replace(
        spec,
        argv=argv,
        env={key: _filled(value, known) for key, value in env.items()},
        port=port,
        configuration=f"{spec.label}: {' '.join(argv)}",
    )


def _check(roles: Sequence[RoleSpec], router: RouterSpec | None, devices: Sequence[str]) -> None:
    names = [role.name for role in roles]
    if len(set(names)) < len(names) or {"self", "router"} & set(names):
        msg = f"roles need different names, and neither self nor router: {', '.join(names)}"
        raise UsageError(msg)
    for role in roles:
        if role.replicas < 1 or role.gpus < 0:
            msg = f"role {role.name}: replicas must be at least 1 and gpus at least 0"
            raise UsageError(msg)
    servers = sum(role.replicas for role in roles)
    if not servers or (router is None and servers > 1):
        msg = f"{servers} servers and {'a' if router else 'no'} router: requests have no one way in"
        raise UsageError(msg, hint="one server, or a router before several")
    wanted = sum(role.replicas * role.gpus for role in roles)
    if wanted > len(devices):
        parts = ", ".join(f"{role.name}: {role.replicas} x {role.gpus}" for role in roles)
        msg = f"the roles need {wanted} GPUs ({parts}); there are {len(devices)}"
        raise UsageError(msg, hint="fewer replicas, fewer GPUs each, or a larger machine")


def _members(
    roles: Sequence[RoleSpec], devices: Sequence[str], take_port: Callable[[], int]
) -> list[_Member]:
    left = iter(devices)
    return [
        _Member(
            role=role.name,
            index=index,
            port=take_port(),
            gpus=tuple(next(left) for _ in range(role.gpus)),
            ports={name: take_port() for name in role.ports},
        )
        for role in roles
        for index in range(role.replicas)
    ]


def _names_of(member: _Member, host: str) -> Iterator[tuple[str, str]]:
    prefix = f"{member.role}.{member.index}"
    yield f"{prefix}.url", f"http://{host}:{member.port}"
    yield f"{prefix}.host", host
    yield f"{prefix}.port", str(member.port)
    for name, port in member.ports.items():
        yield f"{prefix}.port.{name}", str(port)


def _self_names(member: _Member, host: str) -> dict[str, str]:
    prefix = f"{member.role}.{member.index}."
    names = {f"self.{key.removeprefix(prefix)}": value for key, value in _names_of(member, host)}
    return {**names, "self.index": str(member.index)}


def _filled(text: str, known: Mapping[str, str]) -> str:
    def value(match: re.Match[str]) -> str:
        if match[1] not in known:
            raise unknown_name("placeholder", match[1], known, hint=f"in {text!r}")
        return known[match[1]]

    return _PLACEHOLDER.sub(value, text)
