"""Check how a model is divided before a GPU is rented. Pure; every check says its numbers.

Rules: GPUs of a role = replicas x tp x pp x dp x pcp; decode context parallelism and expert
parallelism use ranks that are there already. DCP splits what tensor parallel ranks hold twice:
with MLA all tp ranks hold the one latent head, so tp % dcp = 0; with GQA tp // kv_heads ranks hold
the same KV head, so (tp // kv_heads) % dcp = 0 with tp >= kv_heads.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from gauntlet.core.yaml_file import KeyPath
from gauntlet.perf_eval.arguments import find_flag
from gauntlet.perf_eval.engine import EngineSpec
from gauntlet.perf_eval.facts import CPU, ModelFacts, model_facts
from gauntlet.perf_eval.topology import Hardware, Parallel, Role, Topology

Outcome = Literal["ok", "warning", "error"]
FLAGS = {
    "tp": "--tensor-parallel-size",
    "pp": "--pipeline-parallel-size",
    "dp": "--data-parallel-size",
    "pcp": "--prefill-context-parallel-size",
    "dcp": "--decode-context-parallel-size",
}
EXPERT_FLAG = "--enable-expert-parallel"
_SEARCHED = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One rule applied to one place in a recipe, with its numbers."""

    rule: str
    path: KeyPath
    outcome: Outcome
    text: str


def check_parallelism(
    engine: EngineSpec | None, topology: Topology | None, hardware: Hardware | None
) -> tuple[Check, ...]:
    """Apply every rule that applies; an empty result means that there was nothing to divide."""
    if engine is None and topology is None:
        return ()
    facts = model_facts(engine.model if engine else None)
    checks: list[Check] = []
    model = engine.model if engine else None
    for role, path in _located(engine, topology):
        words = (*(engine.arguments if engine else ()), *role.arguments)
        where = (*path, "parallel")
        checks += _contradictions(role, words, where)
        checks += _gpu_checks(role, path)
        checks += _model_checks(role.parallel, facts, model, where)
    if topology is None:
        # The arguments are the only place that says anything then.
        checks = [replace(check, path=("engine", "arguments")) for check in checks]
    checks += _device_checks(servers_of(engine, topology), hardware)
    return tuple(checks)


def servers_of(engine: EngineSpec | None, topology: Topology | None) -> tuple[Role, ...]:
    """The roles to start. Without a topology: one server, divided as its arguments say."""
    if topology is not None:
        return topology.servers
    if engine is None or engine.kind == "openai":
        return ()
    return (Role(name="server", parallel=_parallel_said(engine.arguments)),)


def gpus_of(role: Role, hardware: Hardware | None) -> int:
    """GPUs of all replicas of a role; none on a CPU."""
    if hardware is not None and hardware.accelerator == CPU:
        return 0
    return role.replicas * (role.gpus or role.parallel.ranks)


def gpus_needed(
    engine: EngineSpec | None, topology: Topology | None, hardware: Hardware | None
) -> int:
    """GPUs of all roles together; none for the simulator and for servers that others run."""
    if engine is not None and engine.kind != "vllm":
        return 0
    return sum(gpus_of(role, hardware) for role in servers_of(engine, topology))


def _located(
    engine: EngineSpec | None, topology: Topology | None
) -> Iterator[tuple[Role, KeyPath]]:
    if topology is None:
        yield from ((role, ("engine",)) for role in servers_of(engine, None))
    elif topology.parallel is not None:
        yield topology.servers[0], ("topology",)
    else:
        for index, role in enumerate(topology.roles):
            yield role, ("topology", "roles", index)


def _number_said(words: Sequence[str], flag: str) -> int | str | None:
    found = find_flag(words, flag)
    if found is None:
        return None
    text = " ".join(found.values)
    return int(text) if text.isdecimal() else text


def _experts_said(words: Sequence[str]) -> bool | None:
    if find_flag(words, "--no-enable-expert-parallel"):
        return False
    return True if find_flag(words, EXPERT_FLAG) else None


def _parallel_said(words: Sequence[str]) -> Parallel:
    sizes: dict[str, int] = {}
    for key, flag in FLAGS.items():
        said = _number_said(words, flag)
        if isinstance(said, int) and said > 0:
            sizes[key] = said
    return Parallel(**sizes, ep=_experts_said(words) or False)


