"""What every adapter promises, tried with every adapter that can run here.

Docker and kubectl are faithful fakes that run real processes; see their modules.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import fake_docker
import fake_kubectl_path
import httpx
import pytest
import yaml

from gauntlet.core.errors import UsageError
from gauntlet.harness.engines.engine import Engine
from gauntlet.harness.engines.errors import EngineDeath, EngineError
from gauntlet.harness.engines.launch import Container, External, LaunchSpec, Pod
from gauntlet.harness.engines.ports import free_port
from gauntlet.harness.engines.runtimes.choose import runtime_for
from gauntlet.harness.engines.runtimes.docker import DockerRuntime
from gauntlet.harness.engines.simulator import simulator_launch

SERVER = str(Path(__file__).parents[1] / "small_server.py")


@dataclass
class Case:
    """An adapter, and how to kill what it started, from outside."""

    spec: LaunchSpec
    runtime: object
    log: Path
    kill: Callable[[], None]
    owned: bool = True
    has_pid: bool = True

    def engine(self):
        return Engine(self.spec, side="single", log=self.log, runtime=self.runtime)


def _spec(**changes):
    fields = {"kind": "small", "label": "small", "ready_timeout_s": 30.0, "stop_grace_s": 1.0}
    return LaunchSpec(**{**fields, **changes})


def _process(tmp_path, _clean):
    port = free_port()
    spec = _spec(argv=(sys.executable, SERVER, str(port)), port=port)
    runtime = runtime_for(spec, tmp_path / "log")
    return Case(spec, runtime, tmp_path / "log", lambda: os.kill(runtime.root_pid, signal.SIGKILL))


def _simulator(tmp_path, _clean):
    config = tmp_path / "engine.yaml"
    config.write_text(yaml.safe_dump({"model": "small"}))
    spec = simulator_launch(config, workdir=tmp_path, side="single", seed=1)
    runtime = runtime_for(spec, tmp_path / "log")
    return Case(spec, runtime, tmp_path / "log", lambda: os.kill(runtime.root_pid, signal.SIGKILL))


def _url(tmp_path, clean):
    port = free_port()
    process = subprocess.Popen([sys.executable, SERVER, str(port)], stdout=subprocess.DEVNULL)
    clean.append(lambda: (process.kill(), process.wait()))
    spec = _spec(where=External(url=f"http://127.0.0.1:{port}"))
    runtime = runtime_for(spec, tmp_path / "log")
    return Case(spec, runtime, tmp_path / "log", process.kill, owned=False, has_pid=False)


def _docker(tmp_path, clean):
    client = fake_docker.Client()
    clean.append(client.close)
    where = Container(image="small:1")
    spec = _spec(where=where, argv=(SERVER, "8000"))
    runtime = DockerRuntime(spec, where, tmp_path / "log", client=client)

    def kill():
        client.containers.all[0].process.kill()

    return Case(spec, runtime, tmp_path / "log", kill)


def _kubernetes(tmp_path, clean):
    state = fake_kubectl_path.install(tmp_path, clean)
    where = Pod(image="small:1", name="small")
    spec = _spec(where=where, argv=(SERVER, "8000"))
    runtime = runtime_for(spec, tmp_path / "log")

    def kill():
        os.kill(int((state / "pid").read_text()), signal.SIGKILL)

    return Case(spec, runtime, tmp_path / "log", kill, has_pid=False)


CASES = {
    "process": _process,
    "simulator": _simulator,
    "url": _url,
    "docker": _docker,
    "kubernetes": _kubernetes,
}


@pytest.fixture(params=CASES)
def case(request, tmp_path):
    clean = []
    made = CASES[request.param](tmp_path, clean)
    yield made
    made.runtime.stop()
    for step in reversed(clean):
        step()


def answers(url):
    try:
        return httpx.get(f"{url}/health", timeout=5, trust_env=False).is_success
    except httpx.TransportError:
        return False


def wait_until(condition, within_s=15.0):
    deadline = time.monotonic() + within_s
    while not (value := condition()):
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.02)
    return value


def test_before_its_start_it_has_not_ended_and_may_be_stopped(case):
    assert case.runtime.ended() is None or not case.owned
    assert case.runtime.root_pid is None
    assert case.runtime.log_tail() == ""
    case.runtime.stop()
    case.runtime.stop()


def test_it_answers_at_its_address_says_who_it_is_and_is_stopped(case):
    with case.engine() as engine:
        engine.start()
        assert answers(engine.endpoint.base_url)
        assert (engine.endpoint.model, engine.identity.served_models[0]) == ("small", "small")
        engine.ensure_alive("while nothing was done")
        assert case.runtime.ended() is None
        assert bool(engine.root_pids) == case.has_pid
        image = "sha256:fake" if isinstance(case.spec.where, Container | Pod) else None
        assert engine.identity.image_digest == image
        assert all(Path(f"/proc/{pid}").exists() for pid in engine.root_pids)
        assert bool(wait_until(lambda: not case.owned or case.runtime.log_tail()))
        url = engine.endpoint.base_url
    assert answers(url) is not case.owned


def test_a_death_is_told_at_once_and_every_time_one_asks(case):
    told, heard = [], threading.Event()

    def listen(death):
        told.append(death)
        heard.set()

    with case.engine() as engine:
        engine.start()
        with engine.on_death(listen):
            case.kill()
            assert heard.wait(10)
        with pytest.raises(EngineDeath, match=r"the single engine .* during a load") as caught:
            engine.ensure_alive("during a load")
        assert caught.value.exit_code == 4
        for death in (*told, caught.value):
            assert death.ended.status == (137 if case.owned else None)
            assert death.failure.failure == ("killed" if case.owned else "unknown")
        late = []
        with engine.on_death(late.append):
            assert late == told


def test_a_container_over_its_memory_limit_is_out_of_memory(tmp_path):
    clean = []
    case = _docker(tmp_path, clean)
    with case.engine() as engine:
        engine.start()
        container = case.runtime._client.containers.all[0]
        container.oom = True
        case.kill()
        with pytest.raises(EngineDeath, match="out_of_memory"):
            engine.ensure_alive("now", settle_s=10)
    clean[0]()


def test_containers_of_owners_that_are_gone_are_removed_and_of_others_are_not(tmp_path):
    clean = []
    case = _docker(tmp_path, clean)
    containers = case.runtime._client.containers
    mine = {"gauntlet.host": os.uname().nodename}
    sleep = [sys.executable, "-c", "import time; time.sleep(60)"]
    gone = fake_docker.Container(sleep, {**mine, "gauntlet.pid": "1", "gauntlet.pid-started": "x"})
    other = fake_docker.Container(sleep, {"gauntlet.host": "elsewhere", "gauntlet.pid": "1"})
    containers.all += [gone, other]
    case.runtime.start()
    assert (gone.removed, other.removed) == (True, False)
    case.runtime.stop()
    clean[0]()


def test_an_image_that_cannot_be_run_leaves_nothing(tmp_path):
    client = fake_docker.Client()
    where = Container(image="unstartable")
    runtime = DockerRuntime(
        _spec(where=where, argv=(SERVER, "8000")), where, tmp_path / "log", client=client
    )
    with pytest.raises(EngineError, match="unstartable cannot be run: could not select device"):
        runtime.start()
    assert [container.removed for container in client.containers.all] == [True]
    client.close()


def test_without_the_sdk_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "docker", None)
    spec = _spec(where=Container(image="small:1"))
    with pytest.raises(UsageError, match="docker SDK") as caught:
        runtime_for(spec, tmp_path / "log").start()
    assert "gauntlet[docker]" in caught.value.hint


def test_without_kubectl_it_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    spec = _spec(where=Pod(image="small:1", name="small"))
    with pytest.raises(UsageError, match="kubectl"):
        runtime_for(spec, tmp_path / "log").start()


def test_a_refused_pod_is_an_error_with_the_cluster_s_words(tmp_path, monkeypatch):
    binary = tmp_path / "kubectl"
    binary.write_text("#!/bin/sh\necho 'Error: pods is forbidden' >&2\nexit 1\n")
    binary.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    spec = _spec(where=Pod(image="small:1", name="small"))
    with pytest.raises(EngineError, match="refuses the pod default/small: .*\n.*forbidden"):
        runtime_for(spec, tmp_path / "log").start()
