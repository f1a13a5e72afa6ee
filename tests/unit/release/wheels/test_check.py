"""Wheels, good and bad, as they are checked."""

import shutil
import struct
import zipfile

import pytest
from engine_repository import (
    build_engine,
    cross_compile,
    make_engine,
    pure_wheel,
    record_of,
    remade,
    write_zip,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gauntlet.release.matrix.model import Matrix
from gauntlet.release.version import ReleaseVersion
from gauntlet.release.wheels.check import Wanted, check_wheel, check_wheels
from gauntlet.release.wheels.facts import WheelError, read_wheel
from gauntlet.release.wheels.stable_abi import KNOWN_TO, outside

CORE = "tinyengine/_core.abi3.so"
INFO = "tinyengine-1.2.0.dist-info"
V = ReleaseVersion.parse("v1.2.0rc2")


def found(path, **wanted):
    return {f.check: f for f in check_wheel(path, Wanted(**wanted))}


def cells(*variants, size_limit_mb=500.0):
    return [
        {
            "id": f"{variant or 'default'}-{arch}",
            "variant": variant,
            "platform_tag": f"manylinux_2_28_{arch}",
            "queue": "q",
            "smoke_queue": "q",
            "dockerfile": "D",
            "size_limit_mb": size_limit_mb,
        }
        for variant, arch in variants
    ]


def matrix(*variants, sdist=False, **more):
    wheels = cells(*variants, **more)
    return Matrix.model_validate({"package": "tinyengine", "wheels": wheels, "sdist": sdist})


def test_a_good_wheel_has_nothing_against_it(wheel):
    assert found(wheel, package="tinyengine", version=V) == {}
    facts = read_wheel(wheel)
    (library,) = facts.elf
    assert (library.name, library.machine, library.is_extension) == (CORE, "x86_64", True)
    assert "PyModule_Create2" in library.python_symbols
    assert (facts.metadata.name, facts.is_purelib) == ("tinyengine", False)
    assert check_wheels([wheel], matrix=matrix(("", "x86_64")), version=V) == ()


def test_the_whole_matrix_with_wheels_of_two_machines_and_an_sdist(engine, wheel, tmp_path):
    if not shutil.which("aarch64-linux-gnu-gcc"):
        pytest.skip("no compiler for aarch64 here")
    library = cross_compile(engine, tmp_path)
    arm = remade(
        wheel,
        tmp_path,
        tags="cp38-abi3-manylinux_2_28_aarch64",
        replace={CORE: library},
    )
    cpu = build_engine(engine, tmp_path, version="1.2.0+cpu", platform="manylinux_2_28_x86_64")
    sdist = build_engine(engine, tmp_path, what="--sdist")
    wanted = matrix(("", "x86_64"), ("", "aarch64"), ("cpu", "x86_64"), sdist=True)
    files = [wheel, arm, cpu, sdist]
    assert check_wheels(files, matrix=wanted, version=V, build_sdist=True) == ()
    missing = check_wheels(files[1:3], matrix=wanted, version=V)
    assert [(f.check, f.subject) for f in missing] == [
        ("wheel-missing", "default-x86_64"),
        ("sdist-missing", "tinyengine"),
    ]


def test_a_wheel_that_was_only_tagged_for_another_machine_is_found_out(wheel, tmp_path):
    arm = remade(wheel, tmp_path, tags="cp38-abi3-manylinux_2_28_aarch64")
    assert set(found(arm)) == {"wheel-machine"}
    assert f"{CORE} is for x86_64, the tags for aarch64" in found(arm)["wheel-machine"].message


def test_symbols_of_a_newer_glibc_and_outside_the_stable_abi_are_named(tmp_path):
    source = make_engine(tmp_path / "source")
    macros = ["NEWER_GLIBC", "OUTSIDE_LIMITED_API"]
    path = build_engine(source, tmp_path, platform="manylinux_2_28_x86_64", macros=macros)
    problems = found(path)
    assert set(problems) == {"wheel-glibc", "wheel-limited-api"}
    assert f"{CORE} needs GLIBC_2.34" in problems["wheel-glibc"].message
    assert "manylinux_2_34_x86_64" in problems["wheel-glibc"].remedy
    assert "PyUnicode_New" in problems["wheel-limited-api"].message
    tagged = remade(path, tmp_path / "new", tags="cp38-abi3-manylinux_2_34_x86_64")
    assert set(found(tagged)) == {"wheel-limited-api"}
    # A tag between two policies has what the older of them has.
    between = remade(path, tmp_path / "new", tags="cp38-abi3-manylinux_2_33_x86_64")
    assert "wheel-glibc" in found(between)


@pytest.mark.parametrize(
    ("tags", "check", "said"),
    [
        ("cp38-abi3-linux_x86_64", "wheel-glibc", "promises nothing"),
        ("cp38-abi3-musllinux_1_2_x86_64", "wheel-glibc", "not checked"),
        ("cp38-abi3-any", "wheel-purelib", "for any platform and holds"),
    ],
)
def test_platforms_that_promise_nothing(wheel, tmp_path, tags, check, said):
    problems = found(remade(wheel, tmp_path, tags=tags))
    assert set(problems) == {check}
    assert said in problems[check].message
    assert problems[check].level == ("warning" if check == "wheel-glibc" else "error")


@pytest.mark.parametrize(
    ("member", "said"),
    [
        ("tinyengine/_core.cpython-311-x86_64-linux-gnu.so", "one Python alone (cpython-311)"),
        ("tinyengine/_core.so", "not named *.abi3.so"),
        (None, "holds no extension"),
    ],
)
def test_abi3_is_more_than_a_tag(wheel, tmp_path, member, said):
    with zipfile.ZipFile(wheel) as archive:
        library = archive.read(CORE)
    replace = {CORE: None, **({member: library} if member else {})}
    problems = found(remade(wheel, tmp_path, replace=replace))
    assert set(problems) == {"wheel-abi3"}
    assert said in problems["wheel-abi3"].message


def test_the_stable_abi_knows_since_when():
    assert outside({"PyList_GetItemRef", "PyLong_AsLong"}, 12) == ["PyList_GetItemRef"]
    assert outside({"PyList_GetItemRef"}, 13) == []
    assert outside({"PyUnicode_New"}, KNOWN_TO) == ["PyUnicode_New"]
    assert outside({"PyUnicode_New"}, KNOWN_TO + 1) == []


def test_a_renamed_wheel_does_not_pass(wheel, tmp_path):
    names = {
        "tinyengine-1.3.0-cp38-abi3-manylinux_2_28_x86_64.whl": {"wheel-name", "wheel-version"},
        "other-1.2.0-cp38-abi3-manylinux_2_28_x86_64.whl": {"wheel-name"},
        "tinyengine-1.2.0-cp39-abi3-manylinux_2_28_x86_64.whl": {"wheel-tags"},
    }
    for name, checks in names.items():
        path = shutil.copy(wheel, tmp_path / name)
        assert set(found(path, version=V)) == checks, name


@pytest.mark.parametrize("version", ["1.2.0rc2", "1.2.0.dev3", "1.2.0.post1", "1.2.1"])
def test_another_version_than_the_release(tmp_path, version):
    path = pure_wheel(tmp_path, version=version)
    assert set(found(path, version=V)) == {"wheel-version"}
    assert (
        f"it is version {version}, 1.2.0 is asked for"
        in found(path, version=V)["wheel-version"].message
    )


def test_a_wheel_that_is_too_large_names_its_largest_members(tmp_path):
    letters = {f"tinyengine/{n}.bin": bytes([n]) * 10 + bytes(range(256)) * n for n in range(8)}
    path = pure_wheel(tmp_path, tag="cp38-abi3-manylinux_2_28_x86_64", extra=letters)
    wanted = matrix(("", "x86_64"), size_limit_mb=0.0005)
    (size,) = [f for f in check_wheels([path], matrix=wanted) if f.check == "wheel-size"]
    assert "at most 0.0005 MB; largest in it: " in size.message
    assert size.message.count(" MB,") == 5


def test_what_metadata_lacks_is_told_in_one_line(wheel, tmp_path):
    text = b"Metadata-Version: 2.1\nName: tinyengine\nVersion: 1.2.0\n"
    path = remade(wheel, tmp_path, replace={f"{INFO}/METADATA": text})
    assert found(path)["wheel-metadata"].message == (
        "METADATA does not give Requires-Python, License-Expression, Summary, Description"
    )
    bad = text + b"Requires-Python: new\nRequires-Dist: a b c\n"
    path = remade(wheel, tmp_path / "bad", replace={f"{INFO}/METADATA": bad})
    told = " ".join(f.message for f in check_wheel(path, Wanted()))
    assert "requires-python" in told
    assert "requires-dist" in told


@pytest.mark.parametrize(
    ("replace", "said"),
    [
        ({"tinyengine/serve.py": b"print('changed')\n"}, "serve.py was changed"),
        ({"tinyengine/extra.py": b""}, "extra.py is there and not listed"),
        ({"tinyengine/serve.py": None}, "serve.py is listed and not there"),
        ({f"{INFO}/RECORD": b"\xff"}, "RECORD cannot be read"),
        ({f"{INFO}/RECORD": b"a,b\n"}, "a row has 3 columns, not 2"),
    ],
)
def test_what_was_changed_after_the_build_does_not_fit_its_record(wheel, tmp_path, replace, said):
    problems = found(remade(wheel, tmp_path, replace=replace, record=False))
    assert set(problems) == {"wheel-record"}
    assert said in problems["wheel-record"].message


def test_weak_hashes_and_wrong_sizes_in_a_record(tmp_path):
    path = pure_wheel(tmp_path)
    with zipfile.ZipFile(path) as archive:
        record = archive.read(f"{INFO}/RECORD").decode()
    lines = record.splitlines()
    lines[0] = "tinyengine/__init__.py,md5=abc,18"
    lines[1] = lines[1].rpartition(",")[0] + ",1"
    text = ("\n".join(lines) + "\n").encode()
    path = remade(path, tmp_path / "new", replace={f"{INFO}/RECORD": text}, record=False)
    assert "sha256 is needed" in found(path)["wheel-record"].message
    assert "1 are listed" in found(path)["wheel-record"].message


def test_what_does_not_belong_into_a_wheel(wheel, tmp_path):
    replace = {"tests/test_a.py": b"", "tinyengine/__pycache__/a.cpython-311.pyc": b"x"}
    told = [f.message for f in check_wheel(remade(wheel, tmp_path, replace=replace), Wanted())]
    assert told == [
        "installs the top-level tests for everybody",
        "holds 1 compiled files, such as tinyengine/__pycache__/a.cpython-311.pyc",
    ]


@pytest.mark.parametrize(
    ("value", "said"), [(b"true", "its tags name a platform"), (b"maybe", "does not give")]
)
def test_the_purelib_flag_is_the_one_of_its_tags(wheel, tmp_path, value, said):
    with zipfile.ZipFile(wheel) as archive:
        text = archive.read(f"{INFO}/WHEEL").replace(b"Purelib: false", b"Purelib: " + value)
    problems = found(remade(wheel, tmp_path, replace={f"{INFO}/WHEEL": text}))
    assert set(problems) == {"wheel-purelib"}
    assert said in problems["wheel-purelib"].message


NAME = "tinyengine-1.2.0-py3-none-any.whl"


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"../../etc/passwd": b""}, "would be written outside"),
        ({"/etc/passwd": b""}, "would be written outside"),
        ({"a\\..\\b": b""}, "would be written outside"),
        ({"C:/b": b""}, "would be written outside"),
        ({"a.py": b""}, "one .dist-info folder is needed, found: none"),
        ({"a-1.dist-info/M": b"", "b-1.dist-info/M": b""}, "found: a-1.dist-info, b-1.dist-info"),
        ({f"{INFO}/METADATA": b"", f"{INFO}/RECORD": b""}, "WHEEL is missing"),
    ],
)
def test_hostile_and_incomplete_archives_are_refused(tmp_path, members, said):
    path = write_zip(tmp_path / NAME, members)
    problems = found(path)
    assert set(problems) == {"wheel-readable"}
    assert said in problems["wheel-readable"].message