def _contradictions(role: Role, words: Sequence[str], path: KeyPath) -> Iterator[Check]:
    parallel = role.parallel
    for key, flag in FLAGS.items():
        said, given = _number_said(words, flag), getattr(parallel, key)
        if said is None:
            continue
        if said != given:
            text = f"arguments say {flag} {said or '(nothing)'}, parallel.{key} is {given}"
            text += f": make them equal, or take {flag} out, which is then added by itself"
            yield Check(rule="arguments agree", path=(*path, key), outcome="error", text=text)
        else:
            yield _ok("arguments agree", (*path, key), f"{flag} {said} = parallel.{key}")
    said_ep = _experts_said(words)
    if said_ep is not None and said_ep != bool(parallel.ep):
        text = f"arguments say {EXPERT_FLAG} {str(said_ep).lower()}, parallel.ep is {parallel.ep}"
        yield Check(rule="arguments agree", path=(*path, "ep"), outcome="error", text=text)


def _gpu_checks(role: Role, path: KeyPath) -> Iterator[Check]:
    parallel = role.parallel
    if role.gpus is None:
        return
    terms = " x ".join(f"{key} {getattr(parallel, key)}" for key in ("tp", "pp", "dp", "pcp"))
    text = f"{terms} = {parallel.ranks}, gpus is {role.gpus}"
    same = role.gpus == parallel.ranks
    text += "" if same else f": write gpus: {parallel.ranks} or leave it out"
    outcome: Outcome = "ok" if same else "error"
    yield Check(rule="gpus of a role", path=(*path, "gpus"), outcome=outcome, text=text)


def _model_checks(
    parallel: Parallel, facts: ModelFacts | None, model: str | None, where: KeyPath
) -> Iterator[Check]:
    yield from _expert_group(parallel, where)
    if facts is None:
        if max(parallel.tp, parallel.dcp, parallel.expert_ranks) > 1:
            yield _not_checked(model, where)
            yield from _dcp_at_least(parallel, where)
        return
    yield from _head_checks(parallel, facts, where)
    yield from _dcp_checks(parallel, facts, where)
    yield from _expert_checks(parallel, facts, where)


def _not_checked(model: str | None, where: KeyPath) -> Check:
    text = f"not checked: heads and experts of {model or 'the model'} are not in models.yaml"
    return Check(rule="model facts", path=where, outcome="warning", text=text)


def _expert_group(parallel: Parallel, where: KeyPath) -> Iterator[Check]:
    ep, ranks = parallel.ep, parallel.tp * parallel.dp * parallel.pcp
    if ep is True or ep is False:
        return
    text = f"tp {parallel.tp} x dp {parallel.dp} x pcp {parallel.pcp} = {ranks}, ep is {ep}"
    if ep != ranks:
        text += f": experts are spread over all of these ranks, write ep: {ranks} or ep: true"
    outcome: Outcome = "ok" if ep == ranks else "error"
    yield Check(rule="expert group", path=(*where, "ep"), outcome=outcome, text=text)


def _head_checks(parallel: Parallel, facts: ModelFacts, where: KeyPath) -> Iterator[Check]:
    tp, heads, kv_heads = parallel.tp, facts.heads, facts.kv_heads
    yield _divides(
        "heads % tp",
        (*where, "tp"),
        f"{heads} attention heads % tp {tp} = {heads % tp}",
        given=tp,
        works=lambda value: heads % value == 0,
        name="tp",
    )
    # Where the heads do not divide it was said already.
    if kv_heads is not None and heads % tp == 0:
        relation = "divided among" if tp <= kv_heads else "copied over"
        yield _divides(
            "KV heads and tp",
            (*where, "tp"),
            f"{kv_heads} KV heads are {relation} tp {tp} ranks",
            given=tp,
            works=lambda value: _share(kv_heads, value) and heads % value == 0,
            name="tp",
        )


def _share(kv_heads: int, tp: int) -> bool:
    return kv_heads % tp == 0 if tp <= kv_heads else tp % kv_heads == 0


