"""The use case of ``gauntlet locks refresh``: plan, ask whether that may be done, do it, record."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name

from gauntlet.core.clock import utc_now
from gauntlet.core.errors import ConfigError, GauntletError, Problem, UsageError
from gauntlet.core.words import number_of
from gauntlet.locks.index import nowhere_to_look, source_for
from gauntlet.locks.refresh import (
    Mode,
    RefreshPlan,
    RefreshRequest,
    execute_refresh,
    plain,
    plan_refresh,
)
from gauntlet.services.chat.port import Chat, Message
from gauntlet.services.codehost.port import CodeHost
from gauntlet.services.escape import slack
from gauntlet.services.switch import Switch, ask_switch
from gauntlet.warehouse.batch import decision_batch
from gauntlet.warehouse.delivery import deliver
from gauntlet.warehouse.rows.measurement import DecisionRow

SUBJECT = "locks/refresh"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refreshed:
    """What came of it: ``opened`` with an address, or ``proposed`` with what held it back."""

    plan: RefreshPlan
    outcome: str
    reason: str
    url: str = ""
    failed: GauntletError | None = None

    def plain(self) -> Mapping[str, object]:
        """As JSON."""
        said = {"outcome": self.outcome, "reason": self.reason, "url": self.url or None}
        return {**said, **plain(self.plan)}

    def lines(self) -> Iterator[str]:
        """As text for people."""
        if not self.plan.moved:
            yield f"nothing newer than {self.plan.base[:12]}"
        else:
            yield f"{self.outcome}: {self.plan.branch} {self.url}".rstrip()
            yield self.reason
            yield ""
            yield self.plan.body
        for lock in self.plan.locks:
            if lock.error:
                yield f"{lock.name} did not compile: {lock.error}"


def refreshing(
    given: Mapping[str, Any],
    *,
    mode: str,
    host: CodeHost | None,
    chat: Chat | None = None,
    location: str | None,
    tell: Callable[[str], None],
) -> Refreshed:
    """Refresh as the options say; without ``location`` nothing is done and nothing recorded.

    Modes above shadow tell the chat what came of it, after it is on record. Raises UsageError for
    mode notify without one.
    """
    if mode == "notify" and chat is None:
        hint = "export SLACK_WEBHOOK_URL, or SLACK_BOT_TOKEN and give --channel"
        raise UsageError("--mode notify has nobody to tell", hint=hint)
    if given["no_index"] and not given["find_links"]:
        raise nowhere_to_look()
    now = utc_now()
    request = RefreshRequest(
        repository=Path(given["root"]).resolve(),
        manifest=given["manifest"],
        names=tuple(given["names"]),
        packages=tuple(canonicalize_name(name) for name in given["packages"]),
        remote=given["remote"],
        base=given["base"],
        branch=given["branch"] or f"locks/refresh-{now:%Y-%m-%d}",
        labels=tuple(given["labels"]),
        find_links=tuple(folder.resolve() for folder in given["find_links"]),
        offline=given["no_index"],
    )
    source = source_for(request.find_links, offline=request.offline)
    plan = plan_refresh(request, source, now, tell)
    if not plan.moved:
        failed = _failure(plan)
        return Refreshed(plan=plan, outcome="nothing", reason="nothing newer", failed=failed)
    stop = _stopped(mode, given["switch"], host) or ("" if location else "a dry run")
    if stop or host is None:
        done = Refreshed(plan=plan, outcome="proposed", reason=stop)
    else:
        done = _act(request, plan, host)
    if location:
        _record(location, done, mode)
        if chat is not None and mode != "shadow":
            chat.post(_message(done))
    return done


def _message(done: Refreshed) -> Message:
    """What a channel reads: how much moves in which lock, and where the rest of it stands."""
    plan = done.plan
    moved = [
        f"{lock.name}: {number_of(len(lock.diff.changes), 'package')}"
        for lock in plan.locks
        if lock.diff is not None and lock.moved
    ]
    where = done.url or f"{plan.branch}, {done.reason}"
    text = f"{plan.title} ({done.outcome}): {'; '.join(moved)}. {where}"
    block = {"type": "section", "text": {"type": "mrkdwn", "text": slack(text)}}
    return Message(key=f"{SUBJECT}/{plan.branch}", text=text, blocks=(block,))


def _failure(plan: RefreshPlan) -> GauntletError | None:
    """What kept locks from compiling: an index that is silent first, for then a retry helps."""
    errors = [(lock.name, lock.failed) for lock in plan.locks if lock.failed]
    others = [error for _, error in errors if not isinstance(error, ConfigError)]
    if others:
        return others[0]
    problems = [Problem(file=name, message=error.message) for name, error in errors]
    return ConfigError(problems) if problems else None


def _stopped(mode: str, switch: Path | None, host: CodeHost | None) -> str:
    """Why nothing may be done, or nothing. What cannot be read says no."""
    if mode != "act":
        return f"mode {mode}"
    if host is None:
        return "no code host: give --slug, and a token in GITHUB_TOKEN"
    permit = ask_switch(Switch(file=switch))
    return "" if permit.given else permit.reason


def _act(request: RefreshRequest, plan: RefreshPlan, host: CodeHost) -> Refreshed:
    """Push and open; a refusal is recorded too, before it ends the command."""
    try:
        url = execute_refresh(request, plan, host)
    except GauntletError as error:
        return Refreshed(plan=plan, outcome="failed", reason=error.message, failed=error)
    reason = "pushed" if plan.commit else "the branch had it already"
    return Refreshed(plan=plan, outcome="opened", reason=reason, url=url)


def _record(location: str, done: Refreshed, mode: str) -> None:
    now = utc_now()
    row = DecisionRow.of(
        "",
        "annotation",
        SUBJECT,
        done.outcome,
        reason=done.reason or done.plan.title,
        evidence={
            "branch": done.plan.branch,
            "base": done.plan.base,
            "commit": done.plan.commit,
            "url": done.url,
            "locks": [lock.name for lock in done.plan.locks if lock.moved],
        },
        at=now,
        blocking=False,
    )
    chosen: Mode = "act" if mode == "act" else "notify" if mode == "notify" else "shadow"
    deliver(
        location,
        [decision_batch(SUBJECT, done.outcome, [row.model_copy(update={"mode": chosen})], now)],
    )
