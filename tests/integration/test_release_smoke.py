"""Wheels that are installed, served and asked; and every way in which that goes wrong."""

import os
import socket
import sys
import zipfile
from datetime import UTC

import httpx
import pytest
from oci_images import digest_of
from small_wheel import small_wheel

from gauntlet.core.errors import UsageError
from gauntlet.release.artifacts import Artifact
from gauntlet.release.smoke import serve
from gauntlet.release.smoke.result import SmokeResult, host_platform
from gauntlet.release.smoke.serve import Server, free_port, serve_once
from gauntlet.release.smoke.settings import SmokeSettings
from gauntlet.release.smoke.wheel import WheelTrial, try_wheel
from gauntlet.release.version import ReleaseVersion

FULL = os.environ.get("GAUNTLET_SLOW") == "full"
only_in_full = pytest.mark.skipif(not FULL, reason="seconds each; `make check-full` runs it")
VERSION = ReleaseVersion.parse("v1.2.0rc1")
COMMAND = ("{python}", "-m", "small.serve", "--port", "{port}")
QUICK = {"command": COMMAND, "startup_s": 30, "request_s": 30}


def trial(wheel, **settings):
    artifact = Artifact(
        kind="wheel",
        cell="all",
        name=wheel.name,
        digest=digest_of(wheel.read_bytes()),
        size_bytes=wheel.stat().st_size,
    )
    return WheelTrial(
        path=wheel,
        artifact=artifact,
        package="small",
        version=VERSION,
        settings=SmokeSettings(**{**QUICK, **settings}),
    )


def test_a_wheel_that_works_passes_and_says_what_was_answered(tmp_path):
    result = try_wheel(trial(small_wheel(tmp_path, says="1.2.0+cu129")))
    assert (result.outcome, result.findings) == ("pass", ())
    assert result.said.startswith("hello as ")
    assert (result.platform, result.at.tzinfo) == (host_platform(), UTC)
    assert SmokeResult.model_validate_json(result.model_dump_json()) == result


@pytest.mark.parametrize(
    ("wheel", "check", "said"),
    [
        ({"says": "1.1.0"}, "smoke-version", "small.__version__ is '1.1.0', not 1.2.0"),
        pytest.param(
            {"version": "1.1.0"},
            "smoke-version",
            "it is installed as 1.1.0, not 1.2.0",
            marks=[pytest.mark.slow, only_in_full],
        ),
        pytest.param(
            {"more": {"small/__init__.py": "import torch\n"}},
            "smoke-import",
            "import small: ModuleNotFoundError: No module named 'torch'",
            marks=[pytest.mark.slow, only_in_full],
        ),
        pytest.param(
            {"needs": "torch"},
            "smoke-install",
            "No matching distribution found for torch",
            marks=[pytest.mark.slow, only_in_full],
        ),
    ],
    ids=["wrong version inside", "wrong version", "import fails", "dependency missing"],
)
def test_a_wheel_that_does_not_work_fails_with_the_reason(tmp_path, wheel, check, said):
    result = try_wheel(trial(small_wheel(tmp_path, **wheel)))
    (finding,) = result.findings
    assert (result.outcome, finding.check, result.said) == ("fail", check, "")
    assert said in finding.message


@pytest.mark.slow
@only_in_full
def test_a_dependency_may_come_from_a_folder(tmp_path):
    small_wheel(tmp_path / "more", name="other", version="2.0")
    wheel = small_wheel(tmp_path, needs="other==2.0")
    given = trial(wheel)
    result = try_wheel(
        WheelTrial(
            path=wheel,
            artifact=given.artifact,
            package="small",
            version=VERSION,
            settings=given.settings,
            dependencies=tmp_path / "more",
        )
    )
    assert result.outcome == "pass"


def test_a_wheel_for_another_machine_is_missing_and_no_pass(tmp_path):
    result = try_wheel(trial(small_wheel(tmp_path, tag="cp38-abi3-manylinux_2_28_s390x")))
    (finding,) = result.findings
    assert (result.outcome, finding.level) == ("missing", "error")
    assert "it is for cp38-abi3-manylinux_2_28_s390x, and this is linux/" in finding.message


def test_what_is_no_wheel_or_another_wheel_is_not_tried(tmp_path):
    wheel = small_wheel(tmp_path)
    given = trial(wheel)
    wheel.write_bytes(b"other")
    with pytest.raises(UsageError, match="and the artifact is sha256:"):
        try_wheel(given)
    wheel.unlink()
    with pytest.raises(UsageError, match="No such file"):
        try_wheel(given)
    odd = small_wheel(tmp_path).rename(tmp_path / "small.whl")
    with pytest.raises(UsageError, match=r"small\.whl"):
        try_wheel(trial(odd))


FAULTS = {
    "dies": ("smoke-server", "it ended with 1 before it was healthy\nno accelerator was found"),
    "never healthy": ("smoke-health", "not healthy in 1.5 s: "),
    "empty": ("smoke-completion", "the completion is empty: '  '"),
    "nonsense": ("smoke-completion", "what it answers is no completion"),
    "dies when asked": ("smoke-server", "it ended with 3 when it was asked"),
    "hang": ("smoke-completion", "no answer in 1.5 s"),
}


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("unpacked")
    with zipfile.ZipFile(small_wheel(folder)) as archive:
        archive.extractall(folder)
    return folder


@pytest.mark.parametrize("fault", FAULTS)
def test_a_server_that_fails_is_a_finding_and_nothing_is_left_running(unpacked, tmp_path, fault):
    check, said = FAULTS[fault]
    # A server has to have time to start; only one that never answers has to be given up quickly.
    startup_s = 1.5 if fault == "never healthy" else 30
    request_s = 1.5 if fault == "hang" else 30
    settings = SmokeSettings(command=COMMAND, startup_s=startup_s, request_s=request_s)
    port = free_port()
    server = Server(
        subject="small",
        argv=settings.filled(COMMAND, port=port, python=sys.executable),
        port=port,
        folder=unpacked,
        environment={"SMALL_FAULT": fault},
        log=tmp_path / "server.log",
    )
    tried = serve_once(server, settings)
    (finding,) = tried.findings
    assert (finding.check, tried.said) == (check, "")
    assert said in finding.message
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0


def test_a_server_that_can_only_chat_is_asked_to():
    def answer(request):
        if request.url.path == "/v1/completions":
            return httpx.Response(404)
        return httpx.Response(200, json={"choices": [{"message": {"content": "hi"}}]})

    client = httpx.Client(transport=httpx.MockTransport(answer), base_url="http://127.0.0.1")
    assert serve._complete(client, SmokeSettings(model="m")) == "hi"
