"""What becomes of a plan that is carried out while the world goes on."""

import pytest
from fake_images import FakeImages
from image_targets import REVISIONS, a_repository

from gauntlet.core.errors import InfrastructureError
from gauntlet.images.build import BuildRequest, build_images
from gauntlet.images.oci.reference import Place
from gauntlet.images.plan import PlanRequest, plan_images


class Driver:
    """One that only does what a test wants done meanwhile."""

    def __init__(self, meanwhile):
        self.meanwhile, self.built = meanwhile, []

    def build(self, step):
        self.built.append(step.target)
        self.meanwhile()


def carried_out(folder, meanwhile, *, exists=None):
    images = a_repository(folder / "repository")
    asked = PlanRequest(targets=("small",))
    plan = plan_images(images, asked, REVISIONS, exists=exists, driver=("buildah", ""))
    (folder / "work").mkdir()
    request = BuildRequest(plan=asked, work=folder / "work", place=Place.parse("oci:there"))
    driver, store = Driver(meanwhile), FakeImages()
    built = build_images(images, plan, request, REVISIONS, driver=driver, store=store)
    return built, driver, store


def test_what_was_built_of_files_that_changed_gets_no_key(tmp_path):
    source = tmp_path / "repository/source/make.py"
    with pytest.raises(InfrastructureError, match="changed while it was built"):
        carried_out(tmp_path, lambda: source.write_text("changed\n"))


def test_files_that_no_stage_takes_may_change_meanwhile(tmp_path):
    other = tmp_path / "repository/other.txt"
    # The driver makes no image, which is noticed only after the key was believed.
    with pytest.raises(InfrastructureError, match="there is no image"):
        carried_out(tmp_path, lambda: other.write_text("changed\n"))


def test_an_image_that_only_the_registry_has_is_not_tagged_here(tmp_path):
    built, driver, store = carried_out(tmp_path, pytest.fail, exists=lambda *_: True)
    assert (built, driver.built) == ([], [])
    assert store.tags(Place.parse("oci:there"), "acme/small") == ()