def test_a_member_given_twice_is_refused(tmp_path):
    path = pure_wheel(tmp_path)
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("tinyengine/__init__.py", b"other")
    assert "two members are named" in found(path)["wheel-readable"].message


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path):
    path = write_zip(tmp_path / NAME, {f"{INFO}/METADATA": b"x" * 100})
    raw = bytearray(path.read_bytes())
    # The size that the directory of the archive gives, where 24 is its offset in an entry.
    at = raw.index(b"PK\x01\x02") + 24
    raw[at : at + 4] = struct.pack("<I", 3 << 30)
    path.write_bytes(raw)
    assert "that is a bomb" in found(path)["wheel-readable"].message


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=st.integers(0, 3000), at=st.integers(0, 3000), byte=st.integers(0, 255))
def test_a_damaged_file_ends_in_findings_never_in_a_crash(wheel, tmp_path, cut, at, byte):
    raw = bytearray(wheel.read_bytes())
    raw[at % len(raw)] = byte
    path = tmp_path / wheel.name
    path.write_bytes(raw[: len(raw) - cut])
    findings = check_wheel(path, Wanted())
    if cut:
        assert {f.check for f in findings} == {"wheel-readable"}
    elif not findings:
        assert read_wheel(path).hashes == read_wheel(wheel).hashes


