"""``gauntlet ingest buildkite`` and ``gauntlet ingest webhook``."""

import contextlib
import json
import os
import re
import socket
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gauntlet.core.clock import utc_now
from gauntlet.core.errors import InfrastructureError, UsageError
from gauntlet.warehouse.ingest.outcome import Ingest, Target
from gauntlet.warehouse.location import folder_beside, warehouse_option

if TYPE_CHECKING:
    from gauntlet.services.transport import Transport
    from gauntlet.warehouse.buildkite.cursor import CursorStore, Round
    from gauntlet.warehouse.buildkite.sync import Sink, SyncReport, SyncRequest
    from gauntlet.warehouse.buildkite.webhook import WebhookApp

REST_TOKEN = "BUILDKITE_API_TOKEN"  # noqa: S105
AGENT_TOKEN = "BUILDKITE_AGENT_TOKEN"  # noqa: S105
_MAX_CONNECTIONS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    """What ``ingest buildkite`` is asked for, as it was written."""

    organization: str
    slug: str
    since: str
    until: str | None
    api_url: str
    queues: bool
    agent_url: str
    requests_per_minute: int
    per_page: int

    def request(self, now: datetime) -> "SyncRequest":
        """Read the times. Raises UsageError for what is none."""
        from gauntlet.warehouse.buildkite.api import Pipeline
        from gauntlet.warehouse.buildkite.sync import SyncRequest

        return SyncRequest(
            pipeline=Pipeline(organization=self.organization, slug=self.slug),
            since=None if self.since == "auto" else parse_time(self.since, "--since", now),
            until=parse_time(self.until, "--until", now) if self.until else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingested:
    """What one run did; ``queues`` is None where none were asked for."""

    report: "SyncReport"
    requests: int
    queues: int | None

    def as_dict(self) -> dict[str, object]:
        """Return plain data."""
        return self.report.as_dict() | {"requests": self.requests, "queues": self.queues}


@click.command("buildkite")
@click.option("--organization", required=True, metavar="SLUG")
@click.option("--pipeline", "slug", required=True, metavar="SLUG")
@click.option(
    "--since",
    default="auto",
    show_default=True,
    metavar="auto|TIME|7d",
    help="auto goes on where the last run stopped, or 7 days back.",
)
@click.option("--until", default=None, metavar="TIME|7d", help="Builds created before this. [now]")
@click.option("--api-url", default="https://api.buildkite.com/v2/", show_default=True)
@click.option("--queues", is_flag=True, help=f"Sample the queues too (token: {AGENT_TOKEN}).")
@click.option("--agent-url", default="https://agent.buildkite.com/v3/", show_default=True)
@click.option("--requests-per-minute", type=click.IntRange(1), default=200, show_default=True)
@click.option("--per-page", type=click.IntRange(1, 100), default=10, show_default=True)
@click.option("--dry-run", is_flag=True, help="Print what would be read, and ask nobody.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@warehouse_option
def buildkite(dry_run: bool, as_json: bool, location: str, **options: Any) -> None:  # noqa: ANN401
    """Bring builds and job attempts of a pipeline into the warehouse (token: BUILDKITE_API_TOKEN).

    A run that is killed, or fails, is continued by the next one. At the end, days that changed are
    rolled up.
    """
    from gauntlet.warehouse.buildkite.cursor import CursorFolder, plan_round

    given = _Options(**options)
    now = utc_now()
    request = given.request(now)
    cursors = CursorFolder(cursor_folder(location))
    if dry_run:
        known = cursors.load(request.pipeline)
        window = {"since": request.since, "until": request.until}
        _echo_plan(plan_round(request.pipeline, known, **window, now=now), as_json)
        return
    ingest = Ingest.to(Target(location=location, dry_run=False, as_json=as_json))
    with ingest.shipped_anyway(), cursors.exclusive(request.pipeline):
        done = _ingest(given, request, ingest.keep, cursors)
    ingest.finish(details=done.as_dict(), lines=report_lines(done), roll_up=True)


@click.command("webhook")
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", type=click.IntRange(0, 65_535), default=8480, show_default=True)
@click.option(
    "--secret-env",
    default="BUILDKITE_WEBHOOK_TOKEN",
    show_default=True,
    metavar="NAME",
    help="Environment variable with the webhook's token.",
)
@warehouse_option
def webhook(host: str, port: int, secret_env: str, location: str) -> None:
    """Take Buildkite's webhooks at POST /buildkite until SIGTERM or SIGINT.

    Prints one JSON line once it listens. An event is safe on disk before it is answered.
    """
    from gauntlet.warehouse.buildkite.webhook import WebhookApp

    secret = _secret(secret_env)
    with _open_sink(location) as sink, _listening(host, port) as listener:
        address, port = listener.getsockname()[:2]
        click.echo(json.dumps({"listening": f"http://{address}:{port}/buildkite"}))
        _serve(WebhookApp(secret=secret, sink=sink), listener)


def cursor_folder(location: str) -> Path:
    """Folder of the cursors that belong to a warehouse: beside its spool."""
    return folder_beside(location, "cursors")


def parse_time(text: str, option: str, now: datetime) -> datetime:
    """Read an instant with its zone, or ``7d`` or ``12h`` for so long ago.

    Raises UsageError that names the option.
    """
    from gauntlet.warehouse.buildkite.payloads import parse_instant

    if ago := re.fullmatch(r"(\d{1,5})([dh])", text):
        return now - int(ago[1]) * timedelta(**{"d": {"days": 1}, "h": {"hours": 1}}[ago[2]])
    try:
        return parse_instant(text)
    except ValueError as error:
        hint = "say an instant such as 2026-11-02T10:00Z, or how long ago: 7d, 12h"
        raise UsageError(f"{option} {text}: {error}", hint=hint) from error


def plan_lines(plan: "Round") -> list[str]:
    """Say what a round would read."""
    lines = [
        f"builds created from {_minute(window.start)} to {_minute(window.end)}"
        for window in plan.windows
    ]
    older, since = _minute(plan.older_than), _minute(plan.finished_from)
    lines += [
        f"builds created before {older} that finished since {since} or are at work",
        f"{len(plan.cursor.open)} builds that were open",
    ]
    return [*lines, "the cursor stays where it is"] if plan.detached else lines


def report_lines(done: Ingested) -> list[str]:
    """Say what a run did."""
    report = done.report
    since, until = _minute(report.since), _minute(report.known_until)
    lines = [
        f"{report.pipeline}: {report.builds} builds, {report.jobs} job attempts since {since}",
        f"{report.pages} pages, {done.requests} requests, {report.rejected} payloads rejected",
        f"finished builds are known until {until}; {report.open_builds} builds are open",
    ]
    if report.detached:
        lines.append("the cursor stays where it was: this run would have left a gap behind it")
    if done.queues is not None:
        lines.append(f"{done.queues} queues sampled")
    return lines


def _minute(instant: datetime) -> str:
    return f"{instant:%Y-%m-%d %H:%M} UTC"


def _echo_plan(plan: "Round", as_json: bool) -> None:
    if not as_json:
        click.echo("\n".join(plan_lines(plan)))
        return
    value = {
        "windows": [window.model_dump(mode="json") for window in plan.windows],
        "older_than": plan.older_than.isoformat(),
        "finished_from": plan.finished_from.isoformat(),
        "open": [build.number for build in plan.cursor.open],
        "detached": plan.detached,
    }
    click.echo(json.dumps(value, indent=2))


def _ingest(
    given: _Options, request: "SyncRequest", sink: "Sink", cursors: "CursorStore"
) -> Ingested:
    from gauntlet.warehouse.buildkite.client import HttpBuildkite
    from gauntlet.warehouse.buildkite.sync import sync

    rate = given.requests_per_minute
    with _transport(given.api_url, f"Bearer {_secret(REST_TOKEN)}", rate) as transport:
        # First: the state of the queues passes, builds stay where they are.
        sampled = _sample_queues(given.agent_url, rate, sink) if given.queues else None
        api = HttpBuildkite(transport, per_page=given.per_page)
        report = sync(request, api, sink, cursors, utc_now)
        return Ingested(report=report, requests=transport.requests, queues=sampled)


def _sample_queues(url: str, requests_per_minute: int, sink: "Sink") -> int:
    """Bring one sample of every queue into the sink; return how many."""
    from gauntlet.warehouse.buildkite.client import HttpAgentMetrics
    from gauntlet.warehouse.buildkite.queues import queue_samples
    from gauntlet.warehouse.buildkite.sync import batch_of

    with _transport(url, f"Token {_secret(AGENT_TOKEN)}", requests_per_minute) as transport:
        metrics = HttpAgentMetrics(transport).read()
    now = utc_now()
    rows = queue_samples(metrics, origin=url, at=now)
    if rows:
        sink(batch_of(rows, now))
    return len(rows)


def _transport(url: str, authorization: str, requests_per_minute: int) -> "Transport":
    from gauntlet.services.limits import RateLimiter
    from gauntlet.services.transport import Transport

    return Transport(url, authorization=authorization, limiter=RateLimiter(requests_per_minute))


def _open_sink(location: str) -> "contextlib.AbstractContextManager[Sink]":
    from gauntlet.warehouse.sink import open_sink

    return open_sink(location)


def _secret(name: str) -> str:
    value = os.environ.get(name, "").strip()
    if not value:
        raise UsageError(f"{name} is not set", hint=f"put the token into the variable {name}")
    return value


def _listening(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port))
    except OSError as error:
        msg = f"cannot listen on {host}:{port}: {error.strerror or error}"
        raise InfrastructureError(msg, hint="choose another --port or --host") from error


def _serve(app: "WebhookApp", listener: socket.socket) -> None:
    from gauntlet.core.proc import terminable

    try:
        import uvicorn
    except ImportError as error:
        raise UsageError("webhooks need uvicorn", hint="pip install uvicorn") from error

    config = uvicorn.Config(
        app,
        access_log=False,
        log_config=None,
        limit_concurrency=_MAX_CONNECTIONS,
        timeout_graceful_shutdown=10,
        server_header=False,
        ws="none",
    )
    with contextlib.suppress(KeyboardInterrupt), terminable():
        uvicorn.Server(config).run(sockets=[listener])
