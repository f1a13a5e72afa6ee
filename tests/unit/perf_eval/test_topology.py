import pytest
from pydantic import ValidationError

from gauntlet.perf_eval.commands import router_argv, server_argv, server_commands, shown
from gauntlet.perf_eval.engine import EngineSpec
from gauntlet.perf_eval.facts import dies_per_device
from gauntlet.perf_eval.topology import Hardware, Topology

ENGINE = EngineSpec(
    kind="vllm",
    version="0.33.0",
    model="org/model",
    revision="r1",
    served_name="m",
    arguments=("--max-num-seqs", "64"),
    env={"A": "1"},
)
PREFILL = {"name": "prefill", "kind": "prefill", "replicas": 2, "parallel": {"tp": 4}}
DECODE = {
    "name": "decode",
    "kind": "decode",
    "parallel": {"tp": 2, "dp": 4, "ep": True},
    "arguments": ["-dp", "4"],
    "env": {"B": "2"},
}
ROUTER = {
    "command": ["vllm-router"],
    "policy": "round_robin",
    "arguments": ["--port", "{port}", "--prefill", "{urls.prefill}", "--decode={urls.decode}"],
}


def topology(**data):
    return Topology.model_validate(data)


def test_a_single_server_is_a_role_named_server():
    (role,) = topology(parallel={"tp": 8}).servers
    assert (role.name, role.kind, role.parallel.ranks) == ("server", "server", 8)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param({}, "parallel for one server, or roles", id="neither"),
        pytest.param({"parallel": {}, "roles": [PREFILL]}, "or roles", id="both"),
        pytest.param({"roles": [PREFILL]}, "needs one of kind decode", id="half"),
        pytest.param({"roles": [PREFILL, DECODE]}, "3 servers take requests", id="no-router"),
        pytest.param(
            {"roles": [PREFILL, {**DECODE, "name": "prefill"}]}, "named 'prefill'", id="twins"
        ),
        pytest.param(
            {
                "roles": [PREFILL, DECODE],
                "router": {"command": ["r", "{urls.decoder}"]},
            },
            r"knows no \{urls.decoder\}; known: port, urls.prefill, urls.decode",
            id="placeholder",
        ),
        pytest.param({"parallel": {"tp": 0}}, "greater than or equal to 1", id="zero"),
        pytest.param({"parallel": {"ep": -1}}, "ep", id="negative"),
    ],
)
def test_a_topology_that_cannot_serve_is_refused(data, expected):
    with pytest.raises(ValidationError, match=expected):
        topology(**data)


def test_attention_and_ffn_need_no_router():
    roles = [{"name": "a", "kind": "attention"}, {"name": "f", "kind": "ffn", "replicas": 4}]
    assert len(topology(roles=roles).servers) == 2


def test_commands_of_roles_add_what_the_arguments_do_not_say():
    made = server_commands(ENGINE, topology(roles=[PREFILL, DECODE], router=ROUTER), None)
    assert [(each.role, each.replicas, each.gpus) for each in made] == [
        ("prefill", 2, 8),
        ("decode", 1, 8),
    ]
    head = "vllm serve org/model --host {host} --port {port} --revision r1 --served-model-name m"
    assert shown(made[0].argv) == f"{head} --tensor-parallel-size 4 --max-num-seqs 64"
    assert shown(made[1].argv) == (
        f"{head} --tensor-parallel-size 2 --enable-expert-parallel --max-num-seqs 64 -dp 4"
    )
    assert made[1].env == {"A": "1", "B": "2"}


def test_the_router_is_given_every_server():
    made = router_argv(topology(roles=[PREFILL, DECODE], router=ROUTER))
    assert shown(made) == (
        "vllm-router --policy round_robin --port {port} --prefill {url.prefill.0} "
        "--prefill {url.prefill.1} '--decode={url.decode.0}'"
    )
    assert router_argv(None) == router_argv(topology(parallel={})) == ()


def test_the_simulator_has_a_command_and_servers_of_others_have_none():
    role = topology(parallel={}).servers[0]
    simulated = EngineSpec(kind="simulator", config="baseline", arguments=("--set", "seed=2"))
    assert shown(server_argv(simulated, role)) == (
        "gauntlet simulator --config baseline --port {port} --set seed=2"
    )
    assert server_commands(EngineSpec(kind="openai", model="m"), None, None) == ()
    assert server_commands(None, None, None) == ()


@pytest.mark.parametrize(
    ("hardware", "dies"),
    [
        ({"accelerator": "MI300X"}, 8),
        ({"accelerator": "B200"}, 2),
        ({"accelerator": "H200"}, 1),
        ({"accelerator": "MI300X", "dies_per_device": 1}, 1),
        ({"accelerator": "cpu"}, None),
        ({"accelerator": "Other-9"}, None),
    ],
)
def test_dies_are_known_or_said_or_none(hardware, dies):
    assert dies_per_device(Hardware.model_validate(hardware)) == dies
