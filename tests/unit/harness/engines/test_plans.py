"""What would be started, without starting it."""

import json
from itertools import count

import pytest

from gauntlet.core.errors import UsageError
from gauntlet.harness.engines.launch import (
    Claim,
    Container,
    External,
    LaunchSpec,
    Mount,
    Pod,
)
from gauntlet.harness.engines.roles import RoleSpec, RouterSpec, launch_roles
from gauntlet.harness.engines.runtime import Ended
from gauntlet.harness.engines.runtimes.docker import plan_container
from gauntlet.harness.engines.runtimes.external import read_url
from gauntlet.harness.engines.runtimes.manifest import pod_manifest, read_pod
from gauntlet.harness.engines.vllm import serve_arguments, vllm_launch


def spec(**changes):
    fields = {"kind": "vllm", "label": "x", "argv": ("--model", "m"), "env": {"A": "1"}}
    return LaunchSpec(**{**fields, **changes})


def test_a_container_gets_its_port_devices_mounts_and_nothing_of_our_environment(tmp_path):
    where = Container(image="vllm:1", mounts=(Mount(source=tmp_path, target="/models"),))
    plan = plan_container(
        spec(gpus=("0", "3"), where=where), where, port=9000, labels={"owner": "me"}
    )
    assert plan["environment"] == {"A": "1"}
    assert plan["ports"] == {"8000/tcp": ("127.0.0.1", 9000)}
    assert plan["volumes"] == {str(tmp_path): {"bind": "/models", "mode": "ro"}}
    assert plan["device_requests"] == [
        {"driver": "nvidia", "device_ids": ["0", "3"], "capabilities": [["gpu"]]}
    ]
    assert plan["labels"] == {"owner": "me"}
    assert "entrypoint" not in plan


def test_a_container_on_amd_gets_the_device_files_and_the_variable():
    where = Container(image="rocm", entrypoint=("vllm", "serve"))
    plan = plan_container(spec(gpus=("1",), vendor="amd"), where, port=1, labels={})
    assert plan["devices"] == ["/dev/kfd", "/dev/dri"]
    assert plan["environment"] == {"ROCR_VISIBLE_DEVICES": "1", "A": "1"}
    assert plan["entrypoint"] == ["vllm", "serve"]
    assert "device_requests" not in plan


def test_a_pod_is_one_container_that_is_never_started_twice_and_ends_by_itself():
    where = Pod(
        image="vllm@sha256:ab",
        name="engine-1",
        namespace="bench",
        claims=(Claim(name="models", target="/models"),),
        node_selector={"gpu": "h200"},
        total_deadline_s=600,
    )
    pod = pod_manifest(spec(gpus=("0", "1"), stop_grace_s=9.6), where)
    assert json.loads(json.dumps(pod)) == pod
    assert pod["metadata"]["name"] == "engine-1"
    inner = pod["spec"]
    assert (inner["restartPolicy"], inner["activeDeadlineSeconds"]) == ("Never", 600)
    assert inner["terminationGracePeriodSeconds"] == 10
    assert inner["nodeSelector"] == {"gpu": "h200"}
    (container,) = inner["containers"]
    assert container["args"] == ["--model", "m"]
    assert container["env"] == [{"name": "A", "value": "1"}]
    assert container["resources"] == {"limits": {"nvidia.com/gpu": 2}}
    mounted = {mount["name"] for mount in container["volumeMounts"]}
    assert mounted == {volume["name"] for volume in inner["volumes"]}


def test_a_pod_on_amd_asks_for_amd():
    pod = pod_manifest(spec(gpus=("0",), vendor="amd"), Pod(image="i", name="n"))
    assert pod["spec"]["containers"][0]["resources"] == {"limits": {"amd.com/gpu": 1}}
    none = pod_manifest(spec(), Pod(image="i", name="n"))
    assert none["spec"]["containers"][0]["resources"] == {"limits": {}}


def status(phase="Running", **changes):
    container = {"name": "engine", "imageID": "registry.example.org/vllm@sha256:ab"}
    container["state"] = changes.pop("state", {"running": {"startedAt": "x"}})
    inner = {"phase": phase, "podIP": "10.0.0.7", "containerStatuses": [container], **changes}
    return json.dumps({"kind": "Pod", "metadata": {}, "status": inner})


def test_a_running_pod():
    pod = read_pod(status())
    assert (pod.running, pod.address, pod.image_digest, pod.ended) == (
        True,
        "10.0.0.7",
        "sha256:ab",
        None,
    )


@pytest.mark.parametrize(
    ("text", "ended"),
    [
        (
            status("Failed", state={"terminated": {"exitCode": 137, "reason": "OOMKilled"}}),
            Ended(status=137, reason="OOMKilled"),
        ),
        (
            status("Running", state={"terminated": {"exitCode": 1, "reason": "Error"}}),
            Ended(status=1),
        ),
        (
            status("Failed", reason="Evicted", message="node low on memory", state={}),
            Ended(status=None, reason="Evicted node low on memory"),
        ),
        (
            status("Pending", state={"waiting": {"reason": "ErrImagePull", "message": "no tag"}}),
            Ended(status=None, reason="ErrImagePull: no tag"),
        ),
        (status("Pending", state={"waiting": {"reason": "ContainerCreating"}}), None),
    ],
    ids=["oom", "error", "evicted", "image", "creating"],
)
def test_how_a_pod_ends(text, ended):
    assert read_pod(text).ended == ended


