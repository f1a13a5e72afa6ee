"""A repository of an engine with its remote, and what a release manager has at hand."""

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

from git_repository import GitRepository

from gauntlet.core.clock import utc_now
from gauntlet.core.errors import ExternalServiceError
from gauntlet.release.cut.use import CutRequest, plan_cut
from gauntlet.release.cut.use import look as look_for_cut
from gauntlet.release.cut.use import perform as perform_cut
from gauntlet.release.deeds import Office
from gauntlet.release.folder import ReleaseFolder
from gauntlet.release.picks.rules import PickRules, Schedule
from gauntlet.release.picks.sources import wanted_by_mark, wanted_by_name, with_labels
from gauntlet.release.picks.use import PicksRequest, look, perform_picks, plan_picks
from gauntlet.release.remote import Remote
from gauntlet.release.version import ReleaseVersion
from gauntlet.services.chat.port import Posted

BRANCH = "refs/heads/releases/v1.2.0"
V120 = ReleaseVersion.parse("v1.2.0")


_KEPT: dict[str, tuple[Path, list[str], list[object]]] = {}


class MemoryChat:
    """A chat that keeps what was posted; ``broken`` refuses it."""

    edits = True

    def __init__(self):
        self.texts = []
        self.broken = False

    def post(self, message, *, thread=None):
        del thread
        if self.broken:
            raise ExternalServiceError("the chat: 502 Bad Gateway")
        self.texts.append(message.text)
        return Posted(channel="C1", stamp=str(len(self.texts)))

    def close(self):
        """Nothing is open."""


class Engine(GitRepository):
    """An engine's repository with a released v1.1.0, and some commits after it on main."""

    def __init__(self, folder: Path):
        self.folder, self.remote = folder / "engine", folder / "engine.git"
        self.releases = folder / "releases"
        self.chat = MemoryChat()
        self.recorded, self.waivers = [], []
        if not self.restore("begun"):
            super().__init__(folder)
            self._begin()
            self.keep("begun")
        self.cut_at = self.git("rev-parse", "origin/main")

    def _begin(self):
        lines = "\n".join(f"line {n}" for n in range(1, 41)) + "\n"
        self.commit("Begin", {"engine.py": lines, "setup.py": "version = '1.1'\n"})
        self.git("tag", "v1.1.0")
        self.commit("Add kernels (#2)", {"kernels.cu": "a\nb\nc\n"})
        self.commit("Add models (#3)", {"models.py": "m1\n"})
        self.push()
        self.git("push", "--quiet", "origin", "v1.1.0")

    def keep(self, name):
        """Keep what is there under a name, so that the next test need not make it again."""
        kept = self.folder.parent / f"kept-{name}"
        for each in (self.folder, self.remote, self.releases):
            if each.exists():
                shutil.copytree(each, kept / each.name, symlinks=True)
        _KEPT[name] = (kept, list(self.chat.texts), list(self.recorded))

    def restore(self, name):
        """Put back what was kept; False where nothing was."""
        if name not in _KEPT:
            return False
        kept, texts, recorded = _KEPT[name]
        for each in (self.folder, self.remote, self.releases):
            shutil.rmtree(each, ignore_errors=True)
            if (kept / each.name).exists():
                shutil.copytree(kept / each.name, each, symlinks=True)
        self.chat.texts, self.recorded = list(texts), list(recorded)
        self.git("remote", "set-url", "origin", str(self.remote))
        return True

    @property
    def where(self):
        return Remote(repository=self.folder)

    @property
    def state_folder(self):
        return ReleaseFolder.of(self.releases, V120)

    def office(self):
        return Office(
            location="nowhere",
            chat=lambda: self.chat,
            record=self._record,
            deliver=lambda _, batches: self.waivers.extend(batches),
        )

    def _record(self, location, version, outcome, **changes):
        del location
        self.recorded.append((version.tag, outcome, changes))

    def edit(self, title, line, text, name="engine.py", **changes):
        """Change one line of a file on the present branch and commit it."""
        path = self.folder / name
        lines = path.read_text().splitlines()
        lines[line - 1] = text
        return self.commit(title, {name: "\n".join(lines) + "\n"}, **changes)

    def at_remote(self, ref):
        """What a ref of the remote points to; empty where there is none."""
        found = self._run("ls-remote", str(self.remote), ref, f"{ref}^{{}}").splitlines()
        return found[-1].split("\t")[0] if found else ""

    def clone(self, name):
        """Another person's clone, as an engine with an own folder of releases."""
        other = object.__new__(type(self))
        other.folder, other.remote = self.folder.parent / name, self.remote
        other.releases = self.folder.parent / f"{name}-releases"
        other.chat, other.recorded = MemoryChat(), []
        other.waivers = []
        other._run("clone", "--quiet", str(self.remote), str(other.folder))
        return other


def cut(engine):
    """Cut v1.2.0 at the head of main, as it was begun."""
    if engine.restore("cut"):
        return
    request = CutRequest(version=V120, by="Ann", now=soon(), commit=engine.cut_at, reason="it is")
    seen = look_for_cut(engine.where, V120)
    plan = plan_cut(request, seen, engine.where, kept=None, ranking=None)
    perform_cut(plan, engine.where, engine.state_folder, engine.office(), "Ann")
    engine.keep("cut")


def planned_picks(engine, *names, host=None, by="Ann", label="", **changes):
    engine.git("push", "--quiet", "--force", "origin", "main")
    state, standing = look(engine.where, engine.state_folder)
    wanted = wanted_by_name(engine.folder, names, standing.main, host)
    if label:
        wanted += wanted_by_mark(host, standing.main, label=label, milestone="")
    wanted = with_labels(wanted, standing.main, host)
    fields = {"version": V120, "by": by, "now": soon(), "wanted": tuple(wanted)}
    request = PicksRequest(**{**fields, **changes})
    return plan_picks(request, engine.where, state, standing, Schedule()), request


def applied(engine, *names, rules=None, **changes):
    plan, request = planned_picks(engine, *names, **changes)
    perform_picks(
        plan, request, engine.where, engine.state_folder, engine.office(), rules or PickRules()
    )
    return plan


def own_commit(engine, title, line, text, name="engine.py"):
    """Commit on the release's branch alone."""
    engine.git("checkout", "--quiet", "-B", "work", engine.at_remote(BRANCH) or engine.cut_at)
    sha = engine.edit(title, line, text, name)
    engine.git("push", "--quiet", "origin", f"work:{BRANCH}")
    engine.git("checkout", "--quiet", "main")
    return sha


class Killed(BaseException):
    """The end of the process, which nothing catches."""


def soon() -> datetime:
    """Now, and a little after what was just committed."""
    return utc_now() + timedelta(seconds=2)


def at(text: str) -> datetime:
    """Read ``2026-11-30 12:00`` as UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)
