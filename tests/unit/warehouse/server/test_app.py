import asyncio
from types import SimpleNamespace

import pytest

from gauntlet.warehouse.server.app import App

KEY = ("X-ClickHouse-Key", "right")


@pytest.fixture
def app(tmp_path):
    served = App(SimpleNamespace(timezone="UTC", scratch=tmp_path), "right", ident="7", workers=1)
    yield served
    served.close()


def asked(app, path="/ping", *headers, method="GET", messages=()):
    """Status, headers and body of the answer; the body None where it has no end."""
    received = iter(messages or [{"type": "http.request", "body": b"", "more_body": False}])
    sent = []

    async def receive():
        return next(received)

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": b"",
        "headers": [(name.lower().encode(), value.encode()) for name, value in headers],
    }
    asyncio.run(app(scope, receive, send))
    if not sent:
        return None
    named = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], named, b"".join(message["body"] for message in sent[1:])


def test_anybody_may_ask_whether_somebody_is_here_but_that_keeps_nobody_awake(app):
    app._last_s -= 100
    status, headers, body = asked(app)
    assert (status, body) == (200, b"Ok.\n")
    assert headers["X-Gauntlet-Server"] == "7"
    assert app.idle_s > 99


def test_who_has_the_key_starts_the_time_again(app):
    app._last_s -= 100
    assert asked(app, "/ping", KEY)[0] == 200
    assert app.idle_s < 99


@pytest.mark.parametrize(
    ("path", "header"),
    [
        pytest.param("/", None, id="no key"),
        pytest.param("/", ("X-ClickHouse-Key", "wrong"), id="wrong key"),
        pytest.param("/", ("Authorization", "Bearer wrong"), id="wrong bearer"),
        pytest.param("/ping", ("X-ClickHouse-Key", "wrong"), id="ping with a wrong key"),
        pytest.param("/ping", ("X-ClickHouse-Key", ""), id="ping with an empty key"),
    ],
)
def test_nothing_is_done_without_the_key(app, path, header):
    app._last_s -= 100
    status, headers, body = asked(app, path, *([header] if header else []))
    assert (status, headers["X-ClickHouse-Exception-Code"]) == (403, "516")
    assert b"AUTHENTICATION_FAILED" in body
    assert app.idle_s > 99


def test_a_server_that_is_about_to_end_takes_nothing_more(app):
    app.draining = True
    status, headers, _ = asked(app, "/ping", KEY)
    assert (status, headers["X-ClickHouse-Exception-Code"]) == (503, "236")


def test_a_path_that_is_not_served_is_said_with_those_that_are(app):
    status, _, body = asked(app, "/play", KEY)
    assert status == 400
    assert b"/play is not served: / and /ping are" in body


def test_a_client_that_leaves_within_its_request_gets_no_answer_and_leaves_no_trace(app):
    cut = [
        {"type": "http.request", "body": b"INSERT INTO t FORMAT CSV\n1", "more_body": True},
        {"type": "http.disconnect"},
    ]
    assert asked(app, "/", KEY, method="POST", messages=cut) is None
    assert app._running == 0


def test_a_fault_of_ours_is_an_error_and_not_a_silence(app, caplog):
    # The engine of this test can do nothing at all.
    select = [
        {"type": "http.request", "body": b"CREATE TABLE t", "more_body": False},
        {"type": "http.disconnect"},
    ]
    status, headers, body = asked(app, "/", KEY, method="POST", messages=select)
    assert (status, headers["X-ClickHouse-Exception-Code"]) == (500, "1002")
    assert b"AttributeError" in body
    assert "cannot answer a request" in caplog.text
