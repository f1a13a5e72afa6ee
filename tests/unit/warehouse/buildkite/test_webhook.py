import asyncio
import hashlib
import hmac
import json
import logging
from datetime import timedelta

import pytest
from fake_buildkite import NOON, Organization
from fake_store import FakeWarehouse

from gauntlet.core.errors import InfrastructureError
from gauntlet.warehouse.buildkite.signatures import Remembered, Verifier
from gauntlet.warehouse.buildkite.webhook import MAX_BODY_BYTES, WebhookApp

SECRET = "the-webhook-token"
NOW = NOON + timedelta(hours=1)


def event(name="job.started"):
    organization = Organization()
    number = organization.create(jobs=1)
    organization.start(number, 0)
    build = organization.builds[number]
    return {
        "event": name,
        "job": build.pop("jobs")[0],
        "pipeline": build.pop("pipeline"),
        "build": build,
        "sender": {"name": "Ada", "email": "ada@example.com"},
    }


def signed(body, *, at=NOW, secret=SECRET):
    timestamp = str(int(at.timestamp()))
    text = timestamp.encode() + b"." + body
    signature = hmac.new(secret.encode(), text, hashlib.sha256).hexdigest()
    return {"X-Buildkite-Signature": f"timestamp={timestamp},signature={signature}"}


class Client:
    """Speaks ASGI to the application."""

    def __init__(self, sink=None, **options):
        self.warehouse = FakeWarehouse()
        self.now = NOW
        self.app = WebhookApp(
            secret=SECRET, sink=sink or self.warehouse, now=lambda: self.now, **options
        )

    def post(self, value, headers=None, **how):
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        return self.request(
            "POST", "/buildkite", body, signed(body) if headers is None else headers, **how
        )

    def request(self, method, path, body=b"", headers=(), *, messages=None):
        sent = []
        messages = iter(messages or [{"type": "http.request", "body": body}])

        async def receive():
            try:
                return next(messages)
            except StopIteration:
                await asyncio.sleep(3600)

        async def send(message):
            sent.append(message)

        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "headers": [(k.lower().encode(), v.encode()) for k, v in dict(headers).items()],
        }
        asyncio.run(self.app(scope, receive, send))
        start, body = sent
        return start["status"], json.loads(body["body"])


def test_an_event_is_stored_before_it_is_answered():
    client = Client()
    status, answer = client.post(event())
    assert (status, answer["outcome"]) == (200, "stored")
    (job,) = client.warehouse.rows("job_attempts")
    (build,) = client.warehouse.rows("builds")
    assert (job["state"], build["state"], build["pipeline"]) == ("running", "running", "engine")


def test_an_event_that_does_not_fit_is_stored_as_a_rejection():
    client = Client()
    sent = event()
    sent["job"]["started_at"] = "soon"
    assert client.post(sent)[0] == 200
    (row,) = client.warehouse.rows("rejected_rows")
    assert "started_at" in row["position"]
    assert len(client.warehouse.rows("builds")) == 1


def test_the_same_event_sent_again_later_is_the_same_batch():
    client = Client()
    client.post(event())
    client.now += timedelta(minutes=1)
    body = json.dumps(event()).encode()
    client.post(body, signed(body, at=client.now))
    assert len(client.warehouse.batches) == 1
    assert client.app.counts["stored"] == 2


# Who sent it, and when.


def good():
    return json.dumps(event()).encode()


@pytest.mark.parametrize(
    ("headers", "reason"),
    [
        pytest.param({}, "no signature", id="none"),
        pytest.param(signed(b"{}"), "the signature is wrong", id="of another body"),
        pytest.param(signed(good(), secret="other"), "the signature is wrong", id="other secret"),
        pytest.param(
            {"X-Buildkite-Signature": "timestamp=1"}, "the signature cannot be read", id="half"
        ),
        pytest.param(
            {"X-Buildkite-Signature": "timestamp=x,signature=y"},
            "the signature cannot be read",
            id="no number",
        ),
        pytest.param({"X-Buildkite-Signature": ""}, "the signature cannot be read", id="empty"),
        pytest.param({"X-Buildkite-Token": "other"}, "the token is wrong", id="other token"),
        pytest.param(
            {"X-Buildkite-Token": SECRET, "X-Buildkite-Signature": "timestamp=1,signature=a"},
            "the signature is wrong",
            id="a right token does not heal a wrong signature",
        ),
    ],
)
def test_what_is_not_from_buildkite_is_refused(headers, reason):
    client = Client()
    status, answer = client.post(good(), headers)
    assert (status, answer["detail"]) == (401, reason)
    assert client.warehouse.batches == {}


@pytest.mark.parametrize(
    ("seconds", "status"), [(-301, 401), (-300, 200), (0, 200), (300, 200), (301, 401)]
)
def test_a_signature_is_good_for_five_minutes_either_way(seconds, status):
    headers = signed(good(), at=NOW + timedelta(seconds=seconds))
    found, answer = Client().post(good(), headers)
    assert found == status
    if status == 401:
        assert "more than 5 minutes off" in answer["detail"]


