"""Pages of an index from a listing alone."""

import json
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.utils import canonicalize_name
from packaging.version import Version

from gauntlet.core.errors import UsageError
from gauntlet.release.index.listing import IndexFile, Listing, pointed, variant_of
from gauntlet.release.index.plan import plan_pages

A, B = "a" * 40, "b" * 40


def file(version="1.2.0", commit=A, project="vllm", **more):
    name = f"{project}-{version}-cp38-abi3-manylinux_2_28_x86_64.whl"
    return IndexFile(
        commit=commit,
        name=name,
        project=canonicalize_name(project),
        version=Version(version),
        tags=("cp38", "abi3", "manylinux_2_28_x86_64"),
        sha256="1" * 64,
        size_bytes=5,
        changed_ns=1,
        **{"metadata": b"Name: x\n", "requires_python": ">=3.10,<3.14", **more},
    )


def listing(*files, **pointers):
    names = {name.replace("_", ".").removeprefix("v"): c for name, c in pointers.items()}
    commits = frozenset({f.commit for f in files} | {A})
    return Listing(files=files, commits=commits, pointers=names)


class Links(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.found = []
        self.feed(page.decode())

    def handle_starttag(self, tag, attributes):
        if tag == "a":
            self.found.append(dict(attributes))


@pytest.mark.parametrize(
    ("version", "variant"),
    [
        ("1.2.0", ""),
        ("1.2.0+cu129", "cu129"),
        ("1.2.0rc1.dev5+g1234567", ""),
        ("1.2.0rc1.dev5+g1234567ab.cu129", "cu129"),
        ("1.2.0+rocm72.torch2", "rocm72.torch2"),
        ("1.2.0+gpu", "gpu"),
    ],
)
def test_the_variant_is_what_a_label_says_beside_the_commit(version, variant):
    assert variant_of(Version(version)) == variant


def test_every_place_of_the_layout_leads_to_the_commit():
    pages = plan_pages(listing(file(), file("1.2.0+cpu"), nightly=A, v1_2_0=A))
    depth = {
        "vllm": "../",
        "cpu/vllm": "../../",
        "1.2.0/vllm": "../../",
        "1.2.0/cpu/vllm": "../../../",
        "nightly/vllm": "../../",
        "nightly/cpu/vllm": "../../../",
        f"{A}/vllm": "../../",
        f"{A}/cpu/vllm": "../../../",
    }
    assert {path.removesuffix("/metadata.json") for path in pages if "metadata.json" in path} == {
        *depth
    }
    for path, up in depth.items():
        (link,) = Links(pages[f"{path}/index.html"]).found
        label = "%2Bcpu" if "cpu" in path else ""
        address = f"{up}{A}/vllm-1.2.0{label}-cp38-abi3-manylinux_2_28_x86_64.whl"
        assert link["href"] == f"{address}#sha256={'1' * 64}"
        assert link["data-requires-python"] == ">=3.10,<3.14"
        assert link["data-core-metadata"] == link["data-dist-info-metadata"]
        told = json.loads(pages[f"{path}/index.json"])
        assert (told["name"], told["files"][0]["url"]) == ("vllm", address)
        (row,) = json.loads(pages[f"{path}/metadata.json"])
        assert (row["path"], row["variant"]) == (address, "cpu" if "cpu" in path else "default")
    assert b"&gt;=3.10,&lt;3.14" in pages["vllm/index.html"]
    assert json.loads(pages["cpu/index.json"])["projects"] == [{"name": "vllm"}]


def test_the_root_has_all_releases_and_no_nightly():
    new = file("1.3.0.dev4+gabcdef0", commit=B)
    old, next_one = file("1.2.0"), file("1.2.1", commit=B)
    pages = plan_pages(listing(old, new, next_one, nightly=B, v1_2_0=A, v1_2_1=B))
    told = json.loads(pages["vllm/index.json"])
    assert told["versions"] == ["1.2.0", "1.2.1"]
    assert [f["filename"] for f in told["files"]] == [old.name, next_one.name]
    # A development version has no page, also where its commit has one for a release.
    assert json.loads(pages["1.2.1/vllm/index.json"])["versions"] == ["1.2.1"]
    assert len(json.loads(pages["nightly/vllm/index.json"])["files"]) == 2


def test_what_an_sdist_does_not_have_is_not_said():
    sdist = file(metadata=None, requires_python="")
    (link,) = Links(plan_pages(listing(sdist))[f"{A}/vllm/index.html"]).found
    assert set(link) == {"href"}
    (told,) = json.loads(plan_pages(listing(sdist))[f"{A}/vllm/index.json"])["files"]
    assert set(told) == {"filename", "url", "hashes", "size"}


@pytest.mark.parametrize("project", ["cpu", "nightly"])
def test_a_project_named_as_a_folder_of_the_index_is_refused(project):
    files = [file("1.2.0", project=project), file("1.2.0+cpu")]
    with pytest.raises(UsageError, match=f"project '{project}' is named as a folder"):
        plan_pages(listing(*files, v1_2_0=A))


def test_pages_are_written_so_that_no_link_is_dead():
    paths = list(plan_pages(listing(file(), nightly=A, v1_2_0=A)))
    assert paths[0] == f"{A}/{file().name}.metadata"
    assert paths[-2:] == ["index.html", "index.json"]


def test_pointers_are_set_and_taken_away():
    before = listing(file(), nightly=A, v1_2_0=A)
    assert pointed(before, {"1.2.0": None, "nightly": B}).pointers == {"nightly": B}


NAMES = st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,8}[A-Za-z0-9])?", fullmatch=True)


@given(names=st.lists(NAMES, min_size=1, max_size=6), order=st.randoms())
def test_projects_have_normalised_pages_in_any_order_of_the_listing(names, order):
    files = [file(project=name) for name in {canonicalize_name(n): n for n in names}.values()]
    pages = plan_pages(listing(*files))
    order.shuffle(files)
    assert plan_pages(listing(*files)) == pages
    told = json.loads(pages[f"{A}/index.json"])["projects"]
    assert [p["name"] for p in told] == sorted({canonicalize_name(name) for name in names})
    for project in told:
        assert f"{A}/{project['name']}/index.html" in pages
