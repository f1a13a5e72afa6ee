import json
from datetime import UTC, datetime, timedelta

import pytest

from gauntlet.images.model import Retention
from gauntlet.images.oci.manifest import Manifest
from gauntlet.images.oci.reference import Place
from gauntlet.images.prune import Tagged, plan_prune, read_tags

NOW = datetime(2026, 11, 30, tzinfo=UTC)
RULES = Retention(
    key_days=30, commit_days=14, branch_cache_days=7, keep_newest_of_main=2, keep=("v[0-9]*",)
)
A, B, C = "a" * 40, "b" * 40, "c" * 40


def tagged(tag, days, digest="sha256:1", lists=()):
    created = None if days is None else NOW - timedelta(days=days)
    return Tagged(repository="acme/small", tag=tag, digest=digest, created=created, lists=lists)


def actions(*tags, **more):
    return [decision.action for decision in plan_prune(tags, RULES, NOW, **more)]


@pytest.mark.parametrize(
    ("tag", "days", "action"),
    [
        (f"key-{'0' * 16}", 30, "keep"),
        (f"key-{'0' * 16}", 31, "delete"),
        (f"commit-{A}", 15, "delete"),
        (f"commit-{A}-amd64", 15, "delete"),
        (f"commit-{A}", 13, "keep"),
        ("branch-fix", 8, "delete"),
        ("v1.2.0", 900, "keep"),
        ("anything", 900, "keep"),
        (f"commit-{A}", None, "keep"),
    ],
)
def test_each_kind_has_its_days_and_what_no_rule_knows_stays(tag, days, action):
    assert actions(tagged(tag, days)) == [action]


def test_the_newest_of_main_stay_however_old():
    old = [tagged(f"commit-{commit}", 90, f"sha256:{commit}") for commit in (A, B, C)]
    assert actions(*old, main=[A, B, C]) == ["keep", "keep", "delete"]


def test_an_image_stays_while_any_tag_of_it_does():
    key, release = tagged(f"key-{'0' * 16}", 90), tagged("v1.2.0", 90)
    first, _ = plan_prune([key, release], RULES, NOW)
    assert first.action == "keep"
    assert "acme/small:v1.2.0 is kept" in first.reason


def test_an_image_stays_while_a_list_names_it_and_goes_with_the_list():
    image = tagged(f"key-{'0' * 16}", 90, "sha256:i")
    kept = tagged("v1.0.0", 90, "sha256:l", lists=("sha256:i",))
    assert actions(image, kept) == ["keep", "keep"]
    old = tagged(f"commit-{A}", 90, "sha256:l", lists=("sha256:i",))
    assert actions(image, old) == ["delete", "delete"]


def test_what_something_else_needs_stays_with_its_reason():
    (decision,) = plan_prune(
        [tagged("branch-fix", 90)], RULES, NOW, named={"sha256:1": "candidate v2.0.0rc1"}
    )
    assert decision.action == "keep"
    assert "candidate v2.0.0rc1" in decision.reason


class OneCache:
    """A registry with one cache of layers, which has no config."""

    def __init__(self, annotations):
        layer = {"digest": f"sha256:{'1' * 64}", "size": 1, "annotations": annotations}
        self.raw = json.dumps({"schemaVersion": 2, "manifests": [layer]}).encode()

    def tags(self, place, repository):
        return ("branch-fix",)

    def manifest(self, reference):
        return Manifest.parse(self.raw, of="it")


def test_a_cache_is_as_old_as_its_newest_layer():
    made = {"buildkit/createdat": "2026-11-01T00:00:00Z"}
    place = Place.parse("docker://registry.example.org")
    (old,) = read_tags(OneCache(made), place, ["cache/acme/small"])
    (unknown,) = read_tags(OneCache({}), place, ["cache/acme/small"])
    assert actions(old) == ["delete"]
    assert actions(unknown) == ["keep"]