def _dcp_checks(parallel: Parallel, facts: ModelFacts, where: KeyPath) -> Iterator[Check]:
    tp, dcp, kv_heads = parallel.tp, parallel.dcp, facts.kv_heads
    if dcp == 1:
        return
    if facts.attention == "mla":
        yield _divides(
            "DCP with MLA",
            (*where, "dcp"),
            f"tp {tp} % dcp {dcp} = {tp % dcp}; all {tp} ranks hold the one latent KV head",
            given=dcp,
            works=lambda value: tp % value == 0,
            name="dcp",
        )
    elif kv_heads is not None:
        copies = tp // kv_heads
        text = f"tp {tp} // {kv_heads} KV heads = {copies} ranks hold each KV head"
        text += f", {copies} % dcp {dcp} = {copies % dcp}" if copies else ""
        if not copies:
            text += f": dcp {dcp} has no copies to split and needs tp >= {dcp * kv_heads}"
        yield _divides(
            "DCP with GQA",
            (*where, "dcp"),
            text,
            given=dcp,
            works=lambda value: value == 1 or (copies > 0 and copies % value == 0),
            name="dcp",
        )
    else:
        text = "not checked: the rule for DCP with this model's attention is not known"
        yield Check(rule="DCP", path=(*where, "dcp"), outcome="warning", text=text)
        yield from _dcp_at_least(parallel, where)


def _dcp_at_least(parallel: Parallel, where: KeyPath) -> Iterator[Check]:
    """What holds for every kind of attention."""
    tp, dcp = parallel.tp, parallel.dcp
    if dcp > 1 and tp % dcp:
        yield _divides(
            "DCP",
            (*where, "dcp"),
            f"tp {tp} % dcp {dcp} = {tp % dcp}, whatever the attention",
            given=dcp,
            works=lambda value: tp % value == 0,
            name="dcp",
        )


def _expert_checks(parallel: Parallel, facts: ModelFacts, where: KeyPath) -> Iterator[Check]:
    if not parallel.ep:
        return
    ranks, experts, path = parallel.expert_ranks, facts.experts, (*where, "ep")
    if experts == 0:
        text = "the model is dense, it has no experts to spread: take ep out"
        yield Check(rule="experts", path=path, outcome="error", text=text)
        return
    text = f"{experts} experts over {ranks} ranks (tp x dp x pcp)"
    if ranks > experts:
        text += f": {ranks - experts} ranks would have none"
        yield Check(rule="experts", path=path, outcome="error", text=text)
    elif experts % ranks:
        text += f": {experts % ranks} ranks hold one more than the others"
        yield Check(rule="experts", path=path, outcome="warning", text=text)
    else:
        yield _ok("experts", path, f"{text}: {experts // ranks} each")


def _device_checks(roles: Sequence[Role], hardware: Hardware | None) -> Iterator[Check]:
    if hardware is None or hardware.accelerator == CPU or not roles:
        return
    path: KeyPath = ("hardware", "count")
    needed = sum(gpus_of(role, hardware) for role in roles)
    each = " + ".join(
        f"{role.name} {role.replicas} x {role.gpus or role.parallel.ranks}" for role in roles
    )
    text = f"{each} = {needed} of {hardware.count} {hardware.accelerator}"
    if needed > hardware.count:
        text += f": {needed - hardware.count} too many, nearest working count: {needed}"
        yield Check(rule="devices", path=path, outcome="error", text=text)
    else:
        idle = hardware.count - needed
        yield _ok("devices", path, text + (f", {idle} idle" if idle else ""))


def _ok(rule: str, path: KeyPath, text: str) -> Check:
    return Check(rule=rule, path=path, outcome="ok", text=text)


def _divides(
    rule: str, path: KeyPath, text: str, *, given: int, works: Callable[[int], bool], name: str
) -> Check:
    if works(given):
        return _ok(rule, path, text)
    near = _nearest(given, works)
    text += f"; nearest {name} that works: {near}"
    return Check(rule=rule, path=path, outcome="error", text=text)


def _nearest(given: int, works: Callable[[int], bool]) -> int:
    """The working value closest to ``given``, the smaller one where two are; 1 always works."""
    for distance in range(1, _SEARCHED):
        for value in (given - distance, given + distance):
            if value >= 1 and works(value):
                return value
    return 1
