"""A small base image of what this machine has: Python, its shared libraries, a user. No network.

There is no shell in it: Dockerfiles on it write commands as JSON lists.
"""

import hashlib
import io
import json
import platform
import re
import shutil
import sys
import sysconfig
import tarfile
from pathlib import Path

from oci_images import NAME, OCI, digest_of

from gauntlet.core.proc import run

MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}
USER = 1000
TAG = "base"
_VERSION = f"python{sys.version_info.major}.{sys.version_info.minor}"
_HOME = f"usr/local/lib/{_VERSION}"
_LEFT_OUT = re.compile(
    r"__pycache__|tests?|idle.*|tkinter|_tkinter.*|lib2to3|turtle.*|pydoc_data|site-packages"
    r"|config-.*|_curses.*|_test.*|_ctypes_test.*|_xx.*|xx.*|readline.*|nis.*|_sqlite3.*|_gdbm.*"
    r"|_dbm.*|audioop.*|ossaudiodev.*|.*\.a"
)
_PIP = """#!/usr/local/bin/python3
import runpy, sys
from pathlib import Path
import ensurepip
(wheel,) = (Path(ensurepip.__file__).parent / "_bundled").glob("pip-*.whl")
sys.path.insert(0, str(wheel))
runpy.run_module("pip", run_name="__main__")
"""
_TEXTS = {
    "etc/passwd": f"root:x:0:0::/root:/\nengine:x:{USER}:{USER}::/home/engine:/\n",
    "etc/group": f"root:x:0:\nengine:x:{USER}:\n",
    "usr/local/bin/pip": _PIP,
}


def local_base(folder):
    """Write an OCI layout with the image; return what ``FROM`` takes: ``oci:FOLDER:base``."""
    layer = folder / "layer.tar"
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(layer, "w") as tar:
        for path in ("tmp", "home/engine", f"{_HOME}/site-packages"):
            _add_folder(tar, path)
        for path, text in _TEXTS.items():
            _add_file(tar, path, text.encode(), mode=0o755 if "/bin/" in path else 0o644)
        program = (Path(sys.base_prefix) / "bin" / _VERSION).resolve()
        for path, source in {**_python(program), **_libraries(program)}.items():
            data = source.read_bytes()
            _add_file(tar, path, data, mode=0o755 if source.stat().st_mode & 0o100 else 0o644)
    return _write(folder, layer)


def _python(program):
    library = Path(sysconfig.get_path("stdlib"))
    found = {"usr/local/bin/python3": program}
    for source in sorted(library.rglob("*")):
        parts = source.relative_to(library).parts
        if source.is_file() and not any(_LEFT_OUT.fullmatch(part) for part in parts):
            found[f"{_HOME}/{'/'.join(parts)}"] = source
    return found


def _libraries(program):
    """What the interpreter and its modules are linked with, and the loader, as ldd finds them."""
    modules = [
        path
        for path in Path(sysconfig.get_path("stdlib")).glob("lib-dynload/*.so")
        if not _LEFT_OUT.fullmatch(path.name)
    ]
    listed = run(["ldd", str(program), *map(str, modules)], timeout=60).stdout
    found = {}
    for line in listed.splitlines():
        if place := re.search(r"(?:=> )?(/\S+) \(0x", line):
            source = Path(place[1])
            own = source.is_relative_to(sys.base_prefix)
            found[f"usr/local/lib/{source.name}" if own else place[1].lstrip("/")] = source
    return found


def _add_folder(tar, path):
    member = tarfile.TarInfo(path)
    member.type, member.mode = tarfile.DIRTYPE, 0o1777 if path == "tmp" else 0o755
    member.uid = member.gid = USER if path.startswith("home/") else 0
    tar.addfile(member)


def _add_file(tar, path, data, *, mode):
    member = tarfile.TarInfo(path)
    member.size, member.mode = len(data), mode
    tar.addfile(member, io.BytesIO(data))


def _write(folder, layer):
    """Put the parts together. The layer is not compressed: that would take longer than all else."""
    blobs = folder / "blobs" / "sha256"
    blobs.mkdir(parents=True)
    with layer.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    described = {"mediaType": f"{OCI}.layer.v1.tar", "size": layer.stat().st_size}
    shutil.move(layer, blobs / digest)
    config = {
        "created": "2026-01-01T00:00:00Z",
        "architecture": MACHINES[platform.machine()],
        "os": "linux",
        "config": {
            "Env": ["PATH=/usr/local/bin:/usr/bin:/bin", "LD_LIBRARY_PATH=/usr/local/lib"],
            "WorkingDir": "/",
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
        "history": [{"created": "2026-01-01T00:00:00Z", "created_by": "local_base"}],
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": f"{OCI}.manifest.v1+json",
        "config": _blob(blobs, config, f"{OCI}.config.v1+json"),
        "layers": [{**described, "digest": f"sha256:{digest}"}],
    }
    entry = {**_blob(blobs, manifest, manifest["mediaType"]), "annotations": {NAME: TAG}}
    (folder / "oci-layout").write_text('{"imageLayoutVersion":"1.0.0"}')
    (folder / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [entry]}))
    return f"oci:{folder}:{TAG}"


def _blob(blobs, value, media_type):
    data = json.dumps(value).encode()
    digest = digest_of(data)
    (blobs / digest.removeprefix("sha256:")).write_bytes(data)
    return {"mediaType": media_type, "digest": digest, "size": len(data)}
