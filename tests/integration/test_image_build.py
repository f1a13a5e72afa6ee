"""Images that buildah builds of a local base, checked like any other."""

import os
import shutil
import sys
from dataclasses import replace

import pytest
from image_worlds import MULTI
from local_base import USER
from oci_images import SmallImage, write_layout
from small_image import DOCKERFILE, PLATFORM, Workshop

from gauntlet.core.errors import UsageError
from gauntlet.core.proc import CommandError
from gauntlet.images.oci.reference import Place
from gauntlet.images.oci.skopeo import Skopeo
from gauntlet.release.images.build import build_image
from gauntlet.release.images.check import check_images
from gauntlet.release.smoke.image import ImageTrial, try_image
from gauntlet.release.smoke.settings import SmokeSettings

pytestmark = pytest.mark.skipif(
    not (shutil.which("buildah") and shutil.which("skopeo")),
    reason="buildah and skopeo are not installed",
)
FULL = os.environ.get("GAUNTLET_SLOW") == "full"
only_in_full = pytest.mark.skipif(not FULL, reason="seconds each; `make check-full` runs it")
PYTHON = f"python{sys.version_info.major}.{sys.version_info.minor}"


@pytest.fixture(scope="module")
def workshop(tmp_path_factory):
    return Workshop(tmp_path_factory.mktemp("workshop"))


@pytest.fixture(scope="module")
def made(workshop):
    return workshop.build()


def test_an_image_that_is_built_here_passes_every_check(workshop, made):
    assert made.artifact.platform == PLATFORM
    assert made.artifact.name == MULTI
    assert check_images(Skopeo(), made.matrix, workshop.built(made)) == ()
    config = Skopeo().config(workshop.place.at(MULTI, digest=made.artifact.digest))
    assert (config.user, config.entrypoint) == ("engine", ("python3", "-m", "small.serve"))
    assert "Successfully installed small-1.2.0" in made.build.log.read_text()


def test_built_again_it_has_the_same_digest_and_takes_its_own_place(workshop, made):
    assert build_image(made.build) == made.artifact
    assert Skopeo().tags(workshop.place, MULTI).count("it") == 1


def test_nothing_of_a_build_is_left_but_the_image(workshop, made):
    assert made.artifact.size_bytes > 0
    assert list((workshop.folder / "work").iterdir()) == []


@pytest.mark.slow
@only_in_full
def test_what_is_patched_after_the_install_is_found(workshop):
    site = f"/usr/local/lib/{PYTHON}/site-packages"
    patched = DOCKERFILE.replace("USER", f"COPY patch.py {site}/small/serve.py\nUSER")
    (workshop.folder / "context-patched").mkdir()
    (workshop.folder / "context-patched/patch.py").write_text("pass\n")
    made = workshop.build(dockerfile=patched, tag="patched")
    (finding,) = check_images(Skopeo(), made.matrix, workshop.built(made))
    assert "another content: small/serve.py" in finding.message


def test_a_build_that_fails_says_why_and_leaves_nothing(workshop):
    with pytest.raises(CommandError, match="no such file or directory"):
        workshop.build(dockerfile="FROM scratch\nCOPY nothing /\n", tag="failed")
    assert list((workshop.folder / "work").iterdir()) == []
    assert "failed" not in Skopeo().tags(workshop.place, MULTI)


def test_a_build_without_its_wheel_is_not_started(made, tmp_path):
    with pytest.raises(UsageError, match=r"image here: .*gone\.whl is not there"):
        build_image(replace(made.build, wheel=tmp_path / "gone.whl"))


def trial(workshop, made, **settings):
    arguments = {"image_arguments": ("--port", "{port}"), "startup_s": 60, "request_s": 30}
    return ImageTrial(
        artifact=made.artifact,
        place=workshop.place,
        work=workshop.folder / "work",
        settings=SmokeSettings(**{**arguments, **settings}),
    )


def test_an_image_that_works_answers_as_its_own_user(workshop, made):
    result = try_image(Skopeo(), trial(workshop, made))
    assert (result.findings, result.outcome, result.said) == ((), "pass", f"hello as {USER}")
    assert result.digest == made.artifact.digest
    assert list((workshop.folder / "work").iterdir()) == []


def test_an_image_whose_server_dies_fails_and_leaves_nothing(workshop, made):
    given = trial(workshop, made, environment={"SMALL_FAULT": "dies"})
    result = try_image(Skopeo(), given)
    (finding,) = result.findings
    assert (result.outcome, finding.check) == ("fail", "smoke-server")
    assert "no accelerator was found" in finding.message
    assert list((workshop.folder / "work").iterdir()) == []


def test_an_image_that_cannot_be_run_here_is_missing_and_no_pass(workshop, made, tmp_path):
    absent = try_image(Skopeo(), replace(trial(workshop, made), program="no-such-program"))
    assert (absent.outcome, absent.said) == ("missing", "")
    assert "no-such-program is not installed here" in absent.findings[0].message
    foreign = SmallImage("linux/s390x")
    write_layout(tmp_path / MULTI, {"v1": foreign})
    artifact = made.artifact.model_copy(update={"digest": foreign.digest})
    place = Place.parse(f"oci:{tmp_path}")
    other = try_image(Skopeo(), replace(trial(workshop, made), artifact=artifact, place=place))
    assert other.outcome == "missing"
    assert "it is for linux/s390x, and this is linux/" in other.findings[0].message
