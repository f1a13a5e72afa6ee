"""The step that runs probes: what is suspected is run again, what is confirmed is searched."""

from gauntlet.analyzer.culprits.tonight import Night as Allowance
from gauntlet.analyzer.culprits.tonight import probe_incidents
from gauntlet.analyzer.culprits.ways import way_of
from gauntlet.analyzer.incidents.evidence import count
from gauntlet.analyzer.incidents.incident import Incident
from gauntlet.analyzer.incidents.recorded import Continued
from gauntlet.analyzer.incidents.update import IncidentRequest, look, record_searched
from gauntlet.analyzer.nightly.journal import NightFolder
from gauntlet.analyzer.nightly.night import Night, SkippedError, Told
from gauntlet.core.clock import utc_now
from gauntlet.warehouse.location import folder_beside
from gauntlet.warehouse.store import open_store

PROBES = "probes.json"


def probe(night: Night, folder: NightFolder) -> Told:
    """Search culprits within the policy's budget; what was proved is recorded at once.

    Journals stay beside the warehouse, so that a night that was killed runs nothing twice.
    Raises SkippedError where the policy names no way to run anything, and in a dry run.
    """
    if night.dry_run:
        raise SkippedError("a dry run runs no probes")
    way = way_of(night.policy, night.repository)
    if way is None:
        raise SkippedError("the policy names no way to run probes (probes.via)")
    with open_store(night.location) as store:
        request = IncidentRequest(branch=night.branch, commits=night.commits, now=night.now)
        seen = look(store, request)

    def keep(before: Continued, now: Incident) -> None:
        record_searched(before, now, night.location, at=utc_now(), run_id=night.run_id)

    allowance = Allowance(
        probes=night.policy.probes,
        folder=folder_beside(night.location, "searches"),
        now=utc_now(),
        repository=night.repository,
        recorded=seen.recorded,
    )
    found = probe_incidents(seen.picture, seen.history, way, allowance, keep)
    folder.save(
        PROBES,
        [{"id": each.incident.incident_id, "reasons": list(each.reasons)} for each in found],
    )
    proved = sum(
        each.incident.culprit is not None and each.incident.culprit.verified for each in found
    )
    runs = sum(each.search.runs for each in found if each.search is not None)
    detail = f"{count(len(found), 'incident')} searched with {count(runs, 'run')}, {proved} proved"
    failed = [f"{each.incident.incident_id}: {each.error}" for each in found if each.error]
    return Told(detail="; ".join([detail, *failed]))
