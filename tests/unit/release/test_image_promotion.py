"""Promotion by digest: planned, done, killed anywhere and run again, in memory."""

import pytest
from fake_images import FailingImages, Killed
from hypothesis import given
from hypothesis import strategies as st
from image_worlds import LATER, MULTI, SINGLE, VERSION, Staged, a_matrix, tags_of

from gauntlet.core.errors import ExternalServiceError, NotQualifiedError, UsageError
from gauntlet.images.oci.reference import Place
from gauntlet.release.images.promote import promote, summary
from gauntlet.release.images.promotion import (
    Promotion,
    plan_promotion,
    plan_tag_rollback,
    read_lists,
    read_staged,
)
from gauntlet.release.images.tags import check_tags, moving_tags, newer_than
from gauntlet.release.matrix.model import load_matrix
from gauntlet.release.version import ReleaseVersion

PUBLIC = Place.parse("docker://registry.example.org/public")
OLD = ReleaseVersion.parse("v1.1.0")
STEPS = 4 + 3 + 3


def fresh(tmp_path, *, before=False):
    """What is staged, a store with it, and with ``before`` an earlier release in the public."""
    staged = Staged(tmp_path)
    store = staged.in_memory()
    if before:
        old = Staged(tmp_path, salt="-old")
        old.in_memory(store)
        promote(store, old.plan(store, PUBLIC, OLD))
        store.moves.clear()
    return staged, store


def test_a_plan_has_images_then_lists_then_moving_tags_and_latest_last(tmp_path):
    staged, store = fresh(tmp_path)
    plan = staged.plan(store, PUBLIC)
    assert [(step.kind, f"{step.repository}:{step.tag}") for step in plan.steps] == [
        ("copy", "acme/engine:v1.2.0-amd64"),
        ("copy", "acme/engine:v1.2.0-arm64"),
        ("copy", "acme/engine:v1.2.0-next-amd64"),
        ("copy", "acme/engine-cpu:v1.2.0-amd64"),
        ("list", "acme/engine:v1.2.0"),
        ("list", "acme/engine:v1.2.0-next"),
        ("list", "acme/engine-cpu:v1.2.0"),
        *(("move", name) for name in LATER),
    ]
    assert (plan.version, plan.left) == ("v1.2.0", ())
    assert store.moves == []


def test_a_plan_is_data_that_can_be_kept_and_read_again(tmp_path):
    staged, store = fresh(tmp_path)
    plan = staged.plan(store, PUBLIC)
    assert Promotion.model_validate_json(plan.model_dump_json()) == plan
    assert len(plan.lines()) == STEPS


def test_latest_is_the_last_in_whatever_order_tags_are_written():
    matrix = a_matrix(moving_tags=["latest", "stable"])
    assert moving_tags(matrix) == [
        ("stable", "-next"),
        ("stable", ""),
        ("latest", "-next"),
        ("latest", ""),
    ]


def test_the_matrix_of_vllm_moves_the_plain_latest_last():
    assert moving_tags(load_matrix())[-1] == ("latest", "")


def test_a_first_release_and_a_second_run_of_it_give_the_same(tmp_path):
    # Case C59.
    staged, store = fresh(tmp_path)
    first = promote(store, staged.plan(store, PUBLIC))
    stands = tags_of(store, PUBLIC)
    assert summary(first) == f"{STEPS} done, 0 there already"
    assert len(stands) == STEPS
    assert stands[f"{MULTI}:latest"] == stands[f"{MULTI}:v1.2.0"]
    store.moves.clear()
    told = []
    second = promote(store, staged.plan(store, PUBLIC), tell=told.append)
    assert summary(second) == f"0 done, {STEPS} there already"
    assert (tuple(told), store.moves, tags_of(store, PUBLIC)) == (second, [], stands)
    assert check_tags(store, staged.matrix, VERSION, PUBLIC) == ()


@pytest.mark.parametrize("before", [False, True], ids=["first release", "not the first"])
@pytest.mark.parametrize("after", [False, True], ids=["before the change", "after the change"])
@pytest.mark.parametrize("changes", range(STEPS))
def test_a_promotion_that_is_killed_continues_to_the_same_end(tmp_path, before, after, changes):
    staged, store = fresh(tmp_path, before=before)
    old = tags_of(store, PUBLIC)
    plan = staged.plan(store, PUBLIC)
    with pytest.raises(Killed):
        promote(FailingImages(store, changes, after=after, error=Killed()), plan)
    half = tags_of(store, PUBLIC)
    done = changes + after
    if done <= 7:
        assert {name: half.get(name) for name in LATER} == {name: old.get(name) for name in LATER}
    if done < STEPS:
        assert half.get(f"{SINGLE}:latest") == old.get(f"{SINGLE}:latest")
    taken = promote(store, staged.plan(store, PUBLIC))
    assert summary(taken) == f"{STEPS - done} done, {done} there already"
    whole, other = fresh(tmp_path / "whole", before=before)
    promote(other, whole.plan(other, PUBLIC))
    assert tags_of(store, PUBLIC) == tags_of(other, PUBLIC)


@given(st.lists(st.integers(0, STEPS - 1), max_size=4))
def test_a_promotion_that_is_killed_again_and_again_comes_to_one_end(tmp_path_factory, kills):
    folder = tmp_path_factory.mktemp("kills")
    staged, store = fresh(folder, before=True)
    for changes in kills:
        failing = FailingImages(store, changes, error=Killed())
        try:
            promote(failing, staged.plan(store, PUBLIC))
        except Killed:
            assert len(set(store.moves)) == len(store.moves)
    promote(store, staged.plan(store, PUBLIC))
    assert len(store.moves) == STEPS
    assert store.moves[-1] == f"{SINGLE}:latest"


