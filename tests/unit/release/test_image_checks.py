"""What is wrong with an image is found, each by its name."""

import gzip

import pytest
from image_worlds import MULTI, SINGLE, VERSION, Staged, a_cell, a_matrix
from oci_images import LABELS, SmallImage
from small_wheel import installed, small_wheel

from gauntlet.core.errors import ExternalServiceError, UsageError
from gauntlet.images.oci.layers import read_files
from gauntlet.images.oci.reference import Place
from gauntlet.release.images.check import check_images, is_root
from gauntlet.release.images.installed import differences, read_wheel
from gauntlet.release.images.promote import promote
from gauntlet.release.images.settings import ImageSettings
from gauntlet.release.images.tags import check_tags
from gauntlet.release.policy import load_release_policy
from gauntlet.release.version import ReleaseVersion

PUBLIC = Place.parse("docker://registry.example.org/public")
SITE = "usr/lib/python3/site-packages"
INFO = f"{SITE}/small-1.2.0.dist-info"


def found(staged, **more):
    return check_images(staged.in_memory(), staged.matrix, staged.built(**more))


def test_images_that_are_as_they_should_be_give_no_finding(tmp_path):
    assert found(Staged(tmp_path)) == ()


def changed(tmp_path, **image):
    """Findings where the image of the cell ``amd`` is another."""
    layers = image.pop("layers", None) or (installed(small_wheel(tmp_path / "w")),)
    platform = image.pop("platform", "linux/amd64")
    image = SmallImage(platform, layers=layers, **image)
    findings = found(Staged(tmp_path, changed={"amd": image}))
    assert {finding.subject for finding in findings} <= {"amd"}
    return [(finding.check, finding.message) for finding in findings]


def without(label):
    return {name: value for name, value in LABELS.items() if not name.endswith(label)}


def with_label(name, value):
    return {**LABELS, f"org.opencontainers.image.{name}": value}


