"""The same suite against images in memory, in OCI layouts, and in a real registry."""

import json
import shutil

import pytest
from fake_buildkite import FakeTicker
from fake_images import FakeImages
from hypothesis import given
from hypothesis import strategies as st
from oci_images import LABELS, SmallImage, write_layout
from registry import running_registry

from gauntlet.core.errors import ExitCode, ExternalServiceError, UsageError
from gauntlet.core.proc import run
from gauntlet.images.oci.manifest import OCI_INDEX, IndexEntry, digest_of, index_bytes
from gauntlet.images.oci.reference import Place, Reference
from gauntlet.images.oci.registry import digest_at
from gauntlet.images.oci.skopeo import Skopeo
from gauntlet.services.transport import Patience

AMD, ARM = SmallImage("linux/amd64"), SmallImage("linux/arm64")
IMPATIENT = Patience(tries=3, request_s=20)


@pytest.fixture(scope="session")
def registry(tmp_path_factory):
    with running_registry(tmp_path_factory.mktemp("registry")) as running:
        yield running


@pytest.fixture(params=["in memory", "layouts", "registry"])
def world(request, tmp_path):
    """A store with the two images staged, and the place where they may be brought."""
    staging = Place.parse(f"oci:{tmp_path}/staging")
    tags = {"amd64": AMD, "arm64": ARM}
    if request.param == "in memory":
        store = FakeImages()
        for tag, image in tags.items():
            store.add(staging.at("acme/engine", tag=tag), image)
        return store, staging, Place.parse("docker://registry.example.org/public")
    if shutil.which("skopeo") is None:
        pytest.skip("skopeo is not installed")
    write_layout(tmp_path / "staging/acme/engine", tags)
    place = f"oci:{tmp_path}/public"
    if request.param == "registry":
        place = f"{request.getfixturevalue('registry').place}/{tmp_path.name.lower()}"
    return Skopeo(ticker=FakeTicker()), staging, Place.parse(place)


def entry(image):
    return IndexEntry(platform=image.platform, digest=image.digest, size_bytes=image.size)


def test_what_is_not_there_is_none_and_no_failure(world):
    store, _, public = world
    assert store.manifest(public.at("acme/engine", tag="v9")) is None
    assert store.manifest(public.at("acme/engine", digest=f"sha256:{'0' * 64}")) is None
    assert store.tags(public, "acme/engine") == ()
    with pytest.raises(UsageError, match="no such image"):
        store.copy(public.at("acme/engine", tag="v9"), public.at("acme/engine", tag="v10"))
    with pytest.raises(UsageError, match="no such image"):
        store.config(public.at("acme/engine", tag="v9"))


def test_an_image_is_copied_byte_for_byte_by_its_digest(world):
    store, staging, public = world
    source, there = staging.at("acme/engine", digest=AMD.digest), public.at("acme/engine", tag="v1")
    assert store.copy(source, there) == AMD.digest
    found = store.manifest(there)
    assert (found.raw, found.is_index, found.platforms) == (AMD.raw, False, {})
    assert [layer.size for layer in found.layers] == [len(layer) for layer in AMD.layers]
    assert store.tags(public, "acme/engine") == ("v1",)
    assert store.copy(source, there) == AMD.digest
    assert store.tags(public, "acme/engine") == ("v1",)


def test_a_configuration_tells_how_an_image_starts_and_what_it_is(world):
    store, staging, public = world
    store.copy(staging.at("acme/engine", digest=ARM.digest), public.at("acme/engine", tag="v1"))
    for reference in (
        staging.at("acme/engine", digest=ARM.digest),
        staging.at("acme/engine", tag="arm64"),
        public.at("acme/engine", digest=ARM.digest),
    ):
        found = store.config(reference)
        assert (found.platform, found.user) == ("linux/arm64", "engine")
        assert found.entrypoint == ("/usr/bin/engine",)
        assert found.environment == {"PATH": "/usr/bin", "MODE": "a=b"}
        assert found.labels == LABELS
        assert found.created.isoformat() == "2026-11-20T12:00:00+00:00"