def test_a_registry_that_is_down_leaves_moving_tags_alone(tmp_path):
    staged, store = fresh(tmp_path, before=True)
    old = tags_of(store, PUBLIC)
    with pytest.raises(ExternalServiceError) as caught:
        promote(FailingImages(store, 5), staged.plan(store, PUBLIC))
    assert caught.value.exit_code == 7
    assert {name: tags_of(store, PUBLIC)[name] for name in LATER} == {n: old[n] for n in LATER}


def test_a_version_that_stands_is_never_replaced(tmp_path):
    staged, store = fresh(tmp_path)
    promote(store, staged.plan(store, PUBLIC))
    stands = tags_of(store, PUBLIC)
    other = Staged(tmp_path, salt="-other")
    other.in_memory(store)
    store.moves.clear()
    with pytest.raises(NotQualifiedError, match="published with something else") as caught:
        promote(store, other.plan(store, PUBLIC))
    assert f"{MULTI}:v1.2.0-arm64 is {stands[f'{MULTI}:v1.2.0-arm64']}" in caught.value.message
    assert "never moves" in caught.value.hint
    assert (store.moves, tags_of(store, PUBLIC)) == ([], stands)


def test_moving_tags_wait_when_a_version_tag_is_gone_in_the_middle(tmp_path):
    staged, store = fresh(tmp_path)

    def steal(taken):
        if taken.step.kind == "list":
            store.leads[str(PUBLIC), MULTI].pop("v1.2.0-arm64", None)

    with pytest.raises(ExternalServiceError, match="v1.2.0-arm64 was there, and is not any more"):
        promote(store, staged.plan(store, PUBLIC), tell=steal)
    assert not set(LATER) & set(store.moves)


def test_an_old_line_leaves_latest_to_the_newer_release(tmp_path):
    staged, store = fresh(tmp_path)
    promote(store, staged.plan(store, PUBLIC))
    patch = Staged(tmp_path, salt="-patch")
    patch.in_memory(store)
    plan = patch.plan(store, PUBLIC, ReleaseVersion.parse("v1.1.5"))
    assert [step.kind for step in plan.steps] == ["copy"] * 4 + ["list"] * 3
    assert plan.left == tuple(f"{name}: v1.2.0 is newer than v1.1.5" for name in LATER)
    promote(store, plan)
    stands = tags_of(store, PUBLIC)
    assert stands[f"{MULTI}:latest"] == stands[f"{MULTI}:v1.2.0"] != stands[f"{MULTI}:v1.1.5"]


@pytest.mark.parametrize(
    ("tags", "newer"),
    [
        ((), None),
        (("latest", "v1.2.0", "v1.1.9", "nightly-abc", "v1.2.0-arm64"), None),
        (("v1.3.0rc1",), None),
        (("v1.10.0", "v1.9.0", "v1.9.0-next"), "v1.10.0"),
    ],
)
def test_only_tags_of_releases_count_as_newer(tags, newer):
    found = newer_than(VERSION, tags)
    assert (str(found) if found else None) == newer


def test_a_release_with_an_image_missing_is_not_planned(tmp_path):
    staged, store = fresh(tmp_path)
    with pytest.raises(UsageError, match="no image in .* for arm, cpu"):
        read_staged(
            store,
            staged.matrix,
            [a for a in staged.artifacts if a.cell in {"amd", "next"}],
            staged.staging,
        )
    images = read_staged(store, staged.matrix, staged.artifacts, staged.staging)
    with pytest.raises(UsageError, match="no image for cpu"):
        plan_promotion(
            staged.matrix,
            images[:-1],
            VERSION,
            staging=staged.staging,
            public=PUBLIC,
            standing={},
        )


def test_the_way_back_moves_tags_and_keeps_versions(tmp_path):
    staged, store = fresh(tmp_path, before=True)
    old = tags_of(store, PUBLIC)
    promote(store, staged.plan(store, PUBLIC))
    stands = tags_of(store, PUBLIC)
    lists = read_lists(store, staged.matrix, OLD, PUBLIC)
    plan = plan_tag_rollback(staged.matrix, OLD, public=PUBLIC, digests=lists)
    assert [f"{step.repository}:{step.tag}" for step in plan.steps] == list(LATER)
    with pytest.raises(Killed):
        promote(FailingImages(store, 1, error=Killed()), plan)
    assert summary(promote(store, plan)) == "2 done, 1 there already"
    back = tags_of(store, PUBLIC)
    assert back == {**stands, **{name: old[name] for name in LATER}}


def test_the_way_back_says_what_has_none(tmp_path):
    staged, store = fresh(tmp_path, before=True)
    lists = read_lists(store, staged.matrix, OLD, PUBLIC)
    del lists[MULTI, "-next"]
    plan = plan_tag_rollback(staged.matrix, OLD, public=PUBLIC, digests=lists)
    assert plan.left == (f"{MULTI}:latest-next: v1.1.0 had no such image",)
    with pytest.raises(UsageError, match=r"v0.9.0 has no images in"):
        plan_tag_rollback(
            staged.matrix,
            ReleaseVersion.parse("v0.9.0"),
            public=PUBLIC,
            digests=read_lists(store, staged.matrix, ReleaseVersion.parse("v0.9.0"), PUBLIC),
        )
