"""A wheel of pure Python, written as a zip: an engine that serves one word."""

import base64
import hashlib
import zipfile

SERVER = """
import argparse, json, os, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FAULT = os.environ.get("SMALL_FAULT", "")


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/v1/models":
            return self.answer({"data": [{"id": "small"}]})
        self.answer({}, 503 if FAULT == "never healthy" else 200)

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        if FAULT == "hang":
            time.sleep(600)
        if FAULT == "dies when asked":
            os._exit(3)
        text = "  " if FAULT == "empty" else f"hello as {os.getuid()}"
        if self.path != "/v1/completions":
            return self.answer({}, 404)
        self.answer({"choices": [{"text": text}]} if FAULT != "nonsense" else {"choices": "x"})

    def answer(self, value, status=200):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


parser = argparse.ArgumentParser()
parser.add_argument("--port", type=int)
port = parser.parse_args().port
if FAULT == "dies":
    sys.exit("no accelerator was found")
ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
"""


def small_wheel(
    folder,
    *,
    version="1.2.0",
    says=None,
    tag="py3-none-any",
    more=None,
    name="small",
    needs="",
):
    """Write the wheel and return its path; ``says`` is what the module calls its version."""
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    metadata += f"Requires-Dist: {needs}\n" if needs else ""
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}/__init__.py": f"__version__ = {says or version!r}\n",
        f"{name}/serve.py": SERVER,
        f"{info}/METADATA": metadata,
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: {tag}\n",
        **(more or {}),
    }
    files = {path: text.encode() for path, text in files.items()}
    files[f"{info}/RECORD"] = record(files, f"{info}/RECORD")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-{version}-{tag}.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for member, data in files.items():
            archive.writestr(zipfile.ZipInfo(member, (2026, 1, 1, 0, 0, 0)), data)
    return path


def record(files, own):
    lines = []
    for path, data in files.items():
        value = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{path},sha256={value},{len(data)}\n")
    return "".join([*lines, f"{own},,\n"]).encode()


def installed(wheel, root="usr/lib/python3/site-packages"):
    """Files of a wheel as an installer leaves them, by path."""
    with zipfile.ZipFile(wheel) as archive:
        files = {f"{root}/{name}": archive.read(name) for name in archive.namelist()}
    info = next(path.rpartition("/")[0] for path in files if path.endswith("/RECORD"))
    files[f"{info}/INSTALLER"] = b"pip\n"
    files[f"{root}/small/__pycache__/serve.cpython-311.pyc"] = b"compiled"
    files[f"{info}/RECORD"] += f"{info.rpartition('/')[2]}/INSTALLER,,\n".encode()
    return files
