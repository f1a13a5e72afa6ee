"""Which file fills which cell."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.release.matrix.model import WheelCell, load_matrix
from gauntlet.release.wheels.find import fill, wheel_artifact

X86, ARM = "manylinux_2_28_x86_64", "manylinux_2_28_aarch64"


def cell(name="one", platform=X86, variant="", python="cp38", abi="abi3"):
    return WheelCell(
        id=name,
        variant=variant,
        python_tag=python,
        abi_tag=abi,
        platform_tag=platform,
        queue="q",
        smoke_queue="q",
        dockerfile="Dockerfile",
    )


def wheel_name(tags=f"cp38-abi3-{X86}", version="1.2.0", package="vllm"):
    return Path(f"{package}-{version}-{tags}.whl")


def checks(filled):
    return [(finding.check, finding.subject) for finding in filled.findings]


@pytest.mark.parametrize(
    ("tags", "sought"),
    [
        # C55: an installer that looks for cp312-cp312 takes cp312-abi3.
        pytest.param(f"cp312-abi3-{X86}", ("cp312", "cp312"), id="C55 the stable ABI"),
        pytest.param(f"cp38-abi3-{X86}", ("cp312", "abi3"), id="for an older Python on"),
        pytest.param(f"cp38.cp39-abi3-{X86}", ("cp38", "abi3"), id="a set of Pythons"),
        pytest.param(
            f"cp38-abi3-manylinux_2_27_x86_64.{X86}", ("cp38", "abi3"), id="a set of platforms"
        ),
        pytest.param("cp38-abi3-manylinux2014_x86_64", ("cp38", "abi3"), id="an older glibc"),
    ],
)
def test_a_file_that_an_installer_would_take_fills_the_cell(tags, sought):
    python, abi = sought
    filled = fill([cell(python=python, abi=abi)], [wheel_name(tags)])
    assert filled.files == {"one": wheel_name(tags)}
    assert filled.findings == ()
    assert filled.cell_of(wheel_name(tags)) == "one"
    assert filled.cell_of(Path("other")) == ""


@pytest.mark.parametrize(
    ("tags", "version"),
    [
        pytest.param(f"cp39-abi3-{X86}", "1.2.0", id="for a newer Python only"),
        pytest.param(f"cp38-cp38-{X86}", "1.2.0", id="for one Python"),
        pytest.param("cp38-abi3-manylinux_2_34_x86_64", "1.2.0", id="a newer glibc"),
        pytest.param("cp38-abi3-linux_x86_64", "1.2.0", id="no promise about glibc"),
        pytest.param(f"cp38-abi3-{ARM}", "1.2.0", id="another machine"),
        pytest.param(f"cp38-abi3-{X86}", "1.2.0+cpu", id="another variant"),
        pytest.param("py3-none-any", "1.2.0", id="nothing compiled"),
    ],
)
def test_another_file_does_not_and_is_told_with_the_gap(tags, version):
    path = wheel_name(tags, version)
    filled = fill([cell()], [path])
    assert filled.files == {}
    assert checks(filled)[0] == ("wheel-missing", "one")
    assert {subject for _, subject in checks(filled)} == {"one", path.name}


def test_two_files_of_one_cell_are_told_and_neither_is_taken():
    paths = [wheel_name(), wheel_name("cp38-abi3-manylinux_2_17_x86_64")]
    filled = fill([cell()], paths)
    assert filled.files == {}
    assert checks(filled) == [("wheel-twice", "one")]
    assert all(path.name in filled.findings[0].message for path in paths)


def test_a_label_on_the_default_wheel_is_named_as_what_it_is():
    filled = fill([cell(), cell("cpu", variant="cpu")], [wheel_name(version="1.2.0+cu130")])
    found = {finding.check: finding for finding in filled.findings}
    assert set(found) == {"wheel-missing", "wheel-variant"}
    assert "+cu130 is no variant" in found["wheel-variant"].message
    assert "public index" in found["wheel-variant"].remedy


def test_names_that_are_no_wheels_and_cells_that_are_one_are_told():
    filled = fill([cell(), cell("two")], [Path("vllm.whl"), wheel_name()])
    assert checks(filled) == [("wheel-name", "vllm.whl"), ("wheel-ambiguous", wheel_name().name)]


def test_the_matrix_of_vllm_is_filled_by_its_seven_wheels():
    matrix = load_matrix()
    names = {
        c.id: wheel_name(
            f"cp38-abi3-{c.platform_tag}", f"1.2.0+{c.variant}" if c.variant else "1.2.0"
        )
        for c in matrix.wheels
    }
    filled = fill(matrix.wheels, names.values())
    assert filled.files == names
    assert filled.findings == ()


@given(taken=st.sets(st.integers(0, 6)), order=st.randoms())
def test_each_wheel_that_is_left_out_is_missed_and_no_other(taken, order):
    matrix = load_matrix()
    paths = [
        wheel_name(f"cp38-abi3-{c.platform_tag}", f"1.2.0+{c.variant}" if c.variant else "1.2.0")
        for c in matrix.wheels
    ]
    given_paths = [path for number, path in enumerate(paths) if number not in taken]
    order.shuffle(given_paths)
    filled = fill(matrix.wheels, given_paths)
    missed = {matrix.wheels[number].id for number in taken}
    assert {subject for _, subject in checks(filled)} == missed
    assert set(filled.files) == {c.id for c in matrix.wheels} - missed


def test_a_file_becomes_the_artifact_of_its_cell(tmp_path):
    path = tmp_path / wheel_name(version="1.2.0+cpu").name
    path.write_bytes(b"wheel")
    found = wheel_artifact(path, cell("cpu", variant="cpu"))
    assert (found.kind, found.cell, found.name, found.size_bytes) == ("wheel", "cpu", path.name, 5)
    assert (found.platform, found.variant) == (X86, "cpu")
