"""One look at the fleet: read, judge, record what is news, take bad hosts out as far as allowed."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from gauntlet.analyzer.acting.policy import Policy
from gauntlet.analyzer.alerts.control import AgentControl
from gauntlet.analyzer.alerts.drain import Drain, let_return, plan_drains, take_out
from gauntlet.analyzer.alerts.hysteresis import Change, judge
from gauntlet.analyzer.alerts.model import Drained, Known, Unread
from gauntlet.analyzer.alerts.record import (
    RUN_ID,
    Recorded,
    change_rows,
    drain_row,
    read_recorded,
    return_row,
)
from gauntlet.analyzer.alerts.rules import Rule, load_rules
from gauntlet.analyzer.alerts.sources import Look, look
from gauntlet.core.clock import utc_now
from gauntlet.core.errors import ExitCode, ExternalServiceError, GauntletError, InfrastructureError
from gauntlet.core.files import sole_holder
from gauntlet.services.switch import Permit
from gauntlet.warehouse.batch import decision_batch
from gauntlet.warehouse.delivery import deliver
from gauntlet.warehouse.location import folder_beside, spool_folder
from gauntlet.warehouse.rows.measurement import DecisionRow
from gauntlet.warehouse.store import open_store

_HOST = "host/"
_NOBODY = Permit(given=False, reason="nobody was asked")


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertRequest:
    """What is looked at and what may be done; without a control nothing is taken out.

    ``ago_s`` looks at the fleet as it was so many seconds ago; only to try rules out.
    """

    location: str
    rules: tuple[Rule, ...] = field(default_factory=load_rules)
    policy: Policy = field(default_factory=Policy)
    permit: Permit = _NOBODY
    control: AgentControl | None = None
    dry_run: bool = False
    ago_s: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """What came of taking out one host, or of letting it return."""

    host: str
    word: str
    """``drained``, ``returned``, ``notify``, ``shadow``, or ``failed``."""
    reason: str
    stops: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertResults:
    """What one look found and did. ``recorded`` counts decisions that were, or would be, added."""

    at: datetime
    changes: tuple[Change, ...]
    acts: tuple[Act, ...]
    unread: tuple[Unread, ...]
    recorded: int
    dry_run: bool

    @property
    def open(self) -> tuple[Change, ...]:
        """Alerts that are open now, told or silenced."""
        return tuple(each for each in self.changes if each.outcome != "closed")

    def plain(self) -> dict[str, Any]:
        """Plain data, for programs."""
        return {
            "at": self.at.isoformat(),
            "recorded": self.recorded,
            "dry_run": self.dry_run,
            "alerts": [plain_change(each) for each in self.changes],
            "acts": [
                {"host": a.host, "word": a.word, "reason": a.reason, "stops": list(a.stops)}
                for a in self.acts
            ],
            "unread": [{"measure": each.measure, "reason": each.reason} for each in self.unread],
        }


def plain_change(change: Change) -> dict[str, Any]:
    """One alert as plain data."""
    return {
        "change": change.kind,
        "subject": change.subject,
        "outcome": change.outcome,
        "reason": change.reason,
        **change.evidence.model_dump(mode="json"),
    }


def check_alerts(request: AlertRequest) -> AlertResults:
    """Look once. Looking again at the same fleet records nothing.

    Raises InfrastructureError where another look is under way at the same warehouse, and what the
    store raises; a part that could not be read is in the results instead.
    """
    with _alone(request.location, dry_run=request.dry_run):
        now = utc_now() - timedelta(seconds=request.ago_s)
        with open_store(request.location) as store:
            recorded = read_recorded(store.query("alert_states"))
            seen = look(
                store,
                spool_folder(request.location),
                recorded.alerts,
                now=now,
                ago_s=request.ago_s,
            )
        changes = judge(
            seen.readings,
            unread=seen.unread,
            known=recorded.alerts,
            rules=request.rules,
            silences=recorded.silences,
            now=now,
        )
        rows = list(change_rows(changes, now))
        _write(request, rows)
        acts, more = _act(request, changes, recorded, seen, now)
        return AlertResults(
            at=now,
            changes=tuple(changes),
            acts=tuple(acts),
            unread=tuple(seen.unread),
            recorded=len(rows) + more,
            dry_run=request.dry_run,
        )


def raise_for(results: AlertResults) -> None:
    """Raise where something could not be read, or a host could not be reached; alerts are no error.

    Raises ExternalServiceError where a service outside did not answer, else InfrastructureError.
    """
    told = [f"{each.measure}: {each.reason}" for each in results.unread]
    failed = [
        f"host {each.host}: {'; '.join(each.stops)}"
        for each in results.acts
        if each.word == "failed"
    ]
    if not told and not failed:
        return
    outside = bool(failed) or any(
        each.exit_code is ExitCode.EXTERNAL_SERVICE for each in results.unread
    )
    kind = ExternalServiceError if outside else InfrastructureError
    reasons = sorted({each.reason for each in results.unread})
    measures = ", ".join(each.measure for each in results.unread)
    parts = [f"not read: {measures}: {'; '.join(reasons)}"] if told else []
    raise kind("; ".join([*parts, *failed]), hint="alerts of these stay as they were")


def _act(
    request: AlertRequest,
    changes: Sequence[Change],
    recorded: Recorded,
    seen: Look,
    now: datetime,
) -> tuple[list[Act], int]:
    """Take out and let return, each recorded at once: what was done must not be forgotten."""
    limits = request.policy.drain
    plans = plan_drains(changes, recorded.alerts, seen.hosts_of, limits, request.permit, now)
    acts, rows = [], 0
    for plan in plans:
        act, is_news = _take_out(request, plan, now)
        acts.append(act)
        rows += is_news
    returning = _returning(changes, recorded) if limits.auto_resume else []
    returned = [_let_return(request, each, now) for each in returning]
    rows += sum(act.word in ("returned", "would return") for act in returned)
    return [*acts, *returned], rows


def _take_out(request: AlertRequest, plan: Drain, now: datetime) -> tuple[Act, bool]:
    """Take a host out; the second value says whether that is news."""
    if request.dry_run:
        said = "would be drained" if plan.leave.may_act else plan.leave.mode
        act = Act(host=plan.host, word=said, reason=plan.reason, stops=plan.leave.stops)
        return act, True
    drained = take_out(plan, request.control, request.policy.drain, now)
    at = max(utc_now() - timedelta(seconds=request.ago_s), now + timedelta(milliseconds=1))
    # A host that cannot be reached is tried at every look, and said once.
    is_news = not _same(drained, plan.change.evidence.drained)
    if is_news:
        _write(request, [drain_row(plan.change, drained, plan.host, at)])
    word: str = "drained" if drained.mode == "act" else drained.mode
    if plan.leave.may_act and drained.mode != "act":
        word = "failed"
    return Act(host=plan.host, word=word, reason=plan.reason, stops=drained.stops), is_news


def _same(one: Drained, other: Drained | None) -> bool:
    return other is not None and (one.mode, one.agents, one.stops, one.until) == (
        other.mode,
        other.agents,
        other.stops,
        other.until,
    )


def _returning(changes: Sequence[Change], recorded: Recorded) -> list[Known]:
    """Hosts that are out although their alert is closed, now or since an earlier look."""
    closing = {each.subject for each in changes if each.kind == "close"}
    return [
        each
        for each in recorded.alerts
        if each.subject.startswith(_HOST)
        and (not each.is_open or each.subject in closing)
        and each.evidence.drained is not None
        and each.evidence.drained.is_out(utc_now())
    ]


def _let_return(request: AlertRequest, alert: Known, now: datetime) -> Act:
    host = alert.subject.removeprefix(_HOST)
    reason = "its alert is closed, and the policy lets it return"
    if request.control is None or not request.permit.given:
        why = request.permit.reason if not request.permit.given else "nothing brings hosts back"
        return Act(host=host, word="notify", reason=f"{reason}, but {why}")
    if request.dry_run:
        return Act(host=host, word="would return", reason=reason)
    try:
        let_return(host, request.control)
    except GauntletError as error:
        return Act(host=host, word="failed", reason=reason, stops=(error.message,))
    at = max(utc_now(), now + timedelta(milliseconds=2))
    _write(request, [return_row(alert, actor="gauntlet", reason=reason, at=at)])
    return Act(host=host, word="returned", reason=reason)


def resume_host(
    request: AlertRequest, host: str, *, actor: str, reason: str
) -> tuple[DecisionRow, tuple[str, ...]]:
    """Let a host return because a person says so, and close its alert.

    Returns the decision and the names of its agents. Raises UsageError where it is neither out nor
    accused, or nothing can bring it back, and what the control raises.
    """
    with _alone(request.location, dry_run=request.dry_run):
        with open_store(request.location) as store:
            recorded = read_recorded(store.query("alert_states"))
        alert = _host_alert(recorded, host)
        agents: tuple[str, ...] = ()
        now = utc_now()
        if alert.evidence.drained is not None and alert.evidence.drained.is_out(now):
            if request.control is None:
                msg = f"{host} is out, and the policy does not say what brings it back"
                hint = "give --policy with drain.resume_command, or buildkite.organization"
                raise InfrastructureError(msg, hint=hint)
            if not request.dry_run:
                agents = let_return(host, request.control)
        row = return_row(alert, actor=actor, reason=reason, at=utc_now())
        _write(request, [row])
        return row, agents


def _host_alert(recorded: Recorded, host: str) -> Known:
    subject = f"{_HOST}{host.removeprefix(_HOST)}"
    now = utc_now()
    for each in recorded.alerts:
        out = each.evidence.drained is not None and each.evidence.drained.is_out(now)
        if each.subject == subject and (each.is_open or out):
            return each
    return recorded.open_alert(subject)


def say(request: AlertRequest, row: DecisionRow) -> None:
    """Record the word of a person."""
    _write(request, [row])


def load_states(location: str) -> Recorded:
    """Read what is recorded of alerts and silences."""
    with open_store(location) as store:
        return read_recorded(store.query("alert_states"))


def _write(request: AlertRequest, rows: Sequence[DecisionRow]) -> None:
    if rows and not request.dry_run:
        deliver(request.location, [decision_batch(RUN_ID, "alerts", rows, rows[0].at)])


@contextmanager
def _alone(location: str, *, dry_run: bool) -> Iterator[None]:
    """Keep a second look away: both would record, and take out, the same."""
    if dry_run:
        yield
        return
    path = folder_beside(location, "alerts.lock")
    with sole_holder(path, busy=f"another look at the alerts of {location} is under way"):
        yield
