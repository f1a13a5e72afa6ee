"""What every resolver of locks must do, on real uv and real pip-compile, without any index."""

import pytest
from tiny_index import tiny_wheel

from gauntlet.core.errors import ConfigError
from gauntlet.locks.header import program
from gauntlet.locks.lock_file import parse_lock
from gauntlet.locks.manifest import LockSpec
from gauntlet.locks.resolver import Resolution
from gauntlet.locks.resolvers import resolver_for

FILE = "lockfiles/a.txt"


@pytest.fixture(params=["uv", "pip-tools"])
def resolver(request):
    return resolver_for(request.param)


@pytest.fixture
def resolution(tmp_path):
    """Ask for ``app``, which wants ``lib``, of which there are two versions."""
    wheels, root = tmp_path / "wheels", tmp_path / "repository"
    tiny_wheel(wheels, "app", "1.0", "lib")
    tiny_wheel(wheels, "lib", "1.0")
    tiny_wheel(wheels, "lib", "2.0")
    (root / "lockfiles").mkdir(parents=True)
    (root / "lockfiles" / "a.in").write_text("app\n")

    def ask(**more):
        return Resolution(
            root=root,
            file=FILE,
            spec=LockSpec(purpose="x", inputs=("lockfiles/a.in",)),
            python="3.11",
            find_links=(wheels,),
            offline=True,
            **more,
        )

    return ask


def test_all_is_pinned_with_hashes_and_through_whom(resolver, resolution, tmp_path):
    text = resolver.resolve(resolution())
    lock = parse_lock(text, file=FILE)
    assert lock.versions == {"app": "1.0", "lib": "2.0"}
    assert [pin.via for pin in lock.pins] == [("-r lockfiles/a.in",), ("app",)]
    assert all(pin.hashes for pin in lock.pins)
    assert lock.command == resolver.command(resolution())
    assert program(lock.command)
    assert not lock.options
    assert str(tmp_path) not in text
    assert not (tmp_path / "repository" / FILE).exists()


def test_present_pins_stay_and_equal_questions_have_equal_answers(resolver, resolution):
    present = "lib==1.0\n"
    first = resolver.resolve(resolution(present=present))
    assert parse_lock(first, file=FILE).versions["lib"] == "1.0"
    assert resolver.resolve(resolution(present=first)) == first
    for more in ({"upgrade": ("lib",)}, {"upgrade_all": True}):
        moved = resolver.resolve(resolution(present=first, **more))
        assert parse_lock(moved, file=FILE).versions["lib"] == "2.0"


def test_a_changed_hash_of_the_present_lock_does_not_survive(resolver, resolution):
    good = resolver.resolve(resolution())
    digest = parse_lock(good, file=FILE).pins[0].hashes[0]
    bad = good.replace(digest, "sha256:" + "0" * 64)
    assert resolver.resolve(resolution(present=bad)) == good


def test_what_is_held_stays_back_and_leaves_no_line(resolver, resolution):
    text = resolver.resolve(resolution(held=("lib<2",)))
    assert parse_lock(text, file=FILE).versions["lib"] == "1.0"
    assert text == resolver.resolve(resolution(present="lib==1.0\n"))


def test_holds_of_the_folder_are_constraints_of_the_command(resolver, resolution):
    folder = resolution().root / "lockfiles"
    (folder / "holds.txt").write_text("lib<2  # it breaks, until 2030-01-01\n")
    lock = parse_lock(resolver.resolve(resolution()), file=FILE)
    assert lock.versions["lib"] == "1.0"
    assert any("lockfiles/holds.txt" in word for word in lock.command)
    assert "-c lockfiles/holds.txt" in lock.by_name["lib"][0].via


def test_hashes_may_be_left_out(resolver, resolution):
    lock = parse_lock(resolver.resolve(resolution(hashes=False)), file=FILE)
    assert not any(pin.hashes for pin in lock.pins)
    assert "--generate-hashes" in lock.command


def test_what_does_not_fit_together_is_said_without_this_machine(resolver, resolution, tmp_path):
    with pytest.raises(ConfigError) as caught:
        resolver.resolve(resolution(held=("lib>2",)))
    assert "lib" in caught.value.message
    assert FILE in caught.value.message
    assert str(tmp_path) not in caught.value.message