@pytest.mark.parametrize(
    ("image", "check", "said"),
    [
        ({"labels": without("source")}, "image-label", "no label org.opencontainers.image.source"),
        ({"labels": with_label("source", " ")}, "image-label", "no label"),
        ({"labels": with_label("version", "1.1.0")}, "image-label", "should be '1.2.0'"),
        ({"labels": with_label("revision", "d" * 40)}, "image-label", "should be 'cccc"),
        ({"labels": with_label("created", "yesterday")}, "image-label", "no time with a zone"),
        ({"labels": with_label("created", "2026-01-01T00:00")}, "image-label", "no time with"),
        ({"run": {"User": ""}}, "image-user", "no user is set"),
        ({"run": {"User": "0:0"}}, "image-user", "starts as '0:0'"),
        ({"run": {"Entrypoint": None}}, "image-entrypoint", "nothing is started"),
        ({"run": {"Entrypoint": [], "Cmd": ["sh"]}}, "image-entrypoint", "has a command (sh)"),
        ({"platform": "linux/arm64"}, "image-platform", "for linux/arm64, and the cell is linux/"),
        ({"layers": ({"a": b""},)}, "image-wheel", "small is not installed"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_thing_that_is_wrong_is_one_finding(tmp_path, image, check, said):
    ((name, message),) = changed(tmp_path, **image)
    assert name == check
    assert said in message


def test_a_version_label_may_have_the_v_of_the_tag(tmp_path):
    assert changed(tmp_path, labels=with_label("version", "v1.2.0")) == []


def test_labels_that_are_required_are_a_setting(tmp_path):
    settings = ImageSettings(required_labels=("org.example.team",))
    labels = [finding.message for finding in found(Staged(tmp_path), settings=settings)]
    assert labels == ["no label org.example.team"] * 4


@pytest.mark.parametrize("user", ["", " ", "0", "root", "root:root", "0:0", "00", "0:1000"])
def test_the_administrator_is_known_by_every_name(user):
    assert is_root(user)


@pytest.mark.parametrize("user", ["1000", "engine", "1000:0", "rooty", "2000:root"])
def test_others_are_no_administrators(user):
    assert not is_root(user)


def test_a_cell_without_an_image_and_an_image_without_a_cell_are_found(tmp_path):
    staged = Staged(tmp_path)
    amd, arm, *rest = staged.artifacts
    artifacts = [amd.model_copy(update={"cell": "gone"}), arm, arm, *rest[:-1]]
    findings = found(staged, artifacts=artifacts)
    assert [(f.check, f.subject, f.message) for f in findings] == [
        ("image-missing", "amd", "no image was built"),
        ("image-missing", "arm", "2 images fill this cell"),
        ("image-missing", "cpu", "no image was built"),
        ("image-unknown", MULTI, "the matrix has no cell 'gone'"),
    ]


def test_an_image_that_was_never_pushed_is_found(tmp_path):
    staged = Staged(tmp_path)
    artifacts = [staged.artifacts[0].model_copy(update={"digest": f"sha256:{'0' * 64}"})]
    findings = found(staged, artifacts=[*artifacts, *staged.artifacts[1:]])
    assert [(f.check, f.subject) for f in findings] == [("image-missing", "amd")]


def test_a_list_does_not_fill_a_cell(tmp_path):
    staged = Staged(tmp_path)
    store = staged.in_memory()
    plan = staged.plan(store, PUBLIC)
    promote(store, plan)
    made = next(step for step in plan.steps if step.kind == "list")
    artifacts = [staged.artifacts[0].model_copy(update={"digest": made.digest})]
    built = staged.built(artifacts=[*artifacts, *staged.artifacts[1:]], place=PUBLIC)
    (finding,) = check_images(store, staged.matrix, built)
    assert "is a list of 2 images" in finding.message


def test_an_image_that_is_too_large_names_its_largest_layers(tmp_path):
    images = [a_cell("amd", MULTI, "linux/amd64", size_limit_mb=0.002)]
    # What cannot be compressed keeps its size.
    noise = bytes((index * index * 2654435761 >> 7) & 255 for index in range(3000))
    layers = (installed(small_wheel(tmp_path)), {"small": b"x"}, {"large": noise})
    image = SmallImage(layers=layers)
    staged = Staged(tmp_path, a_matrix(images=images), changed={"amd": image})
    (finding,) = found(staged, settings=ImageSettings(largest_layers=1))
    assert finding.check == "image-size"
    largest = max(range(3), key=lambda index: len(image.layers[index]))
    assert f"the limit is 0.002 MB: layer {largest + 1} (" in finding.message
    assert finding.message.count("layer") == 1


def test_the_wheel_that_an_image_was_built_with_must_be_the_one_that_ships(tmp_path):
    staged = Staged(tmp_path)
    wheel = staged.artifacts[0].model_copy(
        update={"kind": "wheel", "cell": "all", "digest": f"sha256:{'1' * 64}"}
    )
    image = staged.artifacts[0].model_copy(update={"wheel_digest": f"sha256:{'2' * 64}"})
    findings = found(staged, artifacts=[image, *staged.artifacts[1:], wheel])
    (finding,) = findings
    assert f"built with the wheel sha256:{'2' * 64}" in finding.message
    assert {f.message for f in found(staged, wheels={})} == {
        "there is no wheel all to compare with"
    }


WHEEL_FAULTS = {
    "a file is patched": ({f"{SITE}/small/serve.py": b"pass"}, "another content: small/serve.py"),
    "a file is removed": ({f"{SITE}/small/.wh.serve.py": b""}, "not in the image: small/serve.py"),
    "a module is added": ({f"{SITE}/small/own.py": b""}, "not in the wheel: small/own.py"),
    "a file is a link": ({f"{SITE}/small/serve.py": ("link", "/x")}, "another content: small/ser"),
    "the record is another": (
        {f"{INFO}/RECORD": b"a,,\n"},
        "not as small-1.2.0.dist-info/RECORD l",
    ),
    "another version is there too": (
        {f"{SITE}/small-1.1.0.dist-info/RECORD": b""},
        "installed 2 times",
    ),
    "it is there twice": ({"opt/small-1.2.0.dist-info/RECORD": b""}, "installed 2 times"),
    "it is taken out": ({"usr/lib/python3/.wh.site-packages": b""}, "small is not installed"),
    "all below is taken out": ({f"{SITE}/.wh..wh..opq": b""}, "small is not installed"),
    "a file replaces the folder": ({SITE: b"x"}, "small is not installed"),
}


@pytest.mark.parametrize(("layer", "said"), WHEEL_FAULTS.values(), ids=WHEEL_FAULTS)
def test_what_differs_from_the_wheel_is_named(tmp_path, layer, said):
    wheel = small_wheel(tmp_path)
    ((check, message),) = changed(tmp_path, layers=(installed(wheel), layer))
    assert check == "image-wheel"
    assert said in message


def layer_files(tmp_path, *layers):
    files = []
    for number, content in enumerate(SmallImage(layers=layers).layers):
        files.append(tmp_path / str(number))
        files[-1].write_bytes(content)
    return files


def test_another_version_in_its_place_is_named(tmp_path):
    old = installed(small_wheel(tmp_path / "old", version="1.1.0"))
    layers = layer_files(tmp_path, old)
    assert differences(read_wheel(small_wheel(tmp_path)), layers) == [
        "small-1.1.0.dist-info is installed, and not small-1.2.0.dist-info"
    ]


def test_what_is_upgraded_in_a_later_layer_is_what_counts(tmp_path):
    wheel = small_wheel(tmp_path)
    old = installed(small_wheel(tmp_path / "old", version="1.1.0"))
    removed = {f"{SITE}/.wh.small-1.1.0.dist-info": b"", **installed(wheel)}
    assert differences(read_wheel(wheel), layer_files(tmp_path, old, removed)) == []


def test_files_that_installers_link_to_their_cache_are_found(tmp_path):
    wheel = small_wheel(tmp_path)
    files = installed(wheel)
    cached = {f"root/.cache/{path}": files[path] for path in (f"{SITE}/small/serve.py",)}
    links = {path.removeprefix("root/.cache/"): ("hard", path) for path in cached}
    layers = layer_files(tmp_path, {**cached, **files, **links})
    assert differences(read_wheel(wheel), layers) == []


def test_parts_that_installers_move_are_looked_for_where_they_go(tmp_path):
    more = {
        "small-1.2.0.data/purelib/small/moved.py": "x = 1\n",
        "small-1.2.0.data/scripts/small": "#!python\n",
    }
    wheel = small_wheel(tmp_path, more=more)
    assert read_wheel(wheel).hashes.keys() >= {"small/moved.py"}
    files = installed(wheel)
    files[f"{SITE}/small/moved.py"] = files.pop(f"{SITE}/small-1.2.0.data/purelib/small/moved.py")
    said = differences(read_wheel(wheel), layer_files(tmp_path, files))
    assert said == ["not as small-1.2.0.dist-info/RECORD lists it: small/moved.py"]


def test_a_damaged_layer_and_a_damaged_wheel_are_said(tmp_path):
    whole = SmallImage(layers=(installed(small_wheel(tmp_path)),)).layers[0]
    layer = tmp_path / "layer"
    for damaged in (whole[: len(whole) // 2], b"no tar", gzip.compress(b"no tar")):
        layer.write_bytes(damaged)
        with pytest.raises(ExternalServiceError, match="layer layer: cannot be read"):
            read_files([layer], lambda _: True, lambda _: False)
    for name in ("small-1.2.0-py3-none-any.whl", "small.whl"):
        (tmp_path / name).write_bytes(b"no zip")
        with pytest.raises(UsageError, match="no wheel"):
            read_wheel(tmp_path / name)


def published(tmp_path):
    staged = Staged(tmp_path)
    store = staged.in_memory()
    promote(store, staged.plan(store, PUBLIC))
    return staged, store


def test_tags_of_a_published_release_give_no_finding(tmp_path):
    staged, store = published(tmp_path)
    assert check_tags(store, staged.matrix, VERSION, PUBLIC) == ()


def test_latest_for_one_platform_where_the_version_has_two_is_red(tmp_path):
    # Case C57.
    staged, store = published(tmp_path)
    amd = staged.images["amd"]
    store.leads[str(PUBLIC), MULTI]["latest"] = amd.digest
    single = check_tags(store, staged.matrix, VERSION, PUBLIC)
    entries = next(s for s in staged.plan(store, PUBLIC).steps if s.kind == "list").entries
    store.write_index(PUBLIC.at(MULTI, tag="latest"), entries[:1])
    listed = check_tags(store, staged.matrix, VERSION, PUBLIC)
    for findings in (single, listed):
        (finding,) = findings
        assert (finding.check, finding.level) == ("image-moving-tag", "error")
        assert finding.subject == f"{PUBLIC}/{MULTI}:latest"
    assert "it leads to one image" in single[0].message
    assert "it has no image for linux/arm64" in listed[0].message


def test_latest_of_another_build_of_the_same_platforms_is_red(tmp_path):
    staged, store = published(tmp_path)
    other = Staged(tmp_path, salt="-other")
    other.in_memory(store)
    plan = other.plan(store, Place.parse("docker://registry.example.org/other"))
    promote(store, plan)
    source = Place.parse("docker://registry.example.org/other").at(MULTI, tag="v1.2.0")
    store.copy(source, PUBLIC.at(MULTI, tag="latest"))
    (finding,) = check_tags(store, staged.matrix, VERSION, PUBLIC)
    assert "it is sha256:" in finding.message
    assert "no image" not in finding.message


def test_missing_tags_and_missing_platforms_are_red(tmp_path):
    _, store = published(tmp_path)
    del store.leads[str(PUBLIC), SINGLE]["v1.2.0"]
    del store.leads[str(PUBLIC), MULTI]["latest-next"]
    grown = [*a_matrix().model_dump()["images"], a_cell("n2", MULTI, "linux/arm64", suffix="-next")]
    findings = check_tags(store, a_matrix(images=grown), VERSION, PUBLIC)
    assert [(f.subject.rpartition("/")[2], f.message) for f in findings] == [
        ("engine:v1.2.0-next", "no image for linux/arm64"),
        ("engine:latest-next", "it is not there"),
        ("engine-cpu:v1.2.0", "it is not there"),
    ]


def test_moving_tags_belong_to_a_newer_release(tmp_path):
    staged, store = published(tmp_path)
    newer = Staged(tmp_path, salt="-newer")
    newer.in_memory(store)
    promote(store, newer.plan(store, PUBLIC, ReleaseVersion.parse("v1.3.0")))
    assert check_tags(store, staged.matrix, VERSION, PUBLIC) == ()


def test_the_policy_that_ships_has_the_settings_of_images():
    assert load_release_policy().images == ImageSettings()


def test_a_policy_names_no_place_that_is_none():
    with pytest.raises(ValueError, match="no place for images: 'here'"):
        ImageSettings(staging="here")
