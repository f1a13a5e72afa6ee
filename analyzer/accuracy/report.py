"""A verdict on accuracy for people: the outcome, the two by two table, why, and what to know."""

from collections.abc import Iterator

from gauntlet.analyzer.accuracy.outcome import AccuracyVerdict, Details, Table
from gauntlet.analyzer.verdict import Verdict


def report_lines(found: AccuracyVerdict) -> Iterator[str]:
    """Lines to print."""
    verdict, details = found.verdict, found.details
    yield f"{verdict.outcome}  {verdict.subject}"
    yield f"  {verdict.reason}"
    if details.drop is not None:
        yield ""
        yield from _scores(verdict, details)
    for stratum in details.strata:
        drop = stratum.drop
        yield (
            f"  {stratum.name}: {-100 * drop.effect + 0.0:+.2f} points"
            f" [{-100 * drop.upper:+.2f}, {-100 * drop.lower:+.2f}], n {drop.n},"
            f" {drop.losses} lost, {drop.gains} gained, weight {stratum.weight:.3f}"
        )
    for sample in details.samples:
        yield f"  {sample.item_id}: {sample.error or sample.status}: {_short(sample.answer)!r}"
    yield from _remarks(details)


def _scores(verdict: Verdict, details: Details) -> Iterator[str]:
    if details.table is not None:
        yield from _table(details.table)
    yield f"  score  {verdict.baseline:.2f} % → {verdict.candidate:.2f} %  ({verdict.method})"
    seen = details.by_eye
    if seen is not None:
        yield (
            f"  two scores by eye would say {-100 * seen.effect + 0.0:+.2f}"
            f" [{-100 * seen.upper:+.2f}, {-100 * seen.lower:+.2f}]"
            f" and see a drop of {100 * (details.detectable_by_eye_80 or 0.0):.1f} points"
            f" in four of five cases; paired, {100 * (details.detectable_80 or 0.0):.1f}"
        )


def _table(table: Table) -> Iterator[str]:
    rows = (
        ("baseline right", table.both_right, table.only_baseline),
        ("baseline wrong", table.only_candidate, table.both_wrong),
    )
    yield f"  {'':16}{'candidate right':>16}{'candidate wrong':>17}"
    for name, right, wrong in rows:
        yield f"  {name:16}{right:>16}{wrong:>17}"


def _remarks(details: Details) -> Iterator[str]:
    cut = details.truncation
    if cut is not None and (cut.baseline_share or cut.candidate_share):
        yield f"  cut answers  {cut.baseline_share:.1%} → {cut.candidate_share:.1%}"
    lost = details.unscored_baseline, details.unscored_candidate
    if any(lost):
        yield f"  without a score, left out  baseline {lost[0]}, candidate {lost[1]}"
    look, drop = details.sequential, details.drop
    if look is not None and drop is not None and look.items < drop.n:
        enough = f"{look.items} of {drop.n} questions"
        yield f"  asked in random order, {enough} would have shown {look.decision}"
    for note in details.notes:
        yield f"  note: {note}"


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:59]}…"
