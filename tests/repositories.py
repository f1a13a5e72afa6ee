"""Small git repositories with a history that breaks where a test wants it to."""

import os
import subprocess

_WHO = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "commit.gpgsign=false")


class Repository:
    """A repository in a folder; ``commit`` writes files and returns the new commit's id."""

    def __init__(self, path):
        self.path = path
        path.mkdir(parents=True)
        self._clock = 1_700_000_000
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments):
        self._clock += 60
        when = f"{self._clock} +0000"
        done = subprocess.run(
            ["git", *_WHO, "-C", str(self.path), *arguments],
            check=True,
            capture_output=True,
            text=True,
            env={
                **os.environ,
                "GIT_CONFIG_GLOBAL": "/dev/null",
                "GIT_CONFIG_NOSYSTEM": "1",
                "GIT_AUTHOR_DATE": when,
                "GIT_COMMITTER_DATE": when,
            },
        )
        return done.stdout.strip()

    def commit(self, title, **files):
        """Names of files: ``__`` is a folder, ``_`` before the last word a dot."""
        for name, text in files.items():
            path = self.path / _path(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            self.git("add", "--", str(path))
        self.git("commit", "-q", "--allow-empty", "-m", title)
        return self.git("rev-parse", "HEAD")

    def head(self):
        return self.git("rev-parse", "HEAD")


def _path(name):
    return "/".join(part.replace("_", ".", 1) for part in name.split("__"))
