"""Run one client on one load, under a hard limit, and judge what it left."""

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from gauntlet.core.clock import utc_now
from gauntlet.core.proc import CommandError, Completed, run
from gauntlet.harness.clients.distrust import distrust
from gauntlet.harness.clients.port import (
    ClientLoad,
    ClientResult,
    Invocation,
    LoadClient,
    absent,
    pinned,
)
from gauntlet.warehouse.results.identity import UnreadableResultError

_TAIL_LINES = 12
_OUTPUT_LIMIT = 1 << 20
# Dates in result files are local times; no client is to ask a proxy for a local server.
_ENV = {"TZ": "UTC", "NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost"}


def run_client(
    client: LoadClient,
    load: ClientLoad,
    folder: Path,
    *,
    limit_s: float,
    cores: Sequence[int] = (),
    environment: Mapping[str, str] | None = None,
) -> ClientResult:
    """Run ``client`` once; everything it writes is in ``folder``.

    It is killed with all its descendants after ``limit_s``: their own limits are hours. Never
    raises for what the client does: that is in the result's status and reasons.
    """
    how = client.available()
    if how is not None:
        return absent(client, how)
    folder.mkdir(parents=True, exist_ok=True)
    plan = client.plan(load, folder)
    # A result of an earlier run in this folder must not pass for one of this run.
    plan.result.unlink(missing_ok=True)
    argv = pinned(plan.argv, cores, shutil.which("taskset"))
    env = {**(os.environ if environment is None else environment), **_ENV, **plan.env}
    reasons: list[str] = []
    try:
        done: Completed | None = run(
            argv, timeout=limit_s, env=env, limit=_OUTPUT_LIMIT, check=False, usage=True
        )
    except CommandError as error:
        done = error.result
        reasons.append(
            f"timeout: no end after {limit_s:g} s, killed"
            if done is not None
            else f"not-started: {error.message}"
        )
    if done is not None and not reasons and done.returncode != 0:
        reasons.append(f"exit-status: {done.returncode}")
    return _result(client, load, plan, done, reasons)


def _result(
    client: LoadClient,
    load: ClientLoad,
    plan: Invocation,
    done: Completed | None,
    reasons: list[str],
) -> ClientResult:
    report = None
    try:
        text = plan.result.read_text(encoding="utf-8", errors="replace")
        report = client.read(text, plan.result.name)
    except FileNotFoundError:
        reasons.append(f"no-result: {plan.result.name} was not written")
    except UnreadableResultError as error:
        reasons.append(f"unreadable-result: {error.message}")
    seconds = done.seconds if done is not None else 0.0
    if report is not None:
        reasons += distrust(report, load, seconds=seconds, now=utc_now())
    return ClientResult(
        client=client.name,
        version=client.version(),
        status="invalid" if reasons else "ok",
        reasons=tuple(reasons),
        report=report,
        usage=done.usage if done is not None else None,
        seconds=seconds if done is not None else None,
        returncode=done.returncode if done is not None else None,
        argv=plan.argv,
        tail=_tail(done),
    )


def _tail(done: Completed | None) -> str:
    """The last lines of what it said on standard error, else on standard output."""
    if done is None:
        return ""
    lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
    return "\n".join(lines[-_TAIL_LINES:])
