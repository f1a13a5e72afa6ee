"""A real git repository for tests, with a remote of its own."""

import os
import subprocess
from datetime import datetime


class GitRepository:
    """A repository below a folder; ``remote`` is a bare one that it pushes to."""

    def __init__(self, folder, name="engine"):
        self.folder = folder / name
        self.remote = folder / f"{name}.git"
        self.folder.mkdir()
        self._run("init", "--quiet", "--bare", "--initial-branch=main", str(self.remote))
        self.git("init", "--quiet", "--initial-branch=main")
        self.git("remote", "add", "origin", str(self.remote))

    def _run(self, *arguments):
        env = {
            **os.environ,
            "GIT_AUTHOR_NAME": "Ann",
            "GIT_AUTHOR_EMAIL": "ann@example.com",
            "GIT_COMMITTER_NAME": "Ann",
            "GIT_COMMITTER_EMAIL": "ann@example.com",
            "GIT_CONFIG_GLOBAL": os.devnull,
        }
        done = subprocess.run(
            ["git", *arguments], env=env, capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def git(self, *arguments):
        return self._run("-C", str(self.folder), *arguments)

    def commit(self, title, files=None, *, body="", at: datetime | None = None):
        """Write files (None deletes one) and commit them; return the commit's id."""
        for name, content in (files or {}).items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if content is None:
                path.unlink()
            else:
                path.write_text(content)
        self.git("add", "--all")
        when = ["--date", at.isoformat()] if at else []
        text = f"{title}\n\n{body}" if body else title
        self.git("commit", "--quiet", "--allow-empty", *when, "-m", text)
        return self.git("rev-parse", "HEAD")

    def push(self):
        self.git("push", "--quiet", "--force", "origin", "main")
        self.git("fetch", "--quiet", "origin")
