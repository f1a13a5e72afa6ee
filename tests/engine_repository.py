"""A small real engine for tests to release: a C extension for any Python, and a server over it."""

import base64
import hashlib
import os
import subprocess
import sys
import sysconfig
import zipfile

SETUP = """\
import os
from pathlib import Path

from setuptools import Extension, setup

here = Path(__file__).parent
version = os.environ.get("TINYENGINE_VERSION") or (here / "VERSION").read_text().strip()
options = {"py_limited_api": "cp38"}
if os.environ.get("TINYENGINE_PLATFORM"):
    options["plat_name"] = os.environ["TINYENGINE_PLATFORM"]
setup(
    version=version,
    options={"bdist_wheel": options},
    ext_modules=[
        Extension(
            "tinyengine._core",
            ["tinyengine/_core.c"],
            define_macros=[("Py_LIMITED_API", "0x03080000")],
            extra_compile_args=["-O1", "-g0"],
            py_limited_api=True,
        )
    ],
)
"""

PYPROJECT = """\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "tinyengine"
dynamic = ["version"]
description = "An engine that answers with what it was asked"
readme = "README.md"
license = "Apache-2.0"
requires-python = ">=3.8"

[tool.setuptools]
packages = ["tinyengine"]
include-package-data = false
"""

CORE = """\
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <string.h>
#ifdef NEWER_GLIBC
#include <pthread.h>
static void *nothing(void *given) { return given; }
#endif

static PyObject *complete(PyObject *self, PyObject *args)
{
    const char *prompt;
    Py_ssize_t length;
    char answer[65];
    (void)self;
    if (!PyArg_ParseTuple(args, "s#", &prompt, &length)) return NULL;
    if (length > 64) length = 64;
    for (Py_ssize_t i = 0; i < length; i++) answer[i] = prompt[length - 1 - i];
    answer[length] = 0;
#ifdef NEWER_GLIBC
    pthread_t thread;
    if (pthread_create(&thread, NULL, nothing, NULL) == 0) pthread_join(thread, NULL);
#endif
#ifdef OUTSIDE_LIMITED_API
    extern PyObject *PyUnicode_New(Py_ssize_t, unsigned int);
    return PyUnicode_New(length, 127);
#endif
    return PyUnicode_DecodeLatin1(answer, length, NULL);
}

static PyMethodDef methods[] = {
    {"complete", complete, METH_VARARGS, "Answer a prompt with its letters from the end."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_core", NULL, -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__core(void) { return PyModule_Create(&module); }
"""

SERVE = '''\
"""Serve the engine over HTTP: python -m tinyengine.serve --port 8000."""

import argparse
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tinyengine import __version__
from tinyengine._core import complete

MODEL = "tiny"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        card = {"id": MODEL, "object": "model", "max_model_len": 64}
        answers = {
            "/health": {},
            "/version": {"version": __version__},
            "/v1/models": {"object": "list", "data": [card]},
        }
        self.answer(answers.get(self.path))

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path != "/v1/completions":
            self.answer(None)
            return
        prompt = json.loads(body)["prompt"]
        text = complete(prompt)
        choice = {"index": 0, "text": text, "finish_reason": "stop"}
        usage = {"prompt_tokens": len(prompt), "completion_tokens": len(text)}
        self.answer({"id": "1", "object": "text_completion", "model": MODEL,
                     "choices": [choice], "usage": usage})

    def answer(self, value):
        body = json.dumps(value if value is not None else {"error": "not found"}).encode()
        self.send_response(200 if value is not None else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    options = parser.parse_args()
    ThreadingHTTPServer((options.host, options.port), Handler).serve_forever()


if __name__ == "__main__":
    main()
'''

INIT = '''\
"""An engine that answers with what it was asked."""

from importlib.metadata import version

__version__ = version("tinyengine")
'''


def engine_files(version="1.2.0"):
    """Files of the engine's repository by name; a test may commit, change and build them."""
    return {
        "README.md": "# tinyengine\n\nAnswers with what it was asked.\n",
        "MANIFEST.in": "include VERSION\n",
        "VERSION": f"{version}\n",
        "pyproject.toml": PYPROJECT,
        "setup.py": SETUP,
        "tinyengine/__init__.py": INIT,
        "tinyengine/_core.c": CORE,
        "tinyengine/serve.py": SERVE,
    }


