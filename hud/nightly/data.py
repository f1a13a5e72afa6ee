"""What the analyzer says of one night."""

from datetime import date

from gauntlet.analyzer.history.from_store import NightRequest, read_night
from gauntlet.analyzer.history.nightly import NightReport
from gauntlet.warehouse.store import Store


def report_of(store: Store, *, night: date, days: int) -> NightReport:
    """Judge one night by as many nights before it."""
    report, _ = read_night(store, NightRequest(night=night, days=days))
    return report
