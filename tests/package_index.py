"""A package index on loopback, for pip and others to install from."""

import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

JSON = "application/vnd.pypi.simple.v1+json"


@contextmanager
def served(root):
    """Serve a folder; JSON pages are given to whoever asks for them."""

    class Handler(SimpleHTTPRequestHandler):
        seen: list[str] = []  # noqa: RUF012

        def do_GET(self):
            self.seen.append(self.path)
            wants_json = self.headers.get("Accept", "").startswith(JSON)
            if self.path.endswith("/") and wants_json:
                self.path += "index.json"
            super().do_GET()

        def guess_type(self, path):
            return JSON if path.endswith("index.json") else super().guess_type(path)

        def log_message(self, *arguments):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(root)))
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/", Handler.seen
    finally:
        server.shutdown()
        thread.join(10)
        server.server_close()