def test_a_pod_that_finds_no_node_says_so():
    held = [{"type": "PodScheduled", "status": "False", "message": "0/3 nodes: too few GPUs"}]
    pod = read_pod(json.dumps({"status": {"phase": "Pending", "conditions": held}}))
    assert pod.progress == "the pod is Pending (0/3 nodes: too few GPUs)"
    assert (pod.running, pod.ended) == (False, None)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("ftp://host", "http or https"),
        ("127.0.0.1:8000", "http or https"),
        ("http://host:99999", "bad URL"),
        ("http://host:8000/v1", "no path"),
        ("http://me:secret@host", "credentials"),
    ],
)
def test_a_url_that_is_no_root_is_refused(url, said):
    with pytest.raises(UsageError, match=said):
        read_url(url)


def test_a_url_without_a_port_has_the_usual_one():
    assert read_url("https://host/").url == "https://host:443"
    assert spec(where=External(url="http://h:1")).environment == {"A": "1"}


def test_a_local_process_inherits_and_is_limited_to_its_devices(monkeypatch):
    monkeypatch.setenv("HOME", "/root")
    seen = spec(gpus=("2", "3")).environment
    assert (seen["HOME"], seen["A"], seen["CUDA_VISIBLE_DEVICES"]) == ("/root", "1", "2,3")


def test_arguments_of_vllm_serve():
    argv = serve_arguments(
        "org/m",
        host="127.0.0.1",
        port=8000,
        served_name="m",
        revision="abc",
        tool_call_parser="hermes",
        arguments=("--max-num-seqs=4",),
    )
    text = " ".join(argv)
    assert text == (
        "org/m --host 127.0.0.1 --port 8000 --served-model-name m --revision abc "
        "--enable-auto-tool-choice --tool-call-parser hermes --max-num-seqs=4"
    )


@pytest.fixture
def environment(tmp_path):
    binary = tmp_path / "venv" / "bin" / "vllm"
    binary.parent.mkdir(parents=True)
    binary.touch()
    return tmp_path / "venv"


def test_a_local_model_is_served_offline(environment, tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}")
    launch = vllm_launch(environment, tmp_path / "model", side="single", served_name="tiny")
    assert (launch.model, launch.env["HF_HUB_OFFLINE"]) == ("tiny", "1")
    assert "--enable-auto-tool-choice" not in launch.argv


def test_a_model_of_the_hub_is_fetched(environment):
    launch = vllm_launch(environment, "org/model-1.5", side="single", cpu=False, gpus=["0"])
    assert launch.model == "org/model-1.5"
    assert "HF_HUB_OFFLINE" not in launch.env
    assert launch.device_variables == {"CUDA_VISIBLE_DEVICES": "0"}


@pytest.mark.parametrize("model", ["./nowhere", "/nowhere", "a/b/c"])
def test_neither_a_folder_nor_a_name(environment, model):
    with pytest.raises(UsageError, match="no model in"):
        vllm_launch(environment, model, side="single")


PREFILL = RoleSpec(
    name="prefill",
    replicas=2,
    gpus=2,
    arguments=("--kv-transfer-config", '{"kv_role": "producer"}', "--port={self.port}"),
    env={"SIDE_CHANNEL": "{self.port.nixl}", "RANK": "{self.index}"},
    ports=("nixl",),
)
DECODE = RoleSpec(name="decode", gpus=4, arguments=("--peer={prefill.1.url}",))
ROUTER = RouterSpec(command=("router", "--prefill={prefill.urls}", "--decode={decode.0.url}"))


def planned(roles=(PREFILL, DECODE), router=ROUTER, devices=range(8), **options):
    ports = count(9000)
    return launch_roles(
        roles,
        router=router,
        command=("vllm", "serve", "m"),
        devices=[str(device) for device in devices],
        take_port=lambda: next(ports),
        **options,
    )


def test_roles_become_servers_with_devices_of_their_own_and_a_router_behind_them():
    first, second, decode, router = planned()
    assert [each.label for each in (first, second, decode, router)] == [
        "prefill.0",
        "prefill.1",
        "decode.0",
        "router",
    ]
    assert [each.gpus for each in (first, second, decode, router)] == [
        ("0", "1"),
        ("2", "3"),
        ("4", "5", "6", "7"),
        (),
    ]
    assert first.argv == (
        "vllm",
        "serve",
        "m",
        "--kv-transfer-config",
        '{"kv_role": "producer"}',
        "--port=9000",
    )
    assert second.env == {"SIDE_CHANNEL": "9003", "RANK": "1"}
    assert decode.argv[-1] == "--peer=http://127.0.0.1:9002"
    assert router.argv == (
        "router",
        "--prefill=http://127.0.0.1:9000,http://127.0.0.1:9002",
        "--decode=http://127.0.0.1:9004",
    )
    assert len({each.port for each in (first, second, decode, router)}) == 4


def test_one_server_needs_no_router():
    (only,) = planned(roles=(RoleSpec(name="all"),), router=None, devices=())
    assert (only.label, only.gpus) == ("all.0", ())


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"devices": range(7)}, r"need 8 GPUs \(prefill: 2 x 2, decode: 1 x 4\); there are 7"),
        ({"router": None}, "3 servers and no router"),
        ({"roles": ()}, "0 servers"),
        ({"roles": (DECODE, DECODE)}, "different names"),
        ({"roles": (RoleSpec(name="self"),)}, "neither self"),
        ({"roles": (RoleSpec(name="a", replicas=0), DECODE)}, "at least 1"),
        (
            {"router": RouterSpec(command=("r", "{prefil.0.url}"))},
            "unknown placeholder 'prefil.0.url'; did you mean 'prefill.0.url'",
        ),
    ],
    ids=["gpus", "no-router", "no-server", "twice", "reserved", "replicas", "placeholder"],
)
def test_what_cannot_be_started_is_told_before(changes, said):
    with pytest.raises(UsageError, match=said):
        planned(**changes)
