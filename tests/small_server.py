"""The smallest server that a harness takes for an engine; run as a script with a port."""

import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        card = {"id": "small", "root": "/models/small", "max_model_len": 64}
        answers = {
            "/health": {},
            "/v1/models": {"data": [card, {"id": "adapter"}]},
            "/version": {"version": "0.0.1"},
        }
        self.answer(answers.get(self.path))

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"] or 0))
        self.answer({"choices": [{"text": "a"}]} if self.path == "/v1/completions" else None)

    def answer(self, value):
        body = json.dumps(value).encode()
        self.send_response(404 if value is None else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments):
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
    sys.stdout.write(f"small server, process {os.getpid()}\n")
    sys.stdout.flush()
    server.serve_forever()
