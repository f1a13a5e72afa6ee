import os
import shutil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from image_targets import DOCKERFILE, a_repository

from gauntlet.images.content_key import KeyInputs, content_key
from gauntlet.images.dockerfile import parse_dockerfile
from gauntlet.images.ignore import parse_ignore

NAME = st.from_regex(r"[a-z]{1,4}(/[A-Z]{1,4})?", fullmatch=True)


def key(folder, *, dockerfile=DOCKERFILE, stage="release", args=None, digest="sha256:1", **more):
    values = {"LOCK": "small", **(args or {})}
    parsed = parse_dockerfile(dockerfile, {**values, "PYTHON_BASE": "python@x"}, file="Dockerfile")
    given = {"platform": "linux/amd64", "contexts": {"": folder}, **more}
    bases = {"PYTHON_BASE": digest}
    return content_key(KeyInputs(dockerfile=parsed, stage=stage, args=values, bases=bases, **given))


@pytest.fixture
def folder(tmp_path):
    a_repository(tmp_path)
    return tmp_path


def test_the_key_is_that_of_the_content_wherever_and_whenever(folder, tmp_path_factory):
    other = tmp_path_factory.mktemp("other") / "copy"
    shutil.copytree(folder, other)
    os.utime(other / "source/make.py", (1, 1))
    (other / "source/make.py").chmod(0o600)
    assert key(other) == key(folder)
    assert key(folder).tag == f"key-{key(folder).value[:16]}"
    assert key(folder).files == 3


@pytest.mark.parametrize("path", ["source/make.py", "source/deep/data.txt", "lockfiles/small.txt"])
def test_a_file_that_is_copied_changes_it(folder, path):
    before = key(folder).value
    (folder / path).write_text("other\n")
    assert key(folder).value != before


def test_a_new_name_mode_or_link_changes_it(folder):
    new = folder / "source/more.py"
    seen = {key(folder).value}
    new.write_text("")
    seen.add(key(folder).value)
    new.chmod(0o755)
    seen.add(key(folder).value)
    for target in ("make.py", "deep"):
        new.unlink()
        new.symlink_to(target)
        seen.add(key(folder).value)
    assert len(seen) == 5


@pytest.mark.parametrize("path", ["README.md", "lockfiles/other.txt", "new/file.txt"])
def test_a_file_outside_does_not(folder, path):
    before = key(folder).value
    (folder / path).parent.mkdir(exist_ok=True)
    (folder / path).write_text("other\n")
    assert key(folder).value == before


@pytest.mark.parametrize(
    "change",
    [
        {"args": {"LOCK": "other"}},
        {"digest": "sha256:2"},
        {"platform": "linux/arm64"},
        {"stage": "test"},
        {"dockerfile": DOCKERFILE.replace("LANG=C", "LANG=D")},
        {"dockerfile": DOCKERFILE.replace('"/source/make.py"', '"/source/make.py", "-v"')},
        {"dockerfile": DOCKERFILE.replace('["small"]', '["small", "x"]')},
    ],
)
def test_every_other_input_changes_it(folder, change):
    assert key(folder, **change).value != key(folder).value


def test_what_the_image_does_not_take_does_not(folder):
    before = key(folder).value
    assert key(folder, args={"UNRELATED": "1"}).value == before
    other_test = DOCKERFILE.replace('"-m", "pytest"', '"-m", "unittest"')
    assert key(folder, dockerfile=other_test).value == before
    assert key(folder, dockerfile="# a comment\n" + DOCKERFILE).value == before


def test_what_is_ignored_does_not_count(folder):
    before = key(folder).value
    (folder / "source/__pycache__").mkdir()
    (folder / "source/__pycache__/make.pyc").write_text("x")
    assert key(folder).value != before
    (folder / ".dockerignore").write_text("**/__pycache__\n")
    assert key(folder).value == before


def test_a_source_that_fits_nothing_counts_the_whole_context(folder):
    (folder / "lockfiles/small.txt").unlink()
    found = key(folder)
    assert found.notes == ("line 11: 'lockfiles/small.txt' fits no file: the whole context counts",)
    (folder / "README.md").write_text("other\n")
    assert key(folder).value != found.value


def test_a_file_that_cannot_be_read_is_built_every_time(folder, monkeypatch):
    real = os.path.realpath(folder / "source/make.py")

    def refuse(path, *arguments, **options):
        if os.path.realpath(path) == real:
            raise PermissionError(13, "Permission denied")
        return opened(path, *arguments, **options)

    opened = type(folder).open
    monkeypatch.setattr(type(folder), "open", refuse)
    found = key(folder)
    assert found.value != key(folder).value
    assert found.notes == ("source/make.py cannot be read (Permission denied): it is built",)


@settings(deadline=None)
@given(files=st.dictionaries(NAME, st.binary(max_size=8), min_size=1, max_size=5), data=st.data())
def test_any_changed_file_below_what_is_copied_changes_it(tmp_path_factory, files, data):
    folder = tmp_path_factory.mktemp("any")
    a_repository(folder)
    for path, content in files.items():
        place = folder / "source/any" / path.replace("/", "-/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    before = key(folder).value
    written = sorted(path for path in (folder / "source/any").rglob("*") if path.is_file())
    chosen = data.draw(st.sampled_from(written))
    chosen.write_bytes(chosen.read_bytes() + b"x")
    assert key(folder).value != before


@pytest.mark.parametrize(
    ("lines", "hidden", "shown"),
    [
        (["*.txt"], "a.txt", "b/a.txt"),
        (["**/*.txt"], "b/c/a.txt", "b/c/a.md"),
        (["build"], "build/x/y", "src/build"),
        (["*", "!src"], "a", "src/deep/x"),
        (["/top/", "# x", ""], "top/a", "x"),
        (["a?c[0-9]"], "abc1", "abcx"),
    ],
)
def test_ignore_files_are_read_as_docker_reads_them(lines, hidden, shown):
    ignore = parse_ignore(lines)
    assert ignore.hides(hidden)
    assert not ignore.hides(shown)


def test_every_file_of_a_named_context_that_is_mounted_whole_counts(folder, tmp_path_factory):
    wheels = tmp_path_factory.mktemp("wheels")
    mount = "ARG LOCK\nRUN --mount=type=bind,from=torch,target=/torch true"
    dockerfile = DOCKERFILE.replace("ARG LOCK", mount)
    contexts = {"": folder, "torch": wheels}
    (wheels / "torch-1.0-py3-none-any.whl").write_text("one")
    seen = {key(folder, dockerfile=dockerfile, contexts=contexts).value}
    (wheels / "torch-1.0-py3-none-any.whl").write_text("two")
    seen.add(key(folder, dockerfile=dockerfile, contexts=contexts).value)
    (wheels / "triton-1.0-py3-none-any.whl").write_text("three")
    seen.add(key(folder, dockerfile=dockerfile, contexts=contexts).value)
    assert len(seen) == 3
