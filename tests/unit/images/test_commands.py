import json

import pytest
from click.testing import CliRunner
from image_targets import a_repository

from gauntlet.core.errors import ConfigError, NotQualifiedError, UsageError
from gauntlet.images.cli import images as command
from gauntlet.images.model import BASES, FILE, Images
from gauntlet.images.options import pairs, secrets
from gauntlet.images.reference_text import read_reference


def invoke(*arguments):
    return CliRunner().invoke(command, [str(each) for each in arguments])


def test_bake_writes_and_checks(tmp_path):
    a_repository(tmp_path)
    assert isinstance(invoke("bake", "--root", tmp_path, "--check").exception, NotQualifiedError)
    assert "written" in invoke("bake", "--root", tmp_path).stdout
    assert "fresh" in invoke("bake", "--root", tmp_path, "--check").stdout


def test_warm_prints_data(tmp_path):
    a_repository(tmp_path)
    steps = json.loads(invoke("warm", "--root", tmp_path, "--json").stdout)
    assert [step["action"] for step in steps] == ["pull-base", "build"]
    plan = json.loads(invoke("warm", "--root", tmp_path, "--fresh", "b", "--present", "a").stdout)
    assert (plan["set"], plan["keep"]) == ("b", ["a"])


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        (FILE, "kind: release", "kind: shipped", "kind"),
        (FILE, "PYTHON_BASE: python", "PYTHON_BASE: snake", "no such base"),
        (FILE, "targets: [small]", "targets: [gone]", "no such target"),
        (FILE, "secrets:", "secret:", "unknown key"),
        (BASES, "sha256:a", "sha256:x", "digest"),
    ],
)
def test_what_is_wrong_in_the_files_is_said(tmp_path, file, old, new, said):
    a_repository(tmp_path)
    path = tmp_path / file
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(ConfigError, match=said):
        Images(tmp_path)


def test_targets_are_picked_by_name_in_the_files_order(tmp_path):
    manifest = a_repository(tmp_path, more="groups: {all: [small-test, small]}\n").manifest
    assert manifest.pick(("all",)) == ("small", "small-test")
    assert manifest.pick(("small-test",)) == ("small-test",)
    with pytest.raises(UsageError, match="did you mean 'small'"):
        manifest.pick(("smalls",))


def test_references_are_read_and_others_refused():
    one = read_reference("docker://h.example.org:5000/a/b:tag")
    assert (one.place.text, one.repository, one.tag) == (
        "docker://h.example.org:5000",
        "a/b",
        "tag",
    )
    two = read_reference(f"oci:/images/a/b@sha256:{'a' * 64}")
    assert (two.place.text, two.repository, two.tag) == ("oci:/images/a", "b", "")
    for text in ("small", "docker://h.example.org", "oci:x:y", "docker://h.example.org/a"):
        with pytest.raises(UsageError):
            read_reference(text)


def test_options_are_read_and_a_secret_must_be_there(tmp_path):
    assert pairs(["A=b=c"], "--arg") == {"A": "b=c"}
    with pytest.raises(UsageError, match="no NAME=VALUE"):
        pairs(["A"], "--arg")
    file = tmp_path / "pip.conf"
    with pytest.raises(UsageError, match="is not there"):
        secrets([f"id=pip,src={file}"])
    file.write_text("")
    assert secrets([f"id=pip,src={file}"]) == {"pip": file}
    with pytest.raises(UsageError, match="--secret"):
        secrets(["pip"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("plan", "--platform", "linux/arm65"), "unknown platform"),
        (("plan", "--context", "nope=/"), "unknown context"),
        (("build", "--work", "w", "--push"), "no registry"),
        (("verify", "--platform", "linux/amd64"), "--image"),
        (("warm", "--present", "a"), "--fresh"),
        (("prune", "--place", "oci:/images"), "no registry"),
        (("prune", "--place", "docker://127.0.0.1:9", "--keep-digest", "a=b"), "no digest"),
        (("prune", "--place", "docker://127.0.0.1:9"), "git knows no 'main'"),
        (("plan",), "no git repository"),
    ],
)
def test_an_option_that_would_do_nothing_is_refused(tmp_path, arguments, said):
    a_repository(tmp_path)
    error = invoke(*arguments, "--root", tmp_path).exception
    assert isinstance(error, UsageError)
    assert said in f"{error.message} {error.hint}"


def test_a_folder_without_images_is_told_where_to_go(tmp_path):
    with pytest.raises(ConfigError, match="there is no such file") as raised:
        Images(tmp_path)
    assert "--root" in raised.value.hint


def test_a_mirror_is_the_same_with_and_without_its_scheme(tmp_path):
    from gauntlet.images.options import Options
    from gauntlet.images.planning import _request

    images = a_repository(tmp_path)
    empty = dict.fromkeys(("targets", "platforms", "contexts", "bases", "args"), ())
    more = dict.fromkeys(("place", "driver", "main", "branch"), "")
    given = Options(**empty, **more, root=tmp_path, mirror="docker://registry.example.org/m")
    assert _request(given, images).mirror == "registry.example.org/m"
