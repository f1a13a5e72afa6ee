"""The locks satisfy pyproject.toml, have a hash for everything and name no host."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
OTHER = {"build-constraints.txt", "holds.txt"}
LOCKS = sorted(path for path in (ROOT / "lockfiles").glob("*.txt") if path.name not in OTHER)
PINNED = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==(\S+)")


def entries(path):
    """Name, version and number of hashes of every entry of a lock."""
    found = {}
    text = re.sub(r"^ *#.*\n", "", path.read_text(), flags=re.MULTILINE)
    for block in re.split(r"\n(?=\S)", text.strip()):
        match = PINNED.match(block)
        assert match, f"{path.name}: not pinned: {block.splitlines()[0]}"
        found[canonicalize_name(match[1])] = (match[2], block.count("--hash=sha256:"))
    return found


def wanted():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    lists = [
        project["project"]["dependencies"],
        *extras.values(),
        project["dependency-groups"]["dev"],
    ]
    requirements = [Requirement(text) for each in lists for text in each]
    return [each for each in requirements if each.name != "gauntlet"]


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.name)
def test_every_entry_is_pinned_with_a_hash_and_no_host_is_named(path):
    assert all(hashes for _, hashes in entries(path).values())
    assert not re.search(r"https?://|--index|--find-links|file:", path.read_text())


@pytest.mark.parametrize("requirement", wanted(), ids=str)
def test_the_lock_satisfies_the_project(requirement):
    locked = entries(ROOT / "lockfiles" / "dev.txt")
    name = canonicalize_name(requirement.name)
    assert name in locked, "run `make lock`"
    assert requirement.specifier.contains(locked[name][0]), "run `make lock`"