def test_a_plain_token_is_enough_where_the_webhook_sends_one():
    client = Client()
    assert client.post(good(), {"X-Buildkite-Token": SECRET})[0] == 200
    assert client.post(good(), {"X-Buildkite-Token": SECRET})[0] == 409


def test_an_empty_secret_is_none():
    with pytest.raises(ValueError, match="empty"):
        Verifier("")


# Once.


def test_a_request_that_is_played_again_is_refused():
    client = Client()
    headers = signed(good())
    assert [client.post(good(), headers)[0] for _ in range(3)] == [200, 409, 409]
    client.now += timedelta(minutes=4)
    assert client.post(good(), headers)[0] == 409
    client.now += timedelta(minutes=4)
    assert client.post(good(), headers)[0] == 401


def test_what_is_remembered_is_bounded_in_number_and_time():
    remembered = Remembered(limit=3)
    assert all(remembered.take(b"%d" % n, NOW) for n in range(5))
    assert len(remembered) == 3
    assert not remembered.take(b"4", NOW + timedelta(minutes=10))
    assert remembered.take(b"new", NOW + timedelta(minutes=11))
    assert len(remembered) == 1


@pytest.mark.parametrize("error", [InfrastructureError("the disk is full"), OSError("no")])
def test_what_could_not_be_stored_may_be_sent_again(error):
    failures = [error]
    stored = []

    def sink(batch):
        if failures:
            raise failures.pop()
        stored.append(batch)

    client = Client(sink)
    headers = signed(good())
    assert client.post(good(), headers)[0] == 503
    assert client.post(good(), headers)[0] == 200
    assert len(stored) == 1


def test_a_sink_that_breaks_for_good_is_not_hidden():
    def sink(_):
        raise ZeroDivisionError

    client = Client(sink)
    headers = signed(good())
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            client.post(good(), headers)


# What it is.


@pytest.mark.parametrize(
    ("name", "outcome"),
    [("ping", "ping"), ("agent.connected", "ignored"), ("step.new", "ignored")],
)
def test_events_about_other_things_are_counted_and_not_stored(name, outcome):
    client = Client()
    assert client.post({"event": name})[1]["outcome"] == outcome
    assert client.warehouse.batches == {}
    assert client.app.counts == {outcome: 1}


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"{}", b'{"event": 1}', b"\xff\xfe", b"[" * 100_000], ids=str
)
def test_what_is_no_event_is_refused(body):
    status, answer = Client().post(body)
    assert (status, answer["outcome"]) == (400, "malformed")


def test_a_body_that_says_it_is_too_large_is_not_read():
    client = Client()
    headers = {"Content-Length": str(MAX_BODY_BYTES + 1)}
    assert client.post(b"", headers, messages=[{"type": "never"}])[0] == 413


def test_a_body_that_turns_out_too_large_is_not_read_to_its_end():
    half = {"type": "http.request", "body": b"x" * (MAX_BODY_BYTES // 2 + 1), "more_body": True}
    read = []

    def messages():
        for n in range(9):
            read.append(n)
            yield half

    assert Client().post(b"", {}, messages=messages())[0] == 413
    assert read == [0, 1]


def test_a_body_of_the_largest_size_is_taken():
    body = json.dumps({"event": "ping", "pad": ""}).encode()
    body = body[:-2] + b"x" * (MAX_BODY_BYTES - len(body)) + body[-2:]
    assert Client().post(body)[0] == 200


def test_a_body_that_does_not_come_is_not_waited_for():
    part = {"type": "http.request", "body": b"{", "more_body": True}
    client = Client(body_timeout_s=0.05)
    assert client.post(b"", {}, messages=[part])[0] == 408


def test_a_sender_that_leaves_is_no_event():
    client = Client()
    assert client.post(b"", {}, messages=[{"type": "http.disconnect"}])[0] == 400


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/buildkite", 405),
        ("PUT", "/buildkite", 405),
        ("POST", "/health", 405),
        ("POST", "/other", 404),
    ],
)
def test_other_addresses_are_refused(method, path, status):
    assert Client().request(method, path)[0] == status


def test_health_says_what_was_taken():
    client = Client()
    client.post(event())
    client.post({"event": "ping"})
    client.post(good(), {})
    assert client.request("GET", "/health") == (
        200,
        {"status": "ok", "counts": {"stored": 1, "ping": 1, "unverified": 1}},
    )


def test_nothing_of_a_request_is_logged(caplog):
    client = Client()
    with caplog.at_level(logging.DEBUG):
        client.post(good(), {"X-Buildkite-Token": "nearly-" + SECRET})
        client.post(b'{"event": "ada@example.com"', signed(b'{"event": "ada@example.com"'))
        client.post(event())
    assert "the token is wrong" in caplog.text
    assert SECRET not in caplog.text
    assert "ada@example.com" not in caplog.text


def test_the_server_s_start_and_stop_are_answered():
    sent = []
    messages = iter([{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}])

    async def receive():
        return next(messages)

    async def send(message):
        sent.append(message["type"])

    asyncio.run(Client().app({"type": "lifespan"}, receive, send))
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
