"""The load over TLS and through a proxy: slower, said so, and right."""

import shutil
import socket
import ssl
import subprocess
import threading
from collections import Counter

import pytest
from loads import closed, load, planned

from gauntlet.core.errors import UsageError
from gauntlet.harness.load.client import Target
from gauntlet.harness.load.known_timing import KnownTiming
from gauntlet.harness.load.metrics import load_metrics
from gauntlet.harness.load.results import request_results

pytestmark = pytest.mark.alone


class Relay:
    """Carries bytes to a server: behind TLS, or as an HTTP proxy that rewrites the first line."""

    def __init__(self, port, *, context=None):
        self._port = port
        self._context = context
        self.connections = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        if self._context is not None:
            try:
                client = self._context.wrap_socket(client, server_side=True)
            except OSError:
                client.close()
                return
        server = socket.create_connection(("127.0.0.1", self._port))
        threading.Thread(target=self._copy, args=(server, client), daemon=True).start()
        self._copy(client, server, rewrite=self._context is None)

    def _copy(self, source, target, *, rewrite=False):
        try:
            while data := source.recv(65536):
                if rewrite:
                    data = data.replace(f"http://127.0.0.1:{self._port}/".encode(), b"/")
                target.sendall(data)
        except OSError:
            pass
        finally:
            for end in (source, target):
                end.close()

    def close(self):
        self._listener.close()


@pytest.fixture
def server(tmp_path):
    with KnownTiming(workdir=tmp_path, ttft_ms=20, itl_ms=4, tokens=8) as known:
        yield known


def certificate(folder):
    if not shutil.which("openssl"):
        pytest.skip("no openssl to make a certificate with")
    key, cert = folder / "key.pem", folder / "cert.pem"
    argv = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    argv += ["-keyout", key, "-out", cert, "-subj", "/CN=localhost"]
    argv += ["-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"]
    subprocess.run(argv, check=True, capture_output=True)
    return cert, key


def test_tls_is_measured_by_the_slower_client(tmp_path, server, monkeypatch):
    cert, key = certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    relay = Relay(server.port, context=context)
    monkeypatch.setenv("SSL_CERT_FILE", str(cert))
    target = Target.of(f"https://127.0.0.1:{relay.port}", "/v1/completions")
    assert not target.direct
    log = load(target, planned(12), closed(3))
    relay.close()
    results = request_results(log)
    assert Counter(result.status for result in results) == {"ok": 12}
    assert min(result.ttft_ms for result in results) >= 19.5
    assert not log.kernel_stamped
    assert {m.value for m in load_metrics(log) if m.name == "client_lag_ms"} == {None}


def test_a_certificate_that_nobody_vouches_for_is_refused(tmp_path, server):
    cert, key = certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    relay = Relay(server.port, context=context)
    target = Target.of(f"https://127.0.0.1:{relay.port}", "/v1/completions")
    log = load(target, planned(3), closed(1))
    relay.close()
    assert {result.status for result in request_results(log)} == {"refused"}


def test_requests_go_through_the_proxy(server):
    relay = Relay(server.port)
    target = Target.of(server.base_url, "/v1/completions", proxy=f"http://127.0.0.1:{relay.port}")
    log = load(target, planned(8), closed(2))
    relay.close()
    assert Counter(result.status for result in request_results(log)) == {"ok": 8}
    assert relay.connections >= 1


def test_a_proxy_that_is_not_there(server):
    target = Target.of(server.base_url, "/v1/completions", proxy="http://127.0.0.1:9")
    log = load(target, planned(2), closed(1))
    assert {result.status for result in request_results(log)} == {"refused"}


@pytest.mark.parametrize("url", ["127.0.0.1:8000", "ftp://host", "http://", ""])
def test_what_is_no_url_is_said_to_be_none(url):
    with pytest.raises(UsageError, match="not a server's URL"):
        Target.of(url, "/v1/completions")


@pytest.mark.parametrize("workers", [1, 3])
def test_workers_share_a_load_and_begin_together(server, workers):
    target = Target.of(server.base_url, "/v1/completions")
    log = load(target, planned(30), closed(6), workers=workers)
    assert Counter(result.status for result in request_results(log)) == {"ok": 30}
    assert len(log.summaries) == workers
    assert len({summary.started_ns for summary in log.summaries}) == 1
    assert server.truth().requests == 30
    assert server.truth().peak <= 6
