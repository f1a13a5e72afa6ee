"""What a selector may look like, and what is said where it does not."""

import pytest

from gauntlet.analyzer.selection import parse_selector
from gauntlet.core.errors import UsageError

DIGEST = "0123456789abcdef" * 4


@pytest.mark.parametrize(
    ("text", "kind", "value", "side"),
    [
        pytest.param("run:20261130-1", "run", "20261130-1", "", id="run"),
        pytest.param("run:r1:candidate", "run", "r1", "candidate", id="side-of-a-run"),
        pytest.param(f"image:sha256:{DIGEST}", "image", f"sha256:{DIGEST}", "", id="image"),
        pytest.param("image:01234567", "image", "sha256:01234567", "", id="image-prefix"),
        pytest.param("commit:ABCDEF012", "commit", "abcdef012", "", id="commit"),
        pytest.param("commit:simulated-1", "commit", "simulated-1", "", id="commit-in-words"),
        pytest.param("version:0.24.0", "version", "0.24.0", "", id="version"),
        pytest.param("a.json,b.json", "files", "a.json,b.json", "", id="files"),
        pytest.param("results/*r1*.json.gz", "files", "results/*r1*.json.gz", "", id="glob"),
    ],
)
def test_forms(text, kind, value, side):
    found = parse_selector(text)
    assert (found.kind, found.value, found.side) == (kind, value, side)
    assert found.text == text


def test_filters_follow_and_overrule_those_for_both_sides():
    found = parse_selector(
        "version:1;point=concurrency=16,request_rate=2 ; gpus=8",
        ["point=concurrency=1", "workload=random"],
    )
    assert found.filters == {"point": "concurrency=16,request_rate=2", "workload": "random"}
    assert found.gpus == 8


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("imag:abc", "did you mean 'image'?", id="unknown-kind"),
        pytest.param("run:", "nothing after run:", id="no-value"),
        pytest.param("run:r1:candidates", "did you mean 'candidate'?", id="unknown-side"),
        pytest.param("image:abc", "'abc' is no image", id="too-short"),
        pytest.param("image:sha256:xyzxyzxyz", "is no image", id="no-digest"),
        pytest.param("commit:abc123", "is no commit", id="short-commit"),
        pytest.param("", "names nothing", id="empty"),
        pytest.param("run:r1;points=3", "did you mean 'point'?", id="unknown-filter"),
        pytest.param("run:r1;point", "point has no value", id="filter-without-value"),
        pytest.param("run:r1;point=a;point=b", "point is given twice", id="filter-twice"),
        pytest.param("run:r1;gpus=0", "gpus=0 is no count", id="no-gpus"),
    ],
)
def test_what_is_no_selector_is_said_with_what_is(text, said):
    with pytest.raises(UsageError) as error:
        parse_selector(text)
    assert said in error.value.message
    assert text in error.value.message or repr(text) in error.value.message


def test_a_file_may_be_named_like_a_form(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run:r1").write_text("{}")
    assert parse_selector("run:r1").kind == "files"
