"""Which incidents are searched tonight, and what came of it."""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from gauntlet.analyzer.acting.policy import Probes
from gauntlet.analyzer.culprits.incident import IncidentSearch, search_incident
from gauntlet.analyzer.culprits.incident_case import SearchSettings
from gauntlet.analyzer.culprits.journal import runs_since
from gauntlet.analyzer.culprits.restarts import restart_incident
from gauntlet.analyzer.culprits.run import Budget
from gauntlet.analyzer.culprits.ways import Way
from gauntlet.analyzer.incidents.history import History
from gauntlet.analyzer.incidents.incident import Incident, Recorded
from gauntlet.analyzer.incidents.recorded import Continued
from gauntlet.analyzer.incidents.update import Picture
from gauntlet.core.errors import GauntletError

_LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """What a night may use, where it keeps its journals, and what helps it to look."""

    probes: Probes
    folder: Path
    now: datetime
    repository: Path | None = None
    recorded: Sequence[Recorded] = ()
    tell: Callable[[str], None] = field(default=lambda _line: None)


@dataclass(frozen=True, slots=True, kw_only=True)
class NightProbe:
    """What came of one incident: a search, or the error that ended it, or why there was none."""

    before: Continued
    search: IncidentSearch | None
    error: str = ""

    @property
    def incident(self) -> Incident:
        """The incident as it is now."""
        return self.before.incident if self.search is None else self.search.incident

    @property
    def reasons(self) -> tuple[str, ...]:
        """Sentences for the report."""
        if self.search is None:
            return (self.error,)
        return (self.search.refused,) if self.search.refused else self.search.reasons


def probe_incidents(
    picture: Picture,
    history: History,
    way: Way | None,
    night: Night,
    keep: Callable[[Continued, Incident], object] = lambda _before, _now: None,
) -> list[NightProbe]:
    """Restart what is suspected and search what is confirmed, the gravest first, within budget.

    ``keep`` is called with what changed as soon as it is known, to record it. Each incident has a
    journal of its own: what was run is not run again. Whatever goes wrong with one keeps no other
    back. Without a way nothing is run.
    """
    if way is None:
        return []
    found: list[NightProbe] = []
    for before in chosen(picture)[: night.probes.most_incidents]:
        try:
            search = search_now(before.incident, history, way, lambda: settings_of(night))
        except GauntletError as error:
            _LOGGER.warning("%s: %s", before.incident.incident_id, error.message)
            found.append(NightProbe(before=before, search=None, error=error.message))
            continue
        if search.changed:
            keep(before, search.incident)
        found.append(NightProbe(before=before, search=search))
    return found


def chosen(picture: Picture) -> list[Continued]:
    """Incidents for which runs are wanted: confirmed ones, then suspected ones, gravest first."""
    wanted = [
        each
        for each in picture.open
        if (each.recorded is None or each.recorded.outcome != "ignored")
        and each.incident.kind == "commits"
        and each.incident.next_step.step in ("verify", "bisect", "restart")
        and not (each.incident.culprit and each.incident.culprit.verified)
    ]
    return sorted(wanted, key=lambda each: each.incident.next_step.step == "restart")


def search_now(
    incident: Incident, history: History, way: Way, settings: Callable[[], SearchSettings]
) -> IncidentSearch:
    """Restart, where that is due, and go on to the search where that confirms it.

    ``settings`` are asked for before either: what is left of a budget changes.
    """
    first: IncidentSearch | None = None
    if incident.next_step.step == "restart":
        first = restart_incident(incident, history, way, settings())
        if first.refused or first.incident.next_step.step not in ("verify", "bisect"):
            return first
        incident = first.incident
    search = search_incident(incident, history, way, settings())
    if first is None:
        return search
    if search.refused:
        return replace(first, reasons=(*first.reasons, search.refused))
    return replace(
        search,
        runs=first.runs + search.runs,
        seconds=first.seconds + search.seconds,
        reasons=(*first.reasons, *search.reasons),
    )


def settings_of(night: Night, *, asked: bool = False) -> SearchSettings:
    """What a search may use now; the budget of the night does not bind who ``asked`` by hand."""
    probes = night.probes
    return SearchSettings(
        folder=night.folder,
        repository=night.repository,
        budget=Budget(
            runs=probes.runs_per_incident,
            minutes=probes.minutes_per_incident,
            price_per_minute=probes.price_per_minute,
        ),
        allowance=Budget() if asked else _left(night),
        lags=lags_of(night.recorded),
        tell=night.tell,
    )


def _left(night: Night) -> Budget:
    """What is left of the night's budget; a night that was interrupted has used its part."""
    probes = night.probes
    midnight = night.now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    runs, seconds = runs_since(night.folder, midnight)
    price = probes.price_per_minute
    money = probes.money_per_night
    if money is not None and price is not None:
        money = max(0.0, money - seconds / 60 * price)
    return Budget(runs=max(0, probes.runs_per_night - runs), money=money, price_per_minute=price)


def lags_of(recorded: Iterable[Recorded]) -> tuple[int, ...]:
    """How many commits before its first failure each proven culprit stood."""
    found = []
    for each in recorded:
        culprit, suspects = each.evidence.get("culprit"), list(each.evidence.get("suspects", ()))
        if culprit and culprit.get("verified") and culprit.get("sha") in suspects:
            found.append(len(suspects) - 1 - suspects.index(culprit["sha"]))
    return tuple(found)