def test_a_list_has_the_bytes_that_were_planned_and_is_copied_whole(world):
    store, staging, public = world
    for image, tag in ((AMD, "v1-amd64"), (ARM, "v1-arm64")):
        store.copy(
            staging.at("acme/engine", digest=image.digest), public.at("acme/engine", tag=tag)
        )
    listed = public.at("acme/engine", tag="v1")
    digest = store.write_index(listed, [entry(ARM), entry(AMD)])
    assert digest == digest_of(index_bytes([entry(AMD), entry(ARM)]))
    assert digest_at(store, listed) == digest
    assert store.write_index(listed, [entry(AMD), entry(ARM)]) == digest
    moved = public.at("acme/engine", tag="latest")
    assert store.copy(public.at("acme/engine", digest=digest), moved) == digest
    found = store.manifest(moved)
    assert found.media_type == OCI_INDEX
    assert found.platforms == {"linux/amd64": AMD.digest, "linux/arm64": ARM.digest}
    elsewhere = public.at("other/engine", tag="v1")
    assert store.copy(moved, elsewhere) == digest
    assert store.config(public.at("other/engine", digest=ARM.digest)).platform == "linux/arm64"


def test_a_list_of_images_that_are_not_there_is_not_made(world):
    store, staging, public = world
    store.copy(staging.at("acme/engine", tag="amd64"), public.at("acme/engine", tag="v1-amd64"))
    with pytest.raises(UsageError, match="no such image"):
        store.write_index(public.at("acme/engine", tag="v1"), [entry(AMD), entry(ARM)])
    assert store.manifest(public.at("acme/engine", tag="v1")) is None


def test_layers_are_read_in_their_order(world):
    store, staging, public = world
    store.copy(staging.at("acme/engine", tag="amd64"), public.at("acme/engine", tag="v1"))
    for reference in (
        staging.at("acme/engine", digest=AMD.digest),
        public.at("acme/engine", tag="v1"),
    ):
        with store.layer_files(reference) as files:
            assert [file.read_bytes() for file in files] == AMD.layers
        assert not files[0].exists()


def test_a_registry_that_is_down_is_no_empty_registry(tmp_path):
    with running_registry(tmp_path / "own") as registry:
        ticker = FakeTicker()
        store = Skopeo(patience=IMPATIENT, ticker=ticker)
        where = Place.parse(registry.place).at("acme/engine", tag="v1")
        assert store.manifest(where) is None
        assert ticker.slept == []
        registry.stop()
        for ask in (lambda: store.manifest(where), lambda: store.tags(where.place, "acme/engine")):
            with pytest.raises(ExternalServiceError, match=r"refused.*3 tries") as caught:
                ask()
            assert caught.value.exit_code == ExitCode.EXTERNAL_SERVICE
        assert ticker.slept == [0.5, 1.0, 0.5, 1.0]


def test_layers_that_python_cannot_unpack_are_unpacked_for_it(tmp_path):
    store = Skopeo()
    if shutil.which("skopeo") is None:
        pytest.skip("skopeo is not installed")
    write_layout(tmp_path / "a/engine", {"v1": AMD})
    for name in ("b", "c/engine"):
        (tmp_path / name).mkdir(parents=True)
    options = ["--dest-compress-format", "zstd", "--dest-compress"]
    run(
        ["skopeo", "copy", *options, f"oci:{tmp_path}/a/engine:v1", f"dir:{tmp_path}/b"], timeout=60
    )
    run(["skopeo", "copy", f"dir:{tmp_path}/b", f"oci:{tmp_path}/c/engine:v1"], timeout=60)
    packed = Place.parse(f"oci:{tmp_path}/c").at("engine", tag="v1")
    assert "zstd" in store.manifest(packed).layers[0].media_type
    with store.layer_files(packed) as (file,):
        assert b"ustar" in file.read_bytes()


