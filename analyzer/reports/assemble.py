"""Put the report of a night together from what each part of the analyzer found. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from gauntlet.analyzer.history.finding import Finding
from gauntlet.analyzer.history.nightly import NightReport
from gauntlet.analyzer.incidents.incident import Incident
from gauntlet.analyzer.incidents.recorded import Continued, Ended
from gauntlet.analyzer.incidents.update import Picture
from gauntlet.analyzer.incidents.words import bisect_command, reproduce
from gauntlet.analyzer.reports.model import Entry, Report, Section
from gauntlet.analyzer.reverts.record import Precision

_SHA = 10
_SUSPECTS = 3
_DIFFERENCES = 4
_FINDINGS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What the parts found; None where a part could not look, with the reason in ``unknown``.

    Entries of flakes, failures of machines, wrong exit codes, missing jobs and alerts are made by
    those who know them.
    """

    night: date
    branch: str
    picture: Picture | None
    measured: NightReport | None
    new: frozenset[str] = frozenset()
    """Ids of incidents that were recorded this night."""
    ended: tuple[Entry, ...] = ()
    """Incidents that were recorded as over this night."""
    flaky: tuple[Entry, ...] = ()
    infra: tuple[Entry, ...] = ()
    wrong_exit_codes: tuple[Entry, ...] = ()
    missing_jobs: tuple[Entry, ...] = ()
    alerts: tuple[Entry, ...] = ()
    precision: Precision | None = None
    unknown: tuple[str, ...] = ()
    hud_url: str = ""


def assemble(found: Found) -> Report:
    """Sort what was found into sections, the most urgent first."""
    listed = [] if found.picture is None else _listed(found.picture)
    sure = [each for each in listed if each.incident.status == "confirmed"]
    new = [each for each in sure if _is_new(each, found.new)]
    known = [each for each in sure if not _is_new(each, found.new)]
    unsure = [each for each in listed if each.incident.status != "confirmed"]
    over = () if found.picture is None else map(_ended, found.picture.ended)
    ended = {entry.key: entry for entry in (*found.ended, *over)}
    losses = () if found.measured is None else found.measured.new
    missing = [*found.missing_jobs, *_missing(found.measured)]
    sections = (
        Section(name="Newly broken", entries=_incidents(new, found.hud_url), threads=True),
        Section(name="Slower or worse", entries=tuple(_losses(losses, found.hud_url))),
        Section(name="Still broken", entries=_incidents(known, found.hud_url), threads=True),
        Section(name="To run again", entries=_incidents(unsure, found.hud_url)),
        Section(name="Fixed", entries=tuple(ended.values())),
        Section(name="Flaky", entries=found.flaky),
        Section(name="Infrastructure", entries=found.infra),
        Section(name="Wrong exit codes", entries=found.wrong_exit_codes),
        Section(name="Missing", entries=tuple(missing)),
        Section(name="Alerts", entries=found.alerts),
    )
    footer = () if found.precision is None else (f"Reverts of 30 days: {found.precision}.",)
    return Report(
        night=found.night,
        branch=found.branch,
        headline=_headline(sections, found.unknown),
        sections=sections,
        footer=footer,
        unknown=found.unknown,
        links=((("HUD", found.hud_url),) if found.hud_url else ()),
    )


def _headline(sections: Sequence[Section], unknown: Sequence[str]) -> str:
    """The night in one line; what could not be looked at is never passed over as good."""
    counts = {section.name: len(section.entries) for section in sections}
    words = {
        "Newly broken": "newly broken",
        "Slower or worse": "slower or worse",
        "Still broken": "still broken",
        "Missing": "missing",
        "Fixed": "fixed",
    }
    told = [f"{counts[name]} {word}" for name, word in words.items() if counts[name]]
    if unknown:
        told.append(f"{len(unknown)} not looked at")
    return ", ".join(told) or "nothing is broken"


def _listed(picture: Picture) -> list[Continued]:
    return [e for e in picture.open if e.recorded is None or e.recorded.outcome != "ignored"]


def _is_new(each: Continued, new: frozenset[str]) -> bool:
    return each.recorded is None or each.incident.incident_id in new


def _incidents(listed: Iterable[Continued], hud_url: str) -> tuple[Entry, ...]:
    return tuple(incident_entry(each.incident, hud_url) for each in listed)


def incident_entry(incident: Incident, hud_url: str) -> Entry:
    """One incident: the culprit with its proof if it is known, else the range; how to see it."""
    facts = [f"{incident.failure_class}, since {incident.opened_at:%Y-%m-%d %H:%M} UTC"]
    links = []
    if incident.culprit is not None:
        commit = incident.culprit.commit
        proof = "verified" if incident.culprit.verified else "not verified yet"
        number = f" #{commit.pull_request}" if commit.pull_request else ""
        facts.append(f"culprit{number} {commit.sha[:_SHA]} {commit.title} ({proof})")
    elif incident.differences:
        changed = incident.differences[:_DIFFERENCES]
        facts += [f"{d.name} {d.before or 'absent'} -> {d.after or 'absent'}" for d in changed]
    elif incident.suspects:
        shown = ", ".join(commit.sha[:_SHA] for commit in incident.suspects[:_SUSPECTS])
        more = len(incident.suspects) - _SUSPECTS
        facts.append(f"suspects: {shown}{f' and {more} more' if more > 0 else ''}")
    facts.append(f"next: {incident.next_step.step}, {incident.next_step.reason}")
    facts += incident.reasons
    if incident.url:
        links.append(("newest run", incident.url))
    if incident.revert_url:
        links.append(("revert", incident.revert_url))
    if hud_url:
        links.append(("HUD", f"{hud_url.rstrip('/')}/jobs?job={incident.jobs[0]}"))
    command = reproduce(incident) if incident.culprit else bisect_command(incident)
    return Entry(
        key=incident.incident_id,
        title=incident.summary,
        facts=tuple(facts),
        links=tuple(links),
        command=command or reproduce(incident),
    )


def _ended(each: Ended) -> Entry:
    recorded = each.recorded
    jobs = ", ".join(sorted(recorded.jobs))
    shown = str(recorded.evidence.get("line") or recorded.signature or recorded.incident_id)
    tests = sorted(recorded.tests)
    title = f"{tests[0] if tests else shown} in {jobs}"
    return Entry(key=recorded.incident_id, title=title, facts=(each.reason,))


def _losses(findings: Iterable[Finding], hud_url: str) -> Iterable[Entry]:
    for finding in list(findings)[:_FINDINGS]:
        if finding.kind not in ("regression", "provisional"):
            continue
        link = f"{hud_url.rstrip('/')}/performance?series={finding.series_id}"
        yield Entry(
            key=finding.subject,
            title=f"{finding.place} {finding.statistic}",
            facts=(finding.reason,),
            links=(("HUD", link),) if hud_url else (),
        )


def _missing(measured: NightReport | None) -> Iterable[Entry]:
    for finding in () if measured is None else measured.missing:
        yield Entry(key=finding.subject, title=str(finding.place), facts=(finding.reason,))
