from pathlib import Path

import pytest
from image_targets import CREATED, DIGEST, REVISIONS, a_repository

from gauntlet.core.errors import InfrastructureError, UsageError
from gauntlet.images.build import BuildRequest, build_steps
from gauntlet.images.drivers.buildah import Buildah
from gauntlet.images.drivers.buildx import Buildx
from gauntlet.images.drivers.choose import driver_of
from gauntlet.images.oci.reference import Place
from gauntlet.images.plan import PlanRequest, plan_images
from gauntlet.images.revisions import Revisions

PLACE = "docker://registry.example.org/ci"


def planned(
    images, *, exists=None, revisions=REVISIONS, driver=("buildah", "no docker"), **request
):
    return plan_images(images, PlanRequest(**request), revisions, exists=exists, driver=driver)


def test_without_a_registry_everything_is_built_and_says_so(tmp_path):
    plan = planned(a_repository(tmp_path))
    assert [(cell.target, cell.action, cell.reason) for cell in plan.cells] == [
        ("small", "build", "no registry was asked"),
        ("small-test", "build", "no registry was asked"),
    ]
    assert plan.cells[0].cache_from == ()


def test_what_the_registry_has_is_skipped_by_its_key(tmp_path):
    images = a_repository(tmp_path)
    key = planned(images).cells[0].tag
    asked = []

    def exists(repository, tag, platform):
        asked.append((repository, tag, platform))
        return tag == key

    small, test = planned(images, exists=exists, place=PLACE).cells
    assert (small.action, small.reason) == ("skip", f"acme/small:{key} has the same content")
    assert test.action == "build"
    assert asked[0] == ("acme/small", key, "linux/amd64")
    (tmp_path / "source/make.py").write_text("changed\n")
    assert planned(images, exists=exists, place=PLACE).cells[0].action == "build"


def test_caches_are_looked_into_from_the_nearest_to_main(tmp_path):
    cell = planned(a_repository(tmp_path), place=PLACE).cells[0]
    prefix = "registry.example.org/ci/cache/acme/small:"
    assert [ref.removeprefix(prefix) for ref in cell.cache_from] == [
        f"commit-{'c' * 40}",
        f"commit-{'p' * 40}",
        f"commit-{'m' * 40}",
        "branch-feature-x-y",
        "main",
    ]
    assert f"{prefix}main" not in cell.cache_to
    main = Revisions(commit="c" * 40, branch="main", is_main=True, created=CREATED)
    assert main.cache_targets() == (f"commit-{'c' * 40}", "branch-main", "main")


def test_a_base_without_a_digest_blocks_with_the_remedy(tmp_path):
    images = a_repository(tmp_path, digest=None)
    (cell, _) = planned(images).cells
    assert cell.action == "blocked"
    assert "gauntlet images bases update" in cell.reason
    assert planned(images, bases={"python": f"python@{DIGEST}"}).cells[0].action == "build"
    with pytest.raises(UsageError, match="has no digest"):
        steps(images, tmp_path)


def test_a_mirror_changes_where_bases_come_from_and_no_key(tmp_path):
    images = a_repository(tmp_path)
    own, mirrored = planned(images).cells[0], planned(images, mirror="m.example.org/x").cells[0]
    assert mirrored.bases == {"PYTHON_BASE": f"m.example.org/x/python:3@{DIGEST}"}
    assert own.key == mirrored.key


def test_how_it_is_built_is_in_no_key_and_what_is_built_is(tmp_path):
    images = a_repository(tmp_path)
    own = planned(images).cells[0].key
    assert planned(images, args={"SPEED": "9"}).cells[0].key == own
    assert planned(images, args={"LOCK": "other"}).cells[0].key != own


def steps(images, folder, *, secrets=None, **request):
    asked = PlanRequest(targets=("small",), **request)
    plan = plan_images(images, asked, REVISIONS, exists=None, driver=("buildah", ""))
    build = BuildRequest(
        plan=asked,
        work=folder / "work",
        place=Place.parse(f"oci:{folder}/out"),
        version="1.2",
        secrets=secrets or {},
    )
    return [step for _, step in build_steps(images, plan, build, REVISIONS, folder / "layouts")]


def test_buildah_is_told_everything_and_has_no_clock(tmp_path):
    secrets = {"pip": Path("/etc/pip.conf")}
    (step,) = steps(a_repository(tmp_path), tmp_path, secrets=secrets)
    (command,) = Buildah().commands(step)
    text = " ".join(command)
    assert f"--timestamp {int(CREATED.timestamp())}" in text
    assert f"--build-arg PYTHON_BASE=python:3@{DIGEST}" in text
    assert "--build-arg LOCK=small" in text
    assert f"--label org.opencontainers.image.revision={'c' * 40}" in text
    assert "--label org.opencontainers.image.created=2026-11-20T12:00:00Z" in text
    assert "--secret id=pip,src=/etc/pip.conf" in text
    assert "--target release" in text


def test_a_base_of_a_layout_is_brought_in_first(tmp_path):
    images = a_repository(tmp_path)
    (step,) = steps(images, tmp_path, bases={"python": "oci:/bases/python:it"})
    load, build = Buildah().commands(step)
    assert load[:3] == ["skopeo", "copy", "oci:/bases/python:it"]
    assert "PYTHON_BASE=localhost/base-0:it" in build


def test_buildx_is_told_the_same_through_the_bake_file(tmp_path):
    (step,) = steps(a_repository(tmp_path), tmp_path, place=PLACE)
    (command,) = Buildx(REVISIONS.variables()).commands(step)
    text = " ".join(command)
    assert "COMMIT=" + "c" * 40 in command
    assert "BRANCH=feature-x-y" in command
    assert "docker buildx bake --file docker-bake.hcl" in text
    assert "--provenance=false" in text
    assert f"--set small.args.PYTHON_BASE=python:3@{DIGEST}" in text
    sources = [word for word in command if word.startswith("small.cache-from")]
    assert sources[0].startswith("small.cache-from=type=registry,ref=registry.example.org/ci/cache")
    assert len(sources) == 5
    assert not any("cache-to" in word and word.endswith(":main") for word in command)
    assert command[-1] == "small"


def test_a_secret_that_no_target_takes_is_refused(tmp_path):
    with pytest.raises(UsageError, match="no target of these takes the secret 'aws'"):
        steps(a_repository(tmp_path), tmp_path, secrets={"aws": Path("x")})


def test_where_nothing_can_build_it_is_the_machines_fault():
    with pytest.raises(InfrastructureError, match="nothing here can build: no docker; no buildah"):
        driver_of("", "no docker; no buildah", {})
