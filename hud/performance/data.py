"""What the analyzer says about series: loaded in one visit to the warehouse, then held."""

from dataclasses import dataclass
from datetime import date

from gauntlet.analyzer.frontier.compare import compare_frontiers
from gauntlet.analyzer.frontier.report import FrontierReport
from gauntlet.analyzer.history.finding import Finding
from gauntlet.analyzer.history.from_store import Judged, read_history, read_judged
from gauntlet.analyzer.history.load import HistoryRequest
from gauntlet.analyzer.history.report import Described, HistoryReport, Rule
from gauntlet.analyzer.measured import Statistic
from gauntlet.analyzer.selection.sides import load_stored_sides
from gauntlet.warehouse.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Whose history: of one recipe (empty: all), one statistic, ``days`` until ``night``."""

    recipe: str
    statistic: Statistic
    night: date
    days: int

    def request(self) -> HistoryRequest:
        """The same for the analyzer."""
        return HistoryRequest(
            night=self.night,
            days=self.days,
            recipes=(self.recipe,) if self.recipe else (),
            statistics=(self.statistic,),
        )


def load_recipe(store: Store, asked: Asked) -> Judged:
    """Every series of one recipe with its history. Raises UsageError where there is none."""
    return read_judged(store, asked.request(), Rule())


def load_report(store: Store, asked: Asked) -> HistoryReport:
    """How every series stands. Raises UsageError where nothing has the statistic."""
    return read_history(store, asked.request(), Rule())


def load_frontier(store: Store, recipe: str, baseline: str, candidate: str) -> FrontierReport:
    """Compare two builds' sweeps of a recipe; both are selectors. Raises UsageError."""
    where = [f"recipe={recipe}"]
    return compare_frontiers(load_stored_sides(store, baseline, candidate, where=where))


def of_series(judged: Judged, series_id: str) -> tuple[Described | None, tuple[Finding, ...]]:
    """One series of a recipe and its findings; None where it lacks the statistic."""
    described = next((d for d in judged.described if d.series.series_id == series_id), None)
    return described, tuple(f for f in judged.report.findings if f.series_id == series_id)


def builds_of(judged: Judged) -> list[tuple[str, date]]:
    """Builds of a recipe as selectors, each with its newest night, newest first."""
    found: dict[str, date] = {}
    for described in judged.described:
        for segment in described.series.segments:
            for night in segment.nights:
                if night.measured and night.build:
                    kind = "commit" if night.engine_commit else "image"
                    name = f"{kind}:{night.build}"
                    found[name] = max(found.get(name, date.min), night.night)
    return sorted(found.items(), key=lambda pair: pair[1], reverse=True)
