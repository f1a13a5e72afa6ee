"""The last step: put the report together from the warehouse, keep it, and deliver it."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from gauntlet.analyzer.flakes.found import Flake
from gauntlet.analyzer.flakes.from_store import FlakesRequest, read_flakes
from gauntlet.analyzer.incidents.evidence import count
from gauntlet.analyzer.incidents.history import SAYS_NOTHING
from gauntlet.analyzer.nightly.journal import NightFolder
from gauntlet.analyzer.nightly.look import INCIDENTS, look_at, measured
from gauntlet.analyzer.nightly.night import Night, Told
from gauntlet.analyzer.nightly.watch import ALERTS
from gauntlet.analyzer.reports.assemble import Found, assemble
from gauntlet.analyzer.reports.delivery import Board, deliver_report
from gauntlet.analyzer.reports.markdown import markdown
from gauntlet.analyzer.reports.model import Entry, Report
from gauntlet.analyzer.reverts.record import Precision, precision
from gauntlet.core.errors import GauntletError
from gauntlet.core.files import write_atomic
from gauntlet.warehouse.failure_classes import FAILURE_CLASSES
from gauntlet.warehouse.store import Store, open_store

REPORT = "report.md"
_FLAKE_DAYS = 14
_FLAKES = 12
_INFRA = 12
_WRONG = 12
_MISSING = 20
_OF_MACHINES = ",".join(c for c in FAILURE_CLASSES if c in SAYS_NOTHING - {"flaky", "cancelled"})

PartT = TypeVar("PartT")


def tell(night: Night, folder: NightFolder) -> Told:
    """Write the report; deliver it where a chat is connected, and this is no dry run.

    Raises ExternalServiceError where the chat does not take it; the files are there then.
    """
    report = make_report(night, folder)
    folder.save("report.json", report.plain())
    path = write_atomic(folder.folder / REPORT, markdown(report))
    if night.chat is None or night.dry_run:
        return Told(detail=f"{report.headline} ({path})")
    board = Board.of(folder.state.board)
    try:
        sent = deliver_report(report, night.chat, board)
    finally:
        # What went out is known even where the next message failed.
        folder.hang(board.plain())
    return Told(detail=f"{report.headline} ({path}, {count(sent, 'message')})")


def make_report(night: Night, folder: NightFolder) -> Report:
    """Put the report together. A part that cannot look is named in it."""
    unknown = [
        f"{name}: {done.detail}"
        for name, done in folder.state.steps.items()
        if done.status == "failed"
    ]

    def part(name: str, look: Callable[[], PartT]) -> PartT | None:
        try:
            return look()
        except GauntletError as error:
            unknown.append(f"{name}: {error.message}")
            return None

    kept, watched = folder.load(INCIDENTS), folder.load(ALERTS)
    unknown += [f"alerts: {words}" for words in watched.get("unread", ())]
    picture = part("incidents", lambda: look_at(night))
    judged = part("measurements", lambda: measured(night))
    lists = {
        name: part(name, lambda entries=entries: _entries(night, entries)) or ()  # type: ignore[misc]
        for name, entries in (
            ("flaky", _flaky),
            ("infrastructure", _infra),
            ("wrong exit codes", _wrong_exit_codes),
            ("missing jobs", _missing),
        )
    }
    bot = part("reverts", lambda: _precision(night))
    return assemble(
        Found(
            night=night.date,
            branch=night.branch,
            picture=picture,
            measured=judged,
            new=frozenset(kept.get("new", ())),
            ended=tuple(_ended(kept.get("ended", {}))),
            flaky=lists["flaky"],
            infra=lists["infrastructure"],
            wrong_exit_codes=lists["wrong exit codes"],
            missing_jobs=lists["missing jobs"],
            alerts=tuple(Entry.of(each) for each in watched.get("entries", ())),
            precision=bot,
            unknown=tuple(dict.fromkeys(unknown)),
            hud_url=night.policy.chat.hud_url,
        )
    )


def _entries(night: Night, make: Callable[[Night, Store], Iterable[Entry]]) -> tuple[Entry, ...]:
    with open_store(night.location) as store:
        return tuple(make(night, store))


def _ended(kept: Mapping[str, Mapping[str, str]]) -> Iterable[Entry]:
    for key, each in kept.items():
        yield Entry(key=key, title=each["title"], facts=(each["reason"],))


def _flaky(night: Night, store: Store) -> Iterable[Entry]:
    """Flaky tests and jobs that are not in quarantine, the costliest first."""
    request = FlakesRequest(branch=night.branch, days=_FLAKE_DAYS)
    found = [f for f in read_flakes(store, request, night.now) if f.judgement.state == "flaky"]
    for flake in [f for f in found if not f.quarantined][:_FLAKES]:
        yield Entry(key=flake.subject, title=_name(flake), facts=tuple(_flake_facts(flake)))


def _name(flake: Flake) -> str:
    recorded = flake.recorded
    return f"{recorded.nodeid} in {recorded.job_key}" if recorded.nodeid else recorded.job_key


def _flake_facts(flake: Flake) -> Iterable[str]:
    rate = flake.judgement.rate
    yield f"fails in {rate.mean:.1%} of its runs ({rate.low:.1%} to {rate.high:.1%})"
    if flake.minutes_lost:
        yield f"{flake.minutes_lost:.0f} minutes lost"
    if flake.owner:
        yield f"owner: {flake.owner}"


def _infra(night: Night, store: Store) -> Iterable[Entry]:
    """Failures of machines, network and services, by signature."""
    rows = store.query(
        "failures_by_cause",
        failure_classes=_OF_MACHINES,
        since=night.since,
        until=night.until,
        limit=_INFRA,
    )
    for row in rows:
        places = f"{count(len(row['job_keys']), 'job')} on {count(len(row['hosts']), 'host')}"
        yield Entry(
            key=f"infra/{row['signature']}",
            title=str(row["line"] or row["signature"]),
            facts=(f"{row['failure_class']}: {count(row['attempts'], 'attempt')} of {places}",),
            links=(("newest", str(row["url"])),),
        )


def _wrong_exit_codes(night: Night, store: Store) -> Iterable[Entry]:
    days = max(1, (night.now - night.since).days + 1)
    rows = store.query("wrong_exit_codes", days=days)
    for row in [r for r in rows if night.since <= r["created_at"] < night.until][:_WRONG]:
        yield Entry(
            key=f"exit/{row['job_id']}",
            title=f"{row['job_key']} {row['state']} at {row['sha'][:10]}",
            facts=(f"its log says {row['failure_class']}: {row['line']}",),
            links=(("run", str(row["url"])),),
        )


def _missing(night: Night, store: Store) -> Iterable[Entry]:
    """Jobs that the last nightly build left out, and nightly builds before it ran."""
    pipeline = night.policy.buildkite.pipeline or "ci"
    rows: list[dict[str, Any]] = store.query("missing_jobs", branch=night.branch, pipeline=pipeline)
    for row in rows[:_MISSING]:
        fact = f"ran in {row['earlier']} of the nightly builds before #{row['build_number']}"
        yield Entry(
            key=f"missing/{row['job_key']}",
            title=str(row["job_key"]),
            facts=(fact,),
            links=(("build", str(row["url"])),),
        )


def _precision(night: Night) -> Precision | None:
    """How the reverts of 30 days ended; None where none was ever opened."""
    with open_store(night.location) as store:
        rows = store.query("bot_record", days=30)
    outcomes = [
        str(row["outcome"]) for row in rows if row["mode"] == "act" for _ in range(row["reverts"])
    ]
    return precision(outcomes) if outcomes else None
