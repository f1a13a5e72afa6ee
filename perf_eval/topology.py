"""Where an engine runs: one server or several roles behind a router, on which hardware."""

import re
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from gauntlet.perf_eval.arguments import Arguments, Environment
from gauntlet.perf_eval.part import RecipePart
from gauntlet.perf_eval.workloads import Name

Count = Annotated[int, Field(ge=1, le=65_536)]
RoleKind = Literal["prefill", "decode", "attention", "ffn", "server", "other"]
# One cannot do without the other.
_PARTNERS: tuple[tuple[RoleKind, RoleKind], ...] = (("prefill", "decode"), ("attention", "ffn"))
PLACEHOLDER = re.compile(r"\{([a-z0-9_.-]*)\}")


class Parallel(RecipePart):
    """How one server divides a model; ranks = tp x pp x dp x pcp."""

    tp: Count = 1
    """Tensor parallel size."""
    pp: Count = 1
    """Pipeline parallel size."""
    dp: Count = 1
    """Data parallel size."""
    pcp: Count = 1
    """Prefill context parallel size; has ranks of its own."""
    dcp: Count = 1
    """Decode context parallel size; divides the tensor parallel ranks, needs none of its own."""
    ep: bool | Count = False
    """Expert parallelism over the ranks that are there; a number must equal tp x dp x pcp."""

    @property
    def ranks(self) -> int:
        """Devices that one server needs."""
        return self.tp * self.pp * self.dp * self.pcp

    @property
    def expert_ranks(self) -> int:
        """Ranks that experts are spread over, 1 without expert parallelism."""
        return self.tp * self.dp * self.pcp if self.ep else 1


class Role(RecipePart):
    """Servers that do the same work."""

    name: Name
    """Name in paths, logs and placeholders."""
    kind: RoleKind = "server"
    """What these servers do."""
    replicas: Count = 1
    """How many such servers."""
    gpus: Count | None = None
    """Devices of one of them; absent: as many as ``parallel`` needs."""
    parallel: Parallel = Parallel()
    """How each of them divides the model."""
    arguments: Arguments = ()
    """Arguments after those of the engine."""
    env: Environment = Field(default_factory=dict)
    """Environment added to the engine's."""


class Router(RecipePart):
    """What takes the requests and spreads them over the servers.

    In its words ``{port}`` is the port to listen on and ``{urls.ROLE}`` the address of a server
    of that role; such a word, with the flag before it, is repeated for each of them.
    """

    command: Annotated[Arguments, Field(min_length=1)]
    """The program and its first words."""
    arguments: Arguments = ()
    """Words after the command."""
    policy: Annotated[str, Field(min_length=1)] | None = None
    """How requests are spread; given as `--policy`."""
    env: Environment = Field(default_factory=dict)
    """Environment of the router."""


class Topology(RecipePart):
    """One server (``parallel``), or ``roles`` with a ``router``."""

    parallel: Parallel | None = None
    """One server that divides the model so."""
    roles: tuple[Role, ...] = ()
    """Several servers, by what they do."""
    router: Router | None = None
    """What stands before them; needed where more than one server takes requests."""

    @property
    def servers(self) -> tuple[Role, ...]:
        """The roles; one server is a role named `server`."""
        if self.parallel is not None:
            return (Role(name="server", parallel=self.parallel),)
        return self.roles

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if (self.parallel is None) == (not self.roles):
            msg = "give parallel for one server, or roles for several"
            raise ValueError(msg)
        names = [role.name for role in self.roles]
        for name in sorted({name for name in names if names.count(name) > 1}):
            msg = f"two roles are named {name!r}"
            raise ValueError(msg)
        kinds = {role.kind for role in self.roles}
        for one, other in _PARTNERS:
            if (one in kinds) != (other in kinds):
                there, absent = (one, other) if one in kinds else (other, one)
                msg = f"a role of kind {there} needs one of kind {absent}"
                raise ValueError(msg)
        return self

    @model_validator(mode="after")
    def _router_fits(self) -> Self:
        # A server for FFNs answers its attention server, not a client.
        fronts = sum(role.replicas for role in self.servers if role.kind != "ffn")
        if self.router is None:
            if fronts > 1:
                msg = f"{fronts} servers take requests: say with a router how they are spread"
                raise ValueError(msg)
            return self
        known = ["port", *(f"urls.{role.name}" for role in self.servers)]
        for word in (*self.router.command, *self.router.arguments):
            for name in PLACEHOLDER.findall(word):
                if name not in known:
                    msg = f"the router knows no {{{name}}}; known: {', '.join(known)}"
                    raise ValueError(msg)
        return self


class Hardware(RecipePart):
    """The machine, or machines, that the recipe is written for."""

    accelerator: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
    """H200, B200, MI300X, MI355X, cpu or another name."""
    count: Count = 1
    """Devices that the recipe may use, over all machines."""
    memory_gb: Annotated[float, Field(gt=0)] | None = None
    """Memory of one device; absent: as known for the accelerator."""
    queue: Annotated[str, Field(min_length=1)] | None = None
    """Queue of the agents that have it."""
    dies_per_device: Count | None = None
    """Compute dies of one device, for figures per die; absent: as known for the accelerator."""
