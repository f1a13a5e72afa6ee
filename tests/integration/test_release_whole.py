"""A release of a small real engine from its cut to what pip installs, and killed on the way."""

import json
import os
import random
import shutil
import subprocess
import sys
from contextlib import contextmanager

import pytest
from package_index import served
from registry import running_registry
from release_world import World, clean
from stores import served_folder

DOCUMENTS = "v1.2.0/published/documents"
KILLS = 20 if os.environ.get("GAUNTLET_SLOW") == "full" else 3
needs_programs = pytest.mark.skipif(
    not all(map(shutil.which, ("buildah", "skopeo", "docker-registry", "gcc"))),
    reason="needs buildah, skopeo, docker-registry and a C compiler",
)
pytestmark = [needs_programs, pytest.mark.timeout(1200)]


def story(world):
    """The commands of a release, with what the world does between them, in order."""
    local = ("--local", "--base", world.base, "--yes")
    yield lambda: world.build(world.cut_at, 1, "main", position=3)
    yield ("cut", "v1.2.0", "--yes")
    yield ("candidate", "v1.2.0", "--yes")
    yield ("build", "v1.2.0rc1", *local, "--build-sdist")
    yield lambda: world.build(world.cut_at, 2, "releases/v1.2.0")
    yield lambda: world.measure("v1.2.0rc1")
    yield ("gate", "v1.2.0rc1")
    yield world.fix
    yield ("picks", "v1.2.0", "FIXED", "--apply", "--yes")
    yield ("candidate", "v1.2.0", "--yes")
    yield ("build", "v1.2.0rc2", *local)
    yield lambda: world.build(world.state()["candidates"][1]["commit"], 3, "releases/v1.2.0")
    yield lambda: world.measure("v1.2.0rc2")
    yield ("gate", "v1.2.0rc2")
    yield ("publish", "v1.2.0", "--yes")


EXPECTED = {("gate", "v1.2.0rc1"): 6}


def play(world, moments=None, until=""):
    """Play the story; ``moments`` gives times at which to kill, by the number of the command."""
    for number, step in enumerate(story(world)):
        if not callable(step) and step[0] == until:
            return
        if callable(step):
            step()
            continue
        arguments = [world.fixed if word == "FIXED" else word for word in step]
        for moment in (moments or {}).get(number, ()):
            world.run(*arguments, kill_after=moment)
        world.run(*arguments, status=EXPECTED.get(step, 0))


@pytest.fixture(scope="module")
def beginning(tmp_path_factory):
    return World(tmp_path_factory.mktemp("beginning")).begin()


@contextmanager
def staged(beginning, folder):
    """A copy of the beginning with a registry and a warehouse of its own."""
    with (
        running_registry(folder / "registry") as registry,
        served_folder(folder / "w" / "warehouse") as location,
    ):
        world = beginning.copy(folder / "world")
        world.location = location
        policy = world.folder / "policy.yaml"
        policy.write_text(policy.read_text().replace('public: ""', f'public: "{registry.place}"'))
        yield world, registry


@pytest.fixture(scope="module")
def whole(beginning, tmp_path_factory):
    """The release without any accident but a registry that is down when it is published."""
    with staged(beginning, tmp_path_factory.mktemp("whole")) as (world, registry):
        play(world, until="publish")
        registry.stop()
        world.run("publish", "v1.2.0", "--yes", status=7)
        registry.start()
        world.run("publish", "v1.2.0", "--yes")
        yield world


def test_the_first_candidate_was_stopped_and_says_why(whole):
    told = json.loads(whole.run("why", "v1.2.0rc1", "--json"))
    states = {gate["gate"]: gate["state"] for gate in told["gates"]}
    assert states == {
        "branch": "PASS", "artifacts": "PASS", "full-ci": "PASS", "performance": "FAIL",
        "accuracy": "PASS",
    }  # fmt: skip
    (problem,) = next(g["problems"] for g in told["gates"] if g["gate"] == "performance")
    assert problem["key"] == "tiny@CPU/load/one/e2e_ms/p50"


