"""A release without images that is ready to ship, made quickly: for what may go wrong then."""

import json
import os
from pathlib import Path

from engine_repository import pure_wheel
from factories import attempt_row, build_row
from releasing import Engine

from gauntlet.__main__ import run
from gauntlet.core.clock import utc_now
from gauntlet.core.ids import file_digest
from gauntlet.release.proof.keys import new_key
from gauntlet.release.smoke.result import SmokeResult
from gauntlet.warehouse.batch import Batch
from gauntlet.warehouse.delivery import deliver

MATRIX = """\
schema_version: 1
package: tiny
sdist: false
wheels:
  - id: plain
    python_tag: py3
    abi_tag: none
    platform_tag: manylinux_2_28_x86_64
    queue: q
    smoke_queue: q
"""
POLICY = """\
schema_version: 1
gates:
  - {name: full-ci, kind: ci, lanes: [{name: any}], as_before: false}
waivers: {longest_days: 7, at_most: 1, never: [artifacts]}
"""


class Shop(Engine):
    """Runs ``release`` commands in this process; ``told`` is what the last one printed."""

    def __init__(self, folder: Path, location: str, capsys):
        super().__init__(folder)
        self.location, self.capsys = location, capsys
        (folder / "matrix.yaml").write_text(MATRIX)
        (folder / "policy.yaml").write_text(POLICY)
        new_key(folder / "key")
        # A commit of its own: tests share a warehouse.
        self.cut_at = self.commit("Mark this engine (#4)", {"mark": str(folder)})
        self.push()
        self.out = self.err = ""

    def release(self, command, *rest, key=True):
        where = self.folder.parent
        options = ["--releases", str(self.releases), "--repository", str(self.folder)]
        options += ["--warehouse", self.location, "--policy", str(where / "policy.yaml")]
        if command not in {"cut", "picks", "candidate"}:
            options += ["--matrix", str(where / "matrix.yaml")]
        if key and command == "publish":
            options += ["--key", str(where / "key")]
        self.capsys.readouterr()
        status = run(["release", command, *map(str, rest), *options])
        self.out, self.err = self.capsys.readouterr()
        return status

    def candidate(self):
        """Cut, tag and build a candidate: its wheel came from another machine, where it ran."""
        assert self.release("cut", "v1.2.0", "--commit", self.cut_at, "--reason", "x", "--yes") == 0
        return self.tag_and_build()

    def tag_and_build(self, text="1"):
        assert self.release("candidate", "v1.2.0", "--yes") == 0, self.err
        name = self.state_folder.load().candidates[-1].name
        folder = self.folder.parent / name
        tag = "py3-none-manylinux_2_28_x86_64"
        code = {"tiny/_c.py": f"ANSWER = {text!r}\n".encode()}
        wheel = pure_wheel(folder, name="tiny", version="1.2.0", tag=tag, extra=code)
        smoke = folder / "smoke"
        smoke.mkdir()
        result = SmokeResult(
            kind="wheel", cell="plain", name=wheel.name, digest=f"sha256:{file_digest(wheel)}",
            outcome="pass", host="other", platform="linux/amd64", seconds=1, at=utc_now(),
            said="hello",
        )  # fmt: skip
        (smoke / "plain.json").write_text(result.model_dump_json())
        options = ["--collect", folder, "--smoke", smoke, "--no-try", "--yes"]
        assert self.release("build", name, *options) == 0, self.out + self.err
        return name

    def green(self, state="passed", number=1):
        """Record a full build of the newest candidate."""
        commit, at = self.state_folder.load().candidates[-1].commit, utc_now()
        times = {"created_at": at, "runnable_at": at, "started_at": at, "finished_at": at}
        rows = [
            build_row(number, sha=commit, branch="releases/v1.2.0", created_at=at),
            attempt_row("kernels", number, sha=commit, state=state, **times),
        ]
        batch = Batch.of(f"build {number} {commit} {state}", rows, created_at=at)
        deliver(self.location, [batch])

    def published(self):
        return self.state_folder.published

    def record(self):
        return json.loads((self.published() / "documents" / "record.json").read_text())


def tree(folder: Path):
    """Every file below a folder with its bytes."""
    return {
        str(Path(root, name).relative_to(folder)): Path(root, name).read_bytes()
        for root, _, names in os.walk(folder)
        for name in names
    }
