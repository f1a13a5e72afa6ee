"""Every load client that is installed, against a server whose timing is known.

Environments are given by GAUNTLET_VLLM_RS (the program, or an unpacked wheel),
GAUNTLET_ENGINE_VENV, GAUNTLET_AIPERF_VENV and GAUNTLET_GUIDELLM_VENV; what is neither there nor on
PATH is skipped.
"""

import os
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
import yaml

from gauntlet.harness.clients.catalog import NAMES, Places, clients_of
from gauntlet.harness.clients.port import ClientLoad
from gauntlet.harness.clients.run import run_client
from gauntlet.harness.clients.tokenizer import write_word_tokenizer
from gauntlet.harness.engines.engine import Engine
from gauntlet.harness.engines.simulator import simulator_launch
from gauntlet.harness.load.known_timing import KnownTiming, NoCompilerError, build_known_timing

pytestmark = pytest.mark.alone

# Some of them import for half a minute on a busy machine.
LIMIT_S = 200
REQUESTS, OUTPUT = 12, 8


def place(variable):
    value = os.environ.get(variable)
    return Path(value) if value else None


def installed(name):
    """The client, or a skip with the way to get it."""
    places = Places(
        engine_venv=place("GAUNTLET_ENGINE_VENV"),
        vllm_rs=place("GAUNTLET_VLLM_RS"),
        aiperf_venv=place("GAUNTLET_AIPERF_VENV"),
        guidellm_venv=place("GAUNTLET_GUIDELLM_VENV"),
    )
    client = next(each for each in clients_of((), places) if each.name == name)
    how = client.available()
    if how is not None:
        pytest.skip(f"{name}: {how}")
    return client


@pytest.fixture
def server(tmp_path):
    try:
        build_known_timing()
    except NoCompilerError as error:
        pytest.skip(error.message)
    with KnownTiming(workdir=tmp_path, ttft_ms=20.0, itl_ms=4.0) as running:
        yield running


@pytest.fixture
def load(server, tmp_path):
    return ClientLoad(
        base_url=server.base_url,
        model="known-timing",
        requests=REQUESTS,
        input_tokens=16,
        output_tokens=OUTPUT,
        concurrency=3,
        tokenizer=write_word_tokenizer(tmp_path / "words"),
    )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["closed", "open"])
def test_a_client_measures_what_it_was_asked_to(name, kind, server, load, tmp_path):
    client = installed(name)
    if kind == "open":
        load = replace(load, concurrency=None, rate=20.0)
    said = run_client(client, load, tmp_path / "run", limit_s=LIMIT_S)
    assert (said.status, said.reasons) == ("ok", ()), said.tail
    truth = server.truth()
    assert (truth.requests, truth.chunks) == (REQUESTS, REQUESTS * OUTPUT), "and no request more"
    assert said.version
    # No client can see a token before it was sent; how much later is not for a test to say.
    assert said.value("ttft_ms", "mean") >= 0.99 * truth.ttft_ms["mean"]
    assert said.value("tpot_ms", "mean") is not None
    assert said.value("output_tokens_per_s", "mean") > 0
    assert said.usage.cpu_s > 0
    assert said.usage.peak_rss_kib > 1024


@pytest.fixture
def failing(tmp_path):
    """An engine that answers every third request with status 503."""
    config = tmp_path / "engine.yaml"
    timing = {"decode_step_ms": 2.0, "startup_s": 0.0}
    settings = {"name": "x", "model": "m", "timing": timing, "faults": {"http_503_every": 3}}
    config.write_text(yaml.safe_dump(settings))
    launch = simulator_launch(config, workdir=tmp_path, side="baseline", seed=1)
    with Engine(launch, side="baseline", log=tmp_path / "log") as engine:
        engine.start()
        yield engine.endpoint.base_url


@pytest.mark.parametrize("name", NAMES)
def test_failures_are_told_whatever_the_exit_status(name, failing, load, tmp_path):
    client = installed(name)
    load = replace(load, base_url=failing, model="m")
    said = run_client(client, load, tmp_path / "run", limit_s=LIMIT_S)
    assert said.status == "invalid"
    assert f"requests: 8 completed of {REQUESTS} asked" in said.reasons
    assert any(reason.startswith("requests: 4 failed") for reason in said.reasons)


def test_the_known_timing_server_answers_completions_and_nothing_else(server):
    """What a client tries besides its load (a tokenizer) is no answer that counts."""
    with httpx.Client(base_url=server.base_url, trust_env=False) as client:
        for path in ("/tokenize", "/server_info", "/v1/completions/x"):
            assert client.post(path, json={"prompt": "x"}).status_code == 404
        assert server.truth().requests == 0
        for path in ("/v1/completions", "/v1/chat/completions?x=1"):
            assert client.post(path, json={"prompt": "x", "max_tokens": 1}).status_code == 200
        assert server.truth().requests == 2