def test_the_difference_of_the_candidates_names_the_fix(whole):
    told = json.loads(whole.run("diff", "v1.2.0rc1", "v1.2.0rc2", "--json"))
    assert [each["key"] for each in told["fixed"]] == ["tiny@CPU/load/one/e2e_ms/p50"]
    assert (told["introduced"], told["still"]) == ([], [])
    assert [each["title"] for each in told["suspects"]] == ["Do not wait so long (#3)"]


def test_what_is_published_is_as_recorded(whole):
    out = whole.run("verify", "v1.2.0", "--key", str(whole.folder / "key.pub"))
    assert out == "v1.2.0: all is well\n"
    record = json.loads(whole.run("record", "v1.2.0", "--json"))
    assert record["candidate"] == "v1.2.0rc2"
    assert [pick["title"] for pick in record["commits"]] == ["Do not wait so long (#3)"]
    tags = {(tag["repository"], tag["tag"]) for tag in record["tags"]}
    assert {("tiny/engine", "v1.2.0"), ("tiny/engine", "latest")} < tags
    assert "Do not wait so long" in whole.run("record", "v1.2.0")


def test_pip_installs_what_was_published_and_it_answers(whole, tmp_path):
    index = whole.releases / "public" / "index"
    with served(index) as (url, _):
        for variant, version in (("", "1.2.0"), ("cpu/", "1.2.0+cpu")):
            place = tmp_path / (variant.strip("/") or "default")
            pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(place)]
            source = ["--index-url", f"{url}1.2.0/{variant}", "--no-deps"]
            subprocess.run([*pip, *source, f"tinyengine=={version}"], check=True, timeout=120)
            code = "import tinyengine._core as c; print(c.complete('abc'))"
            done = subprocess.run(
                [sys.executable, "-c", code], cwd=place, check=True, capture_output=True, text=True
            )
            assert done.stdout == "cba\n"


def test_published_again_it_is_published_already(whole):
    assert whole.run("publish", "v1.2.0", "--yes") == "v1.2.0 is published already\n"


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda p: _change(next(p.glob("public/index/*/*.whl"))), "is another file"),
        (lambda p: _change(p / DOCUMENTS / "NOTES.md"), "is not what was signed"),
        (
            lambda p: _change(p / "v1.2.0" / "published" / "documents" / "record.json"),
            "record.json",
        ),
        (lambda p: next(p.glob("public/index/*/*.tar.gz")).unlink(), "is not there"),
    ],
    ids=["file", "notes", "record", "gone"],
)
def test_what_was_changed_after_publishing_is_found(whole, tmp_path, spoil, said):
    other = whole.copy(tmp_path / "spoiled")
    other.location = whole.location
    spoil(other.releases)
    index = ["--index", str(other.releases / "public" / "index")]
    out = other.run("verify", "v1.2.0", "--key", str(whole.folder / "key.pub"), *index, status=6)
    if said != "record.json":
        assert said in out


def _change(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


@pytest.mark.slow
def test_killed_at_random_moments_the_release_comes_out_the_same(beginning, whole, tmp_path):
    """The commands are killed with all their children, and run again, with nothing mended."""
    dice = random.Random(20)
    steps = [n for n, step in enumerate(story(whole)) if not callable(step)]
    told = {"cut", "candidate", "build", "gate", "picks", "publish"}
    lasted = [each for each in whole.commands if each[0][0] in told and each[2] != 7]
    spans = [(n, seconds) for n, (_, seconds, _) in zip(steps, lasted, strict=False)]
    moments = {}
    for _ in range(KILLS):
        number, seconds = dice.choices(spans, weights=[s for _, s in spans])[0]
        moments.setdefault(number, []).append(dice.uniform(0.05, seconds))
    with staged(beginning, tmp_path) as (world, _):
        play(world, moments)
        assert world.outcome() == whole.outcome()
        assert world.run("verify", "v1.2.0", "--key", str(world.folder / "key.pub"))
    assert clean(world.releases) == []
