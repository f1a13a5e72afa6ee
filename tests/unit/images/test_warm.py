from image_targets import DIGEST, a_repository

from gauntlet.images.warm import plan_warm, swap


def test_bases_come_before_caches_and_caches_before_builds(tmp_path):
    images = a_repository(tmp_path)
    steps = plan_warm(images, platform="linux/amd64", cache="r.example.org/cache")
    assert [(step.action, step.subject) for step in steps] == [
        ("pull-base", f"python:3@{DIGEST}"),
        ("pull-cache", "r.example.org/cache/acme/small:main"),
        ("build", "small"),
    ]
    assert plan_warm(images, platform="linux/arm64") == []


def test_a_base_without_a_digest_is_not_pulled_by_its_tag(tmp_path):
    (first, _) = plan_warm(a_repository(tmp_path, digest=None), platform="linux/amd64")
    assert (first.action, first.subject) == ("blocked", "python")


def test_a_swap_keeps_the_old_ones_and_says_the_way_back(tmp_path):
    plan = swap(a_repository(tmp_path), "image-4", ["image-3", "image-2"], "image-5")
    assert plan == {
        "parameter": "/ci/image",
        "set": "image-5",
        "keep": ["image-4", "image-3"],
        "remove": ["image-2"],
        "back": "set /ci/image to image-4",
    }
