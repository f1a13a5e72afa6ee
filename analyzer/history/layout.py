"""Findings for people: one heading for what has one cause, and the gravest first."""

from collections.abc import Iterable, Sequence

from gauntlet.analyzer.history.commits import joined
from gauntlet.analyzer.history.finding import KINDS, Finding
from gauntlet.analyzer.history.nightly import NightReport
from gauntlet.analyzer.history.report import HistoryReport, State
from gauntlet.analyzer.history.reruns import rerun_lines
from gauntlet.analyzer.verdict import objective_label

_WIDTH = 100
_MEMBERS = 4
_GROUPS = 6
_RERUNS = 3
# A step's place moves by two nights with the noise of its series.
_SAME_NIGHTS = 2
_PLAIN = ("missing", "invalid", "config-changed", "stale", "not-reproduced")


def history_lines(report: HistoryReport, *, everything: bool = False) -> list[str]:
    """A history: what holds now, then how many findings do not any more, then the quiet rest."""
    held = [finding for finding in report.findings if finding.open and not finding.minor]
    past = [finding for finding in report.findings if not finding.open or finding.minor]
    lines = finding_lines(held, everything=everything)
    if past:
        counts = ", ".join(f"{sum(f.kind == k for f in past)} {k}" for k in KINDS if _has(past, k))
        lines.append(
            f"over, or too small to matter: {counts}" + ("" if everything else "  (--all)")
        )
        lines += finding_lines(past, everything=True) if everything else []
    return [*lines, *state_lines(report.states)]


def _has(findings: Iterable[Finding], kind: str) -> bool:
    return any(finding.kind == kind for finding in findings)


def state_lines(states: Sequence[State]) -> list[str]:
    """How many series stand how."""
    if not states:
        return ["no series"]
    counts = {
        word: sum(state.verdict == word for state in states)
        for word in ("worse", "inconclusive", "missing", "better", "same")
    }
    said = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    return [f"{len(states)} series: {said}"]


def night_lines(report: NightReport, *, everything: bool = False) -> list[str]:
    """One night: the outcome, what is new, what is missing, what goes on."""
    lines = [f"{report.night}  {report.verdict}: {report.reason}"]
    for title, findings in (
        ("new", report.new),
        ("missing", report.missing),
        ("goes with what was announced", report.joined),
    ):
        if findings:
            lines += ["", f"{title}:", *finding_lines(findings, everything=everything)]
    if report.ongoing:
        known = finding_lines(report.ongoing, everything=everything, members=_MEMBERS * everything)
        lines += ["", "known before, and still so:", *known]
    if report.reruns.reruns:
        lines += ["", "to rerun (--reruns FILE keeps the plan):"]
        lines += rerun_lines(report.reruns, len(report.reruns.reruns) if everything else _RERUNS)
    return [*lines, "", f"{report.unchanged} of {report.series} series unchanged"]


def finding_lines(
    findings: Sequence[Finding], *, everything: bool = False, members: int = _MEMBERS
) -> list[str]:
    """Findings in groups of one kind, recipe and cause; ``members`` of each are shown."""
    groups = _groups(findings)
    shown = [g for n, g in enumerate(groups) if everything or _before(groups, n) < _GROUPS]
    lines = [
        line
        for group in shown
        for line in _group_lines(group, len(group) if everything else members)
    ]
    kinds = [group[0].kind for n, group in enumerate(groups) if group not in shown]
    if kinds:
        counts = ", ".join(f"{kinds.count(k)} {k}" for k in KINDS if k in kinds)
        lines.append(f"... and more: {counts}  (--all)")
    return lines


def _before(groups: Sequence[Sequence[Finding]], number: int) -> int:
    """How many groups of the same kind are read before this one."""
    return sum(group[0].kind == groups[number][0].kind for group in groups[:number])


