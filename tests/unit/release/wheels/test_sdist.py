"""Source distributions, good and bad."""

import io
import tarfile

import pytest
from engine_repository import build_engine, make_engine

from gauntlet.release.version import ReleaseVersion
from gauntlet.release.wheels.sdist import check_sdist

INFO = b"Metadata-Version: 2.1\nName: tinyengine\nVersion: 1.2.0\n"


def sdist(folder, members, name="tinyengine-1.2.0.tar.gz"):
    path = folder / name
    with tarfile.open(path, "w:gz") as archive:
        for member, data in members.items():
            entry = tarfile.TarInfo(member)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return path


def told(path, **more):
    return [(finding.check, finding.message) for finding in check_sdist(path, **more)]


def test_an_sdist_builds_and_one_that_lacks_a_file_does_not(tmp_path):
    source = make_engine(tmp_path / "source")
    (source / "MANIFEST.in").unlink()
    path = build_engine(source, tmp_path / "dist", what="--sdist")
    assert check_sdist(path, package="tinyengine") == ()
    (finding,) = check_sdist(path, build=True)
    assert finding.check == "sdist-builds"
    assert "VERSION" in finding.message


@pytest.mark.parametrize(
    ("members", "check", "said"),
    [
        ({"tinyengine-1.2.0/setup.py": b""}, "sdist-readable", "PKG-INFO is needed"),
        ({"a/PKG-INFO": INFO, "b/x": b""}, "sdist-readable", "one top-level folder"),
        ({"../PKG-INFO": INFO}, "sdist-readable", "outside its folder"),
        ({"/a/PKG-INFO": INFO}, "sdist-readable", "outside its folder"),
        ({"a/PKG-INFO": INFO.replace(b"1.2.0", b"1.3.0")}, "sdist-name", "tinyengine 1.3.0"),
        ({"a/PKG-INFO": INFO.replace(b"1.2.0", b"new")}, "sdist-name", "says tinyengine new"),
    ],
)
def test_what_is_wrong_with_it_is_told(tmp_path, members, check, said):
    ((found, message),) = told(sdist(tmp_path, members))
    assert found == check
    assert said in message


def test_version_and_package_are_those_that_are_asked_for(tmp_path):
    path = sdist(tmp_path, {"tinyengine-1.2.0/PKG-INFO": INFO})
    assert told(path, package="TinyEngine", version=ReleaseVersion.parse("1.2.0rc1")) == []
    asked = told(path, package="vllm", version=ReleaseVersion.parse("1.3.0"))
    assert [check for check, _ in asked] == ["sdist-name", "sdist-version"]


def test_damage_is_told(tmp_path):
    path = sdist(tmp_path, {"tinyengine-1.2.0/PKG-INFO": INFO * 1000})
    path.write_bytes(path.read_bytes()[:-40])
    assert told(path)[0][0] == "sdist-readable"
    assert told(tmp_path / "x.tar.gz")[0][0] == "sdist-name"
    assert told(tmp_path / "gone-1.0.tar.gz")[0][0] == "sdist-readable"