def test_storage_that_gives_other_bytes_is_not_believed(tmp_path):
    layout = write_layout(tmp_path / "engine", {"v1": AMD})
    blob = layout / "blobs" / AMD.digest.replace(":", "/")
    blob.write_bytes(ARM.raw)
    with pytest.raises(ExternalServiceError, match="there is something else"):
        Skopeo().manifest(Place.parse(f"oci:{tmp_path}").at("engine", digest=AMD.digest))
    blob.write_bytes(b"{}")
    with pytest.raises(ExternalServiceError, match="neither an image nor"):
        Skopeo().manifest(Place.parse(f"oci:{tmp_path}").at("engine", digest=AMD.digest))


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("docker://127.0.0.1:5000", True),
        ("docker://localhost:5000/a", True),
        ("docker://[::1]:5000", True),
        ("docker://10.0.0.1:5000", False),
        ("docker://registry.example.org", False),
        ("docker://localhost.example.org", False),
    ],
)
def test_only_registries_of_this_machine_go_without_encryption(text, plain):
    assert Place.parse(text).is_loopback is plain


@pytest.mark.parametrize(
    "text",
    ["", "docker://", "http://x", "oci:", "oci:/a:b", "docker://ann:secret@registry.example"],
)
def test_what_is_no_place_is_refused_and_no_secret_is_shown(text):
    with pytest.raises(UsageError) as caught:
        Place.parse(text)
    assert "secret" not in str(caught.value)


def test_a_reference_has_a_tag_or_a_digest():
    place = Place.parse("oci:/a")
    with pytest.raises(ValueError, match="not both"):
        Reference(place=place, repository="a")
    with pytest.raises(UsageError, match="no tag"):
        place.at("a", tag="-x")
    with pytest.raises(UsageError, match="no digest"):
        place.at("a", digest="sha256:0")


MACHINES = ["amd64", "arm64", "s390x"]


@given(st.permutations([entry(SmallImage(f"linux/{name}")) for name in MACHINES]))
def test_a_list_has_one_digest_in_whatever_order_images_come(entries):
    assert index_bytes(entries) == index_bytes(sorted(entries, key=lambda entry: entry.platform))
    listed = json.loads(index_bytes(entries))["manifests"]
    assert [image["platform"]["architecture"] for image in listed] == MACHINES


PROGRAM = """#!/bin/sh
echo "$@" >> "$0.asked"
echo 'time="2026-01-01T00:00:00Z" level=fatal msg="SAID"' >&2
exit 1
"""


@pytest.mark.parametrize(
    ("said", "error", "asked"),
    [
        ("unauthorized: authentication required", UsageError, 1),
        ("requested access to the resource is denied", UsageError, 1),
        ("http: server gave HTTP response to HTTPS client", UsageError, 1),
        ("x509: certificate signed by unknown authority", ExternalServiceError, 1),
        ("received unexpected HTTP status: 503 Service Unavailable", ExternalServiceError, 3),
        ("StatusCode: 404, <html>no such page</html>", ExternalServiceError, 3),
        ("manifest unknown: manifest unknown", None, 1),
    ],
)
def test_what_registries_say_is_told_apart(tmp_path, monkeypatch, said, error, asked):
    program = tmp_path / "skopeo"
    program.write_text(PROGRAM.replace("SAID", said))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    store = Skopeo(patience=IMPATIENT, ticker=FakeTicker(), plain_http=["plain.example.org"])
    where = Place.parse("docker://registry.example.org/a").at("engine", tag="v1")
    if error is None:
        assert store.manifest(where) is None
    else:
        with pytest.raises(error) as caught:
            store.manifest(where)
        assert said in caught.value.message
    lines = (tmp_path / "skopeo.asked").read_text().splitlines()
    assert len(lines) == asked
    assert not any("tls-verify" in line for line in lines)


def test_a_registry_that_is_named_goes_without_encryption(tmp_path, monkeypatch):
    program = tmp_path / "skopeo"
    program.write_text(PROGRAM.replace("SAID", "manifest unknown"))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    store = Skopeo(plain_http=["plain.example.org:5000"])
    assert store.manifest(Place.parse("docker://plain.example.org:5000").at("e", tag="v1")) is None
    assert "--tls-verify=false" in (tmp_path / "skopeo.asked").read_text()