def test_a_library_that_cannot_be_parsed_is_told(wheel, tmp_path):
    path = remade(wheel, tmp_path, replace={"tinyengine/lib.so": b"\x7fELF\x02\x01" + b"\xff" * 40})
    problems = found(path)
    assert set(problems) == {"wheel-machine"}
    assert "tinyengine/lib.so cannot be read" in problems["wheel-machine"].message


def test_code_of_a_gpu_is_data(wheel, tmp_path):
    with zipfile.ZipFile(wheel) as archive:
        library = bytearray(archive.read(CORE))
    library[18:20] = struct.pack("<H", 190)  # EM_CUDA
    path = remade(wheel, tmp_path, replace={"tinyengine/kernel.cubin": bytes(library)})
    assert "wheel-machine" not in found(path)


def test_a_file_that_is_gone_or_named_otherwise_is_an_error_of_its_own(tmp_path):
    assert "cannot be read" in found(tmp_path / NAME)["wheel-readable"].message
    with pytest.raises(WheelError, match="wheel.whl: Invalid wheel filename"):
        read_wheel(tmp_path / "wheel.whl")


def test_one_bad_file_does_not_hide_the_others(wheel, tmp_path):
    bad = tmp_path / NAME
    bad.write_bytes(b"no zip")
    renamed = shutil.copy(wheel, tmp_path / "other-1.2.0-cp38-abi3-manylinux_2_28_x86_64.whl")
    told = check_wheels([bad, renamed, wheel])
    assert [f.check for f in told] == ["wheel-name", "wheel-readable"]


def test_records_of_the_helper_are_what_builders_write(wheel):
    with zipfile.ZipFile(wheel) as archive:
        members = {n: archive.read(n) for n in archive.namelist()}
    record = members.pop(f"{INFO}/RECORD")
    assert sorted(record_of(members, f"{INFO}/RECORD").split()) == sorted(record.split())
