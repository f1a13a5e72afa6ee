"""A refresh of locks: real git, real resolutions, a code host in memory."""

import json
from pathlib import Path

import pytest
from fake_codehost import FakeCodeHost
from git_repository import GitRepository
from ports import free_port
from releasing import MemoryChat
from small_wheel import small_wheel

from gauntlet.__main__ import run
from gauntlet.core.errors import ExternalServiceError, UsageError
from gauntlet.locks.refreshing import refreshing
from gauntlet.warehouse.store import open_store

MANIFEST = """\
gauntlet: 1
locks:
  test: {purpose: tests, inputs: [lockfiles/test.in]}
"""


class World:
    """A repository with a lock of version 1, and a folder of wheels that has version 2 too."""

    def __init__(self, folder):
        self.folder = folder
        self.wheels = folder / "wheels"
        for name in ("one", "two"):
            small_wheel(self.wheels, name=name, version="1.0")
        self.repository = GitRepository(folder)
        self.repository.commit(
            "begin", {"lockfiles/locks.yaml": MANIFEST, "lockfiles/test.in": "one\ntwo\n"}
        )
        self.compile()
        self.repository.git("push", "--quiet", "origin", "main")
        self.host = FakeCodeHost()
        self.chat = MemoryChat()
        self.switch = folder / "switch"
        self.switch.write_text("on\n")

    def compile(self):
        from gauntlet.locks.compiling import CompileRequest, plan_compile, write_plan
        from gauntlet.locks.index import source_for
        from gauntlet.locks.manifest import Locks

        locks = Locks(self.repository.folder)
        links = (self.wheels,)
        request = CompileRequest(names=(), find_links=links, offline=True)
        write_plan(locks, plan_compile(locks, request, source_for(links, offline=True)))
        self.repository.commit("lock")

    def release(self, name, version, **more):
        small_wheel(self.wheels, name=name, version=version, **more)

    def refresh(self, mode="act", *, dry_run=False, **changes):
        given = {
            "manifest": "lockfiles/locks.yaml",
            "root": self.repository.folder,
            "names": (),
            "packages": (),
            "remote": "origin",
            "base": "main",
            "branch": "locks/refresh",
            "labels": ("run-all",),
            "find_links": (self.wheels,),
            "no_index": True,
            "switch": self.switch,
            **changes,
        }
        location = None if dry_run else str(self.folder / "warehouse")
        self.told = []
        return refreshing(
            given,
            mode=mode,
            host=self.host,
            chat=self.chat,
            location=location,
            tell=self.told.append,
        )

    def remote(self, *arguments):
        return self.repository._run("-C", str(self.repository.remote), *arguments)

    def branches(self):
        return self.remote("for-each-ref", "--format=%(refname:short)", "refs/heads").split()


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


def test_new_versions_come_on_a_branch_with_a_draft(world):
    world.release("one", "2.0")
    before = world.repository.git("status", "--porcelain")
    done = world.refresh()
    assert done.outcome == "opened"
    lock = world.remote("show", "locks/refresh:lockfiles/test.txt")
    assert "one==2.0" in lock
    assert "two==1.0" in lock
    assert '"one==2.0"' in world.remote("show", "locks/refresh:lockfiles/index.json")
    assert world.remote("rev-list", "--count", "main..locks/refresh") == "1"
    (pull,) = world.host.pulls.values()
    assert (pull.draft, pull.head, pull.labels) == (True, "locks/refresh", ("run-all",))
    title, body = world.host.texts[pull.number]
    assert title == "Refresh locks: test"
    assert "| one | 1.0 | 2.0 | major |" in body
    assert world.repository.git("status", "--porcelain") == before
    assert world.branches() == ["locks/refresh", "main"]


def test_the_same_again_pushes_nothing(world):
    world.release("one", "2.0")
    world.refresh()
    tip = world.remote("rev-parse", "locks/refresh")
    again = world.refresh()
    assert (again.outcome, again.plan.commit) == ("opened", "")
    assert world.remote("rev-parse", "locks/refresh") == tip
    assert len(world.host.pulls) == 1


def test_a_branch_with_other_content_is_brought_up_to_date(world):
    world.release("one", "2.0")
    world.refresh()
    world.release("two", "3.0")
    assert world.refresh().plan.commit
    assert "two==3.0" in world.remote("show", "locks/refresh:lockfiles/test.txt")
    assert world.remote("rev-list", "--count", "main..locks/refresh") == "1"
    ((_, body),) = world.host.texts.values()
    assert "| two | 1.0 | 3.0 |" in body


