"""Promotion to a real registry and to layouts: killed, stopped in the middle, and run again."""

import os
import shutil

import pytest
from fake_buildkite import FakeTicker
from fake_images import FailingImages, Killed
from image_worlds import LATER, VERSION, Staged, tags_of
from registry import running_registry

from gauntlet.core.errors import ExitCode, ExternalServiceError
from gauntlet.images.oci.reference import Place
from gauntlet.images.oci.skopeo import Skopeo
from gauntlet.release.images.check import check_images
from gauntlet.release.images.promote import promote, summary
from gauntlet.release.images.tags import check_tags
from gauntlet.release.version import ReleaseVersion
from gauntlet.services.transport import Patience

pytestmark = pytest.mark.skipif(shutil.which("skopeo") is None, reason="skopeo is not installed")
STEPS = 10
FULL = os.environ.get("GAUNTLET_SLOW") == "full"


@pytest.fixture(scope="module")
def staged(tmp_path_factory):
    made = Staged(tmp_path_factory.mktemp("staged"))
    made.on_disk()
    return made


@pytest.fixture(scope="module")
def registry(tmp_path_factory):
    with running_registry(tmp_path_factory.mktemp("registry")) as running:
        yield running


@pytest.fixture
def store():
    return Skopeo(patience=Patience(tries=2, request_s=20), ticker=FakeTicker())


def planned(staged):
    """Where every tag has to lead in the end, from a promotion in memory."""
    memory, public = staged.in_memory(), Place.parse("docker://registry.example.org")
    promote(memory, staged.plan(memory, public))
    return tags_of(memory, public)


@pytest.mark.parametrize("kind", ["registry", "layouts"])
def test_what_is_published_is_what_was_planned_byte_for_byte(
    staged, store, tmp_path, request, kind
):
    place = f"oci:{tmp_path}/public"
    if kind == "registry":
        place = f"{request.getfixturevalue('registry').place}/whole"
    public = Place.parse(place)
    first = promote(store, staged.plan(store, public))
    second = promote(store, staged.plan(store, public))
    assert summary(first) == f"{STEPS} done, 0 there already"
    assert summary(second) == f"0 done, {STEPS} there already"
    assert tags_of(store, public) == planned(staged)
    assert check_tags(store, staged.matrix, VERSION, public) == ()
    assert check_images(store, staged.matrix, staged.built(place=public)) == ()


@pytest.mark.slow
@pytest.mark.parametrize("changes", range(STEPS) if FULL else [7])
def test_a_killed_promotion_continues_in_a_real_registry(staged, store, registry, changes):
    public = Place.parse(f"{registry.place}/killed{changes}")
    with pytest.raises(Killed):
        promote(FailingImages(store, changes, error=Killed()), staged.plan(store, public))
    moved = [name for name in LATER if name in tags_of(store, public)]
    assert moved == list(LATER[: max(0, changes - 7)])
    taken = promote(store, staged.plan(store, public))
    assert summary(taken) == f"{STEPS - changes} done, {changes} there already"
    assert tags_of(store, public) == planned(staged)


def test_a_registry_that_stops_in_the_middle_is_an_error_of_its_own(staged, store, tmp_path):
    with running_registry(tmp_path / "own") as registry:
        public = Place.parse(registry.place)
        old = Staged(tmp_path, salt="-old")
        old.on_disk()
        promote(store, old.plan(store, public, ReleaseVersion.parse("v1.1.0")))
        before = tags_of(store, public)
        plan = staged.plan(store, public)

        def stop(taken):
            if taken.step.kind == "list":
                registry.stop()

        with pytest.raises(ExternalServiceError, match="connection refused") as caught:
            promote(store, plan, tell=stop)
        assert caught.value.exit_code == ExitCode.EXTERNAL_SERVICE
        registry.start()
        half = tags_of(store, public)
        assert {name: half[name] for name in LATER} == {name: before[name] for name in LATER}
        assert summary(promote(store, plan)) == "5 done, 5 there already"
        assert tags_of(store, public) == {**before, **planned(staged)}
