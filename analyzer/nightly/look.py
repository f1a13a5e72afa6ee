"""The steps that look: measurements judged, failures classified, incidents found."""

from collections import Counter
from datetime import timedelta

from gauntlet.analyzer.failures.rules import load_rules
from gauntlet.analyzer.failures.stored import StoredRequest, classify_stored
from gauntlet.analyzer.history.from_store import NightRequest, read_night
from gauntlet.analyzer.history.nightly import NightReport, record
from gauntlet.analyzer.incidents.evidence import count
from gauntlet.analyzer.incidents.update import IncidentRequest, Picture, picture
from gauntlet.analyzer.incidents.update import record as record_incidents
from gauntlet.analyzer.nightly.journal import NightFolder
from gauntlet.analyzer.nightly.night import Night, SkippedError, Told
from gauntlet.core.errors import ExitCode
from gauntlet.core.files import write_atomic
from gauntlet.core.json_file import json_text
from gauntlet.warehouse.store import open_store

INCIDENTS = "incidents.json"
RERUNS = "reruns.json"
# A failure of the day before may have come in late.
_CLASSIFIED_DAYS = 3


def measured(night: Night) -> NightReport | None:
    """The judgement of the night's measurements; None where none were ever made."""
    with open_store(night.location) as store:
        if not store.query("known_series"):
            return None
        report, _ = read_night(store, NightRequest(night=night.date, branch=night.branch))
    return report


def judge(night: Night, folder: NightFolder) -> Told:
    """Judge the night's measurements and record what is new.

    Raises SkippedError where no series was ever measured.
    """
    with open_store(night.location) as store:
        if not store.query("known_series"):
            raise SkippedError("no nightly measurement was ever brought in")
        report, alerts = read_night(store, NightRequest(night=night.date, branch=night.branch))
    write_atomic(folder.folder / RERUNS, json_text(report.reruns))
    if not night.dry_run:
        record(report, alerts, night.location, night.now)
    code = ExitCode.OK
    if report.regressions:
        code = ExitCode.NOT_QUALIFIED
    elif report.verdict in ("missing", "invalid"):
        code = ExitCode.INVALID_MEASUREMENT
    return Told(detail=f"{report.verdict}: {report.reason}", exit_code=code)


def classify(night: Night, folder: NightFolder) -> Told:
    """Classify failures that nobody has classified."""
    del folder
    days = max(_CLASSIFIED_DAYS, (night.now - night.since) // timedelta(days=1) + 1)
    request = StoredRequest(location=night.location, days=days, dry_run=night.dry_run)
    found = classify_stored(request, load_rules())
    classes = Counter(each.told.failure_class for each in found)
    shown = ", ".join(f"{number} {name}" for name, number in classes.most_common(6))
    return Told(detail=f"{count(len(found), 'failure')}{f': {shown}' if shown else ''}")


def look_at(night: Night) -> Picture:
    """The incidents of the branch as they stand."""
    request = IncidentRequest(branch=night.branch, commits=night.commits, now=night.now)
    with open_store(night.location) as store:
        return picture(store, request)


def incidents(night: Night, folder: NightFolder) -> Told:
    """Find incidents, record what is new of them, and keep which of them are of this night.

    What is of this night is on disk before it is recorded: after a kill between the two it is
    still known as new.
    """
    found = look_at(night)
    known = folder.load(INCIDENTS)
    new = {each.incident.incident_id for each in found.open if each.recorded is None}
    ended = {
        each.recorded.incident_id: {
            "title": _title(each.recorded.evidence, each.recorded.incident_id),
            "reason": each.reason,
        }
        for each in found.ended
    }
    folder.save(
        INCIDENTS,
        {
            "new": sorted({*known.get("new", ()), *new}),
            "ended": {**known.get("ended", {}), **ended},
        },
    )
    if not night.dry_run:
        record_incidents(found, night.location, run_id=night.run_id)
    worst = ExitCode.NOT_QUALIFIED if _confirmed(found, new) else ExitCode.OK
    detail = f"{len(new)} new, {len(found.incidents)} open, {len(found.ended)} ended"
    return Told(detail=detail, exit_code=worst)


def _confirmed(found: Picture, new: set[str]) -> bool:
    return any(i.status == "confirmed" and i.incident_id in new for i in found.incidents)


def _title(evidence: object, incident_id: str) -> str:
    if not isinstance(evidence, dict):
        return incident_id
    tests, jobs = evidence.get("tests") or (), evidence.get("jobs") or ()
    what = tests[0] if tests else evidence.get("line") or evidence.get("signature") or incident_id
    return f"{what} in {', '.join(jobs)}"