@pytest.mark.parametrize(
    ("mode", "word", "reason"),
    [
        ("shadow", "on", "mode shadow"),
        ("notify", "on", "mode notify"),
        ("act", "off", "says 'off'"),
        ("act", None, "cannot be read"),
    ],
)
def test_nothing_is_pushed_where_nobody_allows_it(world, mode, word, reason):
    world.release("one", "2.0")
    world.switch.unlink()
    if word:
        world.switch.write_text(word)
    done = world.refresh(mode)
    assert done.outcome == "proposed"
    assert reason in done.reason
    assert world.branches() == ["main"]
    assert world.host.pulls == {}


def test_a_channel_is_told_what_moves_after_it_is_on_record(world):
    world.release("one", "2.0")
    world.refresh("shadow")
    world.refresh("act", dry_run=True)
    assert world.chat.texts == []
    world.refresh("notify")
    world.refresh("act")
    proposed, opened = world.chat.texts
    assert proposed.startswith("Refresh locks: test (proposed): test: 1 package.")
    assert "(opened): test: 1 package." in opened
    assert world.host.pulls[1].url in opened
    world.chat.broken = True
    world.release("two", "2.0")
    with pytest.raises(ExternalServiceError, match="502"):
        world.refresh("notify")
    with open_store(str(world.folder / "warehouse")) as store:
        assert store.count("decisions") == 4


def test_notify_without_a_channel_is_refused_before_any_work(world):
    world.chat = None
    with pytest.raises(UsageError, match="nobody to tell"):
        world.refresh("notify")
    assert world.told == []


def test_a_dry_run_leaves_nothing(world):
    world.release("one", "2.0")
    assert world.refresh(dry_run=True).outcome == "proposed"
    assert world.branches() == ["main"]
    assert not (world.folder / "warehouse").exists()
    assert not list(Path(world.folder).glob("warehouse*"))


def test_nothing_newer_is_said(world):
    done = world.refresh()
    assert (done.outcome, done.plan.moved) == ("nothing", False)
    assert world.branches() == ["main"]


def test_one_package_alone(world):
    world.release("one", "2.0")
    world.release("two", "2.0")
    world.refresh(packages=("two",))
    lock = world.remote("show", "locks/refresh:lockfiles/test.txt")
    assert "one==1.0" in lock
    assert "two==2.0" in lock


def test_what_could_not_move_says_why(world):
    world.release("one", "2.0")
    world.release("two", "2.0", needs="one<2")
    # Both cannot be the newest: whichever stays is said to, with the resolver's reason.
    body = world.refresh("shadow").plan.body
    stuck = body.partition("Could not move:")[2]
    assert "newest 2.0: the requirements do not fit" in stuck or "preferred newer" in stuck


def test_a_refused_push_is_recorded_and_raised(world):
    world.release("one", "2.0")
    hook = world.repository.remote / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho no >&2\nexit 1\n")
    hook.chmod(0o755)
    done = world.refresh()
    assert done.outcome == "failed"
    assert done.failed is not None
    assert world.host.pulls == {}


def test_what_was_done_is_a_decision(world):
    world.release("one", "2.0")
    world.refresh()
    with open_store(str(world.folder / "warehouse")) as store:
        (row,) = store.sql("SELECT subject, outcome, mode FROM decisions")
    assert (row["subject"], row["outcome"], row["mode"]) == ("locks/refresh", "opened", "act")


def test_the_command(world, monkeypatch, capsys):
    monkeypatch.chdir(world.repository.folder)
    line = ["locks", "refresh", "--dry-run", "--no-index", "--find-links", str(world.wheels)]
    assert run(line) == 3
    assert "nothing newer" in capsys.readouterr().out
    world.release("one", "2.0")
    assert run([*line, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["outcome"] == "proposed"
    assert said["branch"].startswith("locks/refresh-20")
    assert said["locks"][0]["diff"]["changes"][0]["new"] == "2.0"


def test_a_silent_index_can_be_tried_again(world, monkeypatch):
    silent = f"http://127.0.0.1:{free_port()}/"
    for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL"):
        monkeypatch.setenv(name, silent)
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    world.wheels = world.folder / "none"
    world.wheels.mkdir()
    done = world.refresh(no_index=False)
    assert isinstance(done.failed, ExternalServiceError)