def make_engine(folder, version="1.2.0"):
    """Write the engine's sources below a folder; return it."""
    for name, text in engine_files(version).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def build_engine(source, out, *, version="", platform="", what="--wheel", macros=()):
    """Build a wheel or an sdist of the engine as its release does; return the file.

    ``version`` takes the place of the file VERSION, with a local label if need be; ``platform`` is
    the tag that the wheel gets.
    """
    env = {
        **os.environ,
        "TINYENGINE_VERSION": version,
        "TINYENGINE_PLATFORM": platform,
        "CFLAGS": " ".join(f"-D{macro}" for macro in macros),
    }
    before = set(out.glob("*")) if out.exists() else set()
    command = [sys.executable, "-m", "build", what, "--no-isolation", "-o", str(out), str(source)]
    _done(command, env=env)
    (made,) = set(out.glob("*")) - before
    return made


def cross_compile(source, out, compiler="aarch64-linux-gnu-gcc"):
    """Compile the extension for another machine; return the library's bytes."""
    library = out / "_core.abi3.so"
    include = sysconfig.get_path("include")
    flags = ["-shared", "-fPIC", "-O1", "-DPy_LIMITED_API=0x03080000", f"-I{include}"]
    _done([compiler, *flags, "-o", str(library), str(source / "tinyengine/_core.c")])
    return library.read_bytes()


def remade(wheel, out, *, name=None, tags=None, replace=None, record=True):
    """Write a wheel anew under another name, with other tags, with members replaced or added.

    ``replace`` maps a member to its bytes, or to None to leave it out. Without ``record`` the
    RECORD stays as it was, which tells of the change. ``tags`` is ``python-abi-platform``.
    """
    with zipfile.ZipFile(wheel) as archive:
        members = {n: archive.read(n) for n in archive.namelist() if not n.endswith("/")}
    (record_name,) = [n for n in members if n.endswith(".dist-info/RECORD")]
    info = record_name.rpartition("/")[0]
    name = name or wheel.name
    if tags:
        name = "-".join([*name.removesuffix(".whl").split("-")[:2], tags]) + ".whl"
        python, abi, platforms = tags.split("-")
        lines = members[f"{info}/WHEEL"].decode().splitlines()
        lines = [line for line in lines if line and not line.startswith("Tag:")]
        lines += [f"Tag: {python}-{abi}-{platform}" for platform in platforms.split(".")]
        members[f"{info}/WHEEL"] = ("\n".join(lines) + "\n").encode()
    for member, data in (replace or {}).items():
        members.pop(member, None)
        if data is not None:
            members[member] = data
    if record:
        members.pop(record_name, None)
        members[record_name] = record_of(members, record_name)
    return write_zip(out / name, members)


def pure_wheel(out, *, name="tinyengine", version="1.2.0", tag="py3-none-any", extra=None):
    """Write a small wheel with nothing compiled in it."""
    info = f"{name.replace('-', '_')}-{version}.dist-info"
    metadata = (
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nSummary: It answers\n"
        "License: Apache-2.0\nRequires-Python: >=3.8\nRequires-Dist: small-dependency>=1\n"
        "\nLong text.\n"
    )
    python, abi, platforms = tag.split("-")
    pure = "true" if platforms == "any" else "false"
    lines = [f"Tag: {python}-{abi}-{platform}" for platform in platforms.split(".")]
    wheel = "\n".join(
        ["Wheel-Version: 1.0", "Generator: tests", f"Root-Is-Purelib: {pure}", *lines]
    )
    members = {
        f"{name.replace('-', '_')}/__init__.py": f"VERSION = {version!r}\n".encode(),
        **(extra or {}),
        f"{info}/METADATA": metadata.encode(),
        f"{info}/WHEEL": f"{wheel}\n".encode(),
    }
    members[f"{info}/RECORD"] = record_of(members, f"{info}/RECORD")
    return write_zip(out / f"{name.replace('-', '_')}-{version}-{tag}.whl", members)


def record_of(members, record_name):
    """RECORD of members, which stands in itself without a hash."""
    rows = []
    for member, data in members.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        rows.append(f"{member},sha256={digest},{len(data)}\n")
    return "".join([*rows, f"{record_name},,\n"]).encode()


def write_zip(path, members):
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, data in members.items():
            archive.writestr(zipfile.ZipInfo(member, (2026, 11, 1, 0, 0, 0)), data)
    return path


def _done(command, env=None):
    done = subprocess.run(
        command, env=env, capture_output=True, text=True, check=False, timeout=240
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
