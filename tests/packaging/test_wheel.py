"""What a user installs: sdist, the wheel built from it, and a clean environment with it."""

import statistics
import subprocess
import sys
import sysconfig
import tarfile
import time
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = (
    "core",
    "pipelines",
    "perf_eval",
    "harness",
    "services",
    "warehouse",
    "locks",
    "images",
    "analyzer",
    "release",
    "hud",
    "demo",
)


def build(source, out, kind):
    command = [sys.executable, "-m", "build", f"--{kind}", "--no-isolation", "--outdir", str(out)]
    subprocess.run([*command, str(source)], check=True, capture_output=True, text=True)
    (built,) = (path for path in out.iterdir() if path.name.endswith((".tar.gz", ".whl")))
    return built


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    """The wheel that is built from the unpacked sdist, not from the checkout."""
    folder = tmp_path_factory.mktemp("dist")
    sdist = build(ROOT, folder / "sdist", "sdist")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder / "source", filter="data")
    (source,) = (folder / "source").iterdir()
    return build(source, folder / "wheel", "wheel")


@pytest.fixture(scope="session")
def installed(wheel, tmp_path_factory):
    """A clean environment with the wheel; its dependencies come from this one."""
    folder = tmp_path_factory.mktemp("clean")
    venv.create(folder, with_pip=False)
    site = next((folder / "lib").glob("python3.*")) / "site-packages"
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "install"]
    subprocess.run([*pip, "--quiet", "--no-deps", "--no-index", str(wheel)], check=True)
    # The path file of the editable install is not followed from here, so the checkout stays out.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder


def tracked_files():
    listed = subprocess.run(
        [
            "git",
            "-C",
            str(ROOT),
            "ls-files",
            "-z",
            *FOLDERS,
            "src/gauntlet/*.py",
            "src/gauntlet/py.typed",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode:
        pytest.skip("not a git checkout: there is no list of files to compare with")
    return {
        f"gauntlet/{name.removeprefix('src/gauntlet/')}"
        for name in listed.stdout.split("\0")
        if name
    }


def test_the_wheel_holds_one_name_and_every_file(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert {name.split("/")[0] for name in names} == {"gauntlet"}
    assert names == tracked_files()


def test_only_gauntlet_is_importable_from_a_clean_environment(installed):
    code = (
        "import importlib.util, pkgutil, gauntlet\n"
        f"print([n for n in {FOLDERS!r} if importlib.util.find_spec(n)])\n"
        "names = [m.name for m in pkgutil.walk_packages(gauntlet.__path__, 'gauntlet.')]\n"
        "skip = {'gauntlet.hud.app', 'gauntlet.__main__'}\n"
        "[importlib.import_module(n) for n in names if n not in skip]\n"
        "print(len(names), gauntlet.__file__)"
    )
    ended = subprocess.run(
        [installed / "bin" / "python", "-c", code],
        capture_output=True,
        text=True,
        cwd=installed,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    others, count = ended.stdout.splitlines()
    assert others == "[]"
    assert int(count.split()[0]) > 80
    assert str(installed) in count


@pytest.mark.parametrize("script", ["gauntlet", "release"])
def test_console_scripts_answer(installed, script):
    command = [installed / "bin" / script, "--help"]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=installed, check=True)
    assert "Usage: gauntlet" in ended.stdout


def test_data_files_are_found_in_the_installed_package(installed):
    gauntlet = installed / "bin" / "gauntlet"
    for arguments in (
        ["recipes", "lint", "smoke"],
        ["pipelines", "examples"],
        ["warehouse", "queries"],
    ):
        subprocess.run([gauntlet, *arguments], capture_output=True, cwd=installed, check=True)


def test_help_is_quick(installed):
    """Medians of many starts; the limit is three times what an idle machine needs."""
    command = [installed / "bin" / "gauntlet", "--help"]
    seconds = []
    for _ in range(9):
        started = time.monotonic()
        subprocess.run(command, capture_output=True, check=True)
        seconds.append(time.monotonic() - started)
    assert statistics.median(seconds) < 0.3


def test_help_imports_nothing_heavy():
    code = (
        "import sys\nfrom gauntlet.__main__ import run\nrun(['--help'])\n"
        "heavy = {'numpy', 'scipy', 'pandas', 'pydantic', 'yaml', 'aiohttp', 'streamlit', 'rich'}\n"
        "sys.exit(', '.join(heavy & set(sys.modules)) or 0)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