def _groups(findings: Sequence[Finding]) -> list[list[Finding]]:
    """Findings of one kind and recipe that may have one cause; order as given, by their first."""
    found: list[list[Finding]] = []
    for finding in findings:
        home = next((group for group in found if _together(group[0], finding)), None)
        if home is None:
            found.append([finding])
        else:
            home.append(finding)
    return found


def _together(first: Finding, other: Finding) -> bool:
    same = _sort(first) == _sort(other)
    if not same or first.kind in ("missing", "invalid", "stale", "outlier", "variance"):
        return same
    if first.kind == "config-changed":
        return (first.night, first.differences) == (other.night, other.differences)
    if (first.commits is None) != (other.commits is None):
        return False
    return abs((first.night - other.night).days) <= _SAME_NIGHTS


def _sort(finding: Finding) -> tuple[object, ...]:
    gain = finding.loss is not None and finding.loss < 0
    return (
        finding.kind, finding.open, finding.place.recipe, finding.unit, finding.blocking, gain,
    )  # fmt: skip


def _group_lines(group: Sequence[Finding], shown: int) -> list[str]:
    first = group[0]
    lines = wrapped(f"{first.kind.upper():15} {first.place.recipe}  {_cause(group)}", " " * 16)
    members = group[:shown]
    told = len({finding.reason for finding in group}) == 1
    lines += [line for finding in members for line in _member(finding, told=told)]
    rest = group[len(members) :]
    if rest:
        count = f"... and {len(rest)} more" if shown else f"{len(rest)} series"
        lines.append(f"    {count}{_spread(rest)}")
    return lines


def _cause(group: Sequence[Finding]) -> str:
    """What the findings of a group share."""
    first = group[0]
    if first.kind in _PLAIN:
        return first.reason if len({f.reason for f in group}) == 1 else f"{len(group)} points"
    if len(group) == 1 and first.commits is None:
        return first.reason
    tail = "" if first.open or "; " not in first.reason else f"; {first.reason.rsplit('; ', 1)[1]}"
    what = f"since {first.night}" if first.kind != "outlier" else f"{len(group)} single nights"
    ranges = [finding.commits for finding in group if finding.commits is not None]
    if not ranges:
        return f"{what}{tail}"
    rerun = ": rerun" if (first.loss or 0) > 0 else ", a gain"
    asked = f"; provisional{rerun}" if first.kind == "provisional" else ""
    small = "; for information" if first.minor else ""
    return f"{what}, {joined(ranges)}{asked}{small}{tail}"


def _member(finding: Finding, *, told: bool) -> list[str]:
    where = f"{finding.place.workload} {finding.place.point}".strip()
    if finding.effect is None:
        return wrapped(f"    {where}" + ("" if told else f"  {finding.reason}"), " " * 8)
    label = objective_label("history/" + "/".join(finding.statistic))
    numbers = f"{finding.effect:+.1f} {finding.unit}"
    if finding.lower is not None and finding.upper is not None:
        numbers += f" [{finding.lower:+.1f}, {finding.upper:+.1f}]"
    if finding.before is not None and finding.after is not None:
        numbers += (
            f"  {_value(finding.before)} -> {_value(finding.after)} {finding.value_unit}".rstrip()
        )
    return wrapped(f"    {where:30.30} {label:13} {numbers}", " " * 8)


def _value(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _spread(rest: Sequence[Finding]) -> str:
    effects = [finding.effect for finding in rest if finding.effect is not None]
    if not effects:
        return ""
    return f" ({min(effects):+.1f} to {max(effects):+.1f} {rest[0].unit})"


def wrapped(text: str, indent: str) -> list[str]:
    """Break a line at words; a word that is longer than a line stays whole."""
    if len(text) <= _WIDTH:
        return [text]
    cut = text.rfind(" ", len(indent) + 1, _WIDTH + 1)
    if cut < 0:
        return [text]
    return [text[:cut].rstrip(), *wrapped(indent + text[cut + 1 :], indent)]
