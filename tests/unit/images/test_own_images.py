"""The images of this repository: what is committed is what is written, and is in order."""

import re
from pathlib import Path

import pytest

from gauntlet.images.bake import render
from gauntlet.images.lint import find_hadolint, lint
from gauntlet.images.model import BAKE, Images
from gauntlet.images.verify import verify
from gauntlet.locks.lock_file import load_lock

ROOT = Path(__file__).resolve().parents[3]
# Digests that no public text told, which `gauntlet images bases update` asks a registry for.
NOT_ASKED = {"rocm", "xpu"}


@pytest.fixture(scope="module")
def images():
    return Images(ROOT)


def test_the_bake_file_is_fresh(images):
    assert (ROOT / BAKE).read_text() == render(images), "run: gauntlet images bake"


def test_the_bake_file_is_hcl_with_every_target_and_group(images):
    hcl2 = pytest.importorskip("hcl2", reason="python-hcl2 is not installed")
    read = hcl2.loads((ROOT / BAKE).read_text())
    names = {name.strip('"') for block in read["target"] for name in block}
    assert names == set(images.manifest.targets)
    groups = {name.strip('"') for block in read["group"] for name in block}
    assert groups == {"default", *images.manifest.groups}


def test_the_bake_file_uses_variables_and_functions_that_it_declares():
    text = re.sub(r"#.*", "", (ROOT / BAKE).read_text())
    declared = set(re.findall(r'variable "(\w+)"', text))
    plain = re.sub(
        r'"(?:\$\{[^}]*\}|[^"])*"', lambda m: " ".join(re.findall(r"\$\{([^}]*)\}", m[0])), text
    )
    used = set(re.findall(r"\b[A-Z][A-Z0-9_]{2,}\b", plain))
    assert used <= declared
    functions = set(re.findall(r'function "(\w+)"', text))
    called = set(re.findall(r"\b([a-z_]+)\(", text))
    known = {"equal", "notequal", "compact", "concat", "split"}
    assert called <= functions | known


def test_everything_is_in_order_but_what_is_known_to_be_missing(images):
    findings = verify(images).findings
    assert all(
        each.check == "image-base" and any(f"base {name!r}" in each.message for name in NOT_ASKED)
        for each in findings
    ), findings


def test_hadolint_has_nothing_to_say():
    program = find_hadolint()
    if program is None:
        pytest.skip("hadolint is not installed")
    files = sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("dockerfiles/*.Dockerfile"))
    assert len(files) == 2
    assert lint(program, ROOT, files) == ()


def test_a_bad_dockerfile_is_linted(tmp_path):
    program = find_hadolint()
    if program is None:
        pytest.skip("hadolint is not installed")
    (tmp_path / "Dockerfile").write_text("FROM python\nRUN apt-get install git\n")
    assert "lint-DL3006" in {each.check for each in lint(program, tmp_path, ["Dockerfile"])}


def test_what_ships_and_what_is_tested_are_one_for_every_accelerator(images):
    targets = images.manifest.targets
    for name in images.manifest.groups["release"]:
        release, test = targets[name], targets[f"{name}-test"]
        assert (release.bases, release.platforms) == (test.bases, test.platforms)
        assert {**release.args, "TEST_LOCK": f"test-{release.args['LOCK']}"} == test.args
        assert release.locks == (release.args["LOCK"],)
        assert test.locks == (*release.locks, test.args["TEST_LOCK"])
        assert release.contexts == test.contexts


def test_torch_comes_from_a_lock_or_from_wheels_that_are_given(images):
    for name in images.manifest.groups["engine"]:
        target = images.manifest.targets[name]
        file = f"lockfiles/{target.args['LOCK']}.txt"
        locked = "torch" in load_lock(ROOT / file, file=file).by_name
        assert locked == ("torch" not in target.unlocked)
        assert locked == (target.contexts["torch"] is not None)


def test_the_image_of_gauntlet_copies_every_package():
    text = (ROOT / "dockerfiles/gauntlet.Dockerfile").read_text()
    links = {path.name for path in (ROOT / "src/gauntlet").iterdir() if path.is_symlink()}
    assert links == set(re.findall(r"^COPY (\w+) \1$", text, re.MULTILINE)) - {"src"}
