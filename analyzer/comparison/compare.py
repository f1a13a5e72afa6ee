"""Judge repetitions of two builds: what is comparable, how large the change, what it means."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from gauntlet.analyzer.comparison.decide import decide
from gauntlet.analyzer.comparison.find import History, find_failures, find_loads, spots_of
from gauntlet.analyzer.comparison.looks import Budget
from gauntlet.analyzer.comparison.margins import Margins
from gauntlet.analyzer.comparison.objectives import (
    Unjudged,
    labels_of,
    objectives_by_margin,
    objectives_by_recipe,
)
from gauntlet.analyzer.comparison.report import PlainComparison, table
from gauntlet.analyzer.measured import Measured
from gauntlet.analyzer.verdict import Outcome, Verdict, objective_label
from gauntlet.perf_eval.judgement import LoadObjective

# What a comparison says as a whole is the first of these that a blocking verdict says: a loss that
# is proven stays one, and nothing that is not known may pass for the same.
OUTCOME_ORDER: tuple[Outcome, ...] = (
    "worse",
    "config-changed",
    "invalid",
    "missing",
    "inconclusive",
    "better",
    "same",
)
_MOST_NAMED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """All verdicts, what was measured but not judged, and what it means as a whole."""

    verdicts: tuple[Verdict, ...]
    outcome: Outcome
    reason: str
    unjudged: tuple[Unjudged, ...] = ()

    @classmethod
    def of(cls, verdicts: Sequence[Verdict], unjudged: Sequence[Unjudged] = ()) -> "Comparison":
        """Sum up verdicts by those that block."""
        outcome, reason = overall(verdicts)
        return cls(
            verdicts=tuple(verdicts), outcome=outcome, reason=reason, unjudged=tuple(unjudged)
        )

    def plain(self) -> PlainComparison:
        """As JSON."""
        return PlainComparison(
            verdict=self.outcome,
            reason=self.reason,
            verdicts=[verdict.plain() for verdict in self.verdicts],
            unjudged=[asdict(each) for each in self.unjudged],
        )

    def lines(self, *, whole: bool = False) -> list[str]:
        """As text for people: verdicts, what was not judged, and the outcome as a whole.

        ``whole``: with every verdict that only informs.
        """
        lines = table(self.verdicts, OUTCOME_ORDER, whole=whole)
        by_reason: dict[str, list[str]] = {}
        for each in self.unjudged:
            metric, _, _ = each.subject.rpartition("/")
            by_reason.setdefault(each.reason, []).append(metric)
        lines += [
            f"not judged, {why}: {', '.join(dict.fromkeys(metrics))}"
            for why, metrics in by_reason.items()
        ]
        demoted = [objective_label(v.subject) for v in self.verdicts if v.demoted]
        if demoted:
            lines.append(f"needs interleaved sides: {', '.join(demoted)}")
        blocking = [verdict for verdict in self.verdicts if verdict.blocking]
        count = sum(verdict.outcome == self.outcome for verdict in blocking)
        return [*lines, f"{self.outcome}: {count} of {len(blocking)} blocking verdicts"]


def compare_measured(
    measured: Sequence[Measured],
    *,
    margins: Margins,
    budget: Budget,
    objectives: Sequence[LoadObjective] | None = None,
    history: History | None = None,
) -> Comparison:
    """Judge every statistic of every place, their summaries, and the failed requests.

    ``objectives`` are a recipe's; without them all statistics that have a margin are judged.
    ``history`` tells the noise between sessions of what it knows. Repetitions of the side
    ``single`` belong to no comparison and are left out.
    """
    sided = [each for each in measured if each.side != "single"]
    if objectives is None:
        judged, unjudged = objectives_by_margin(sided, margins)
    else:
        judged, unjudged = objectives_by_recipe(objectives, sided, margins)
    findings = find_loads(judged, sided, common_share=margins.common_share, history=_known(history))
    by_spot = spots_of(sided)
    labels = labels_of(by_spot)
    findings += [find_failures(labels[spot], by_spot[spot]) for spot in sorted(by_spot)]
    return Comparison.of(decide(findings, budget), unjudged)


def _known(history: History | None) -> History:
    nothing: History = {}
    return nothing if history is None else history


def overall(verdicts: Sequence[Verdict]) -> tuple[Outcome, str]:
    """The first of OUTCOME_ORDER that a blocking verdict says, and why."""
    blocking = [verdict for verdict in verdicts if verdict.blocking]
    if not blocking:
        return "missing", "nothing that blocks was measured"
    by_outcome: Mapping[Outcome, list[Verdict]] = {
        outcome: [verdict for verdict in blocking if verdict.outcome == outcome]
        for outcome in OUTCOME_ORDER
    }
    worst = next(outcome for outcome in OUTCOME_ORDER if by_outcome[outcome])
    named = by_outcome[worst]
    count = f"{len(named)} of {len(blocking)} blocking objectives {worst}"
    demoted = sum(verdict.demoted for verdict in verdicts)
    if demoted:
        count += f" ({demoted} more need interleaved sides to be judged)"
    if worst == "same":
        return worst, count
    shown = "; ".join(f"{verdict.subject}: {verdict.reason}" for verdict in named[:_MOST_NAMED])
    more = f"; {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
    return worst, f"{count}: {shown}{more}"
