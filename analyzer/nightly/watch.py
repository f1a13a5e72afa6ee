"""The step that watches the fleet: alerts open and close, bad hosts are taken out."""

from gauntlet.analyzer.acting.permit import permit_of
from gauntlet.analyzer.alerts.check import check_alerts, raise_for
from gauntlet.analyzer.alerts.edges import alert_request
from gauntlet.analyzer.alerts.layout import alert_entries, unread_words
from gauntlet.analyzer.incidents.evidence import count
from gauntlet.analyzer.nightly.journal import NightFolder
from gauntlet.analyzer.nightly.night import Night, Told
from gauntlet.core.errors import ExitCode, GauntletError

ALERTS = "alerts.json"


def watch(night: Night, folder: NightFolder) -> Told:
    """Look at the fleet as it is now, record what is news, drain as far as the policy allows."""
    permit = permit_of(night.policy, night.host)
    with alert_request(
        night.location, policy=night.policy, rules=None, permit=permit, dry_run=night.dry_run
    ) as request:
        results = check_alerts(request)
    unread = unread_words(results)
    folder.save(
        ALERTS,
        {"entries": [entry.plain() for entry in alert_entries(results)], "unread": list(unread)},
    )
    code = ExitCode.OK
    try:
        raise_for(results)
    except GauntletError as error:
        code = error.exit_code
    told = f"{count(len(results.open), 'alert')} open"
    return Told(detail=f"{told}; not read: {'; '.join(unread)}" if unread else told, exit_code=code)
