"""Findings of a night, recorded or judged, as lines: one for what may have one cause. Pure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from pydantic import BaseModel, ValidationError

from gauntlet.analyzer.history.commits import short
from gauntlet.analyzer.history.finding import Finding
from gauntlet.analyzer.verdict import objective_label
from gauntlet.hud import palette
from gauntlet.hud.shell.times import NONE
from gauntlet.hud.shell.view import View

REGRESSED, BETTER, FIXED = "Newly regressed", "Newly better", "Fixed"
CHANGED, OTHER, MISSING, STALE = (
    "Configuration changed",
    "Otherwise changed",
    "Missing points",
    "Stale series",
)
SECTIONS = (REGRESSED, BETTER, CHANGED, FIXED, OTHER, MISSING, STALE)
_SECTION_OF = {
    "regression": REGRESSED,
    "improvement": BETTER,
    "recovery": FIXED,
    "not-reproduced": FIXED,
    "config-changed": CHANGED,
    "missing": MISSING,
    "invalid": MISSING,
    "stale": STALE,
}
_VERDICT_OF = {
    "regression": "worse",
    "provisional": "inconclusive",
    "improvement": "better",
    "recovery": "better",
    "not-reproduced": "same",
    "config-changed": "config-changed",
    "missing": "missing",
    "invalid": "invalid",
    "stale": "missing",
}
_TOP = 12


class Between(BaseModel):
    """The builds around a change; either is empty, and the count None, where it is not known."""

    after: str = ""
    until: str = ""
    commits: int | None = None
    after_night: str = ""
    until_night: str = ""


class Told(BaseModel):
    """A finding as its JSON keeps it; what a record leaves out is None or empty."""

    kind: str
    reason: str = ""
    recipe: str = ""
    workload: str = ""
    point: str = ""
    series_id: str = ""
    metric: str = ""
    statistic: str = ""
    night: str = ""
    effect: float | None = None
    interval: tuple[float, float] | None = None
    unit: str = "%"
    loss: float | None = None
    method: str = ""
    commits: Between | None = None

    @property
    def section(self) -> str:
        """The heading that it stands under."""
        if self.kind in _SECTION_OF:
            return _SECTION_OF[self.kind]
        if self.loss is None:
            return OTHER
        return REGRESSED if self.loss > 0 else BETTER

    @property
    def way(self) -> str:
        """Which way it went."""
        if self.loss is None or self.loss == 0:
            return "changed"
        return "worse" if self.loss > 0 else "better"

    @property
    def of_answers(self) -> bool:
        """Whether it is about a score of answers, not about speed."""
        return self.unit == "points" or self.method.startswith("harness")

    @property
    def label(self) -> str:
        """The statistic as people read it."""
        return objective_label(f"history/{self.metric}/{self.statistic}") if self.metric else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Findings of one kind, recipe and night: the largest, and how many series there are."""

    largest: Told
    series: int


def told(findings: Iterable[Finding]) -> list[Told]:
    """Findings that were judged just now."""
    return [Told.model_validate(finding.plain()) for finding in findings]


def recorded(rows: Iterable[Mapping[str, Any]]) -> list[Told]:
    """Alerts as they were recorded; one whose evidence cannot be read keeps its sentence."""
    return [_recorded(row) for row in rows]


def _recorded(row: Mapping[str, Any]) -> Told:
    plain = Told(kind=str(row["outcome"]), reason=str(row["reason"]), recipe=str(row["subject"]))
    try:
        found = Told.model_validate_json(row["evidence"])
    except ValidationError:
        return plain  # said by its sentence and its subject
    return found.model_copy(update={"kind": plain.kind, "reason": plain.reason})


def lines(findings: Sequence[Told]) -> list[Line]:
    """One line for findings that may have one cause, in the order of their first."""
    groups: dict[object, list[Told]] = {}
    for finding in findings:
        key = (finding.kind, finding.recipe, finding.night, finding.way, finding.of_answers)
        groups.setdefault(key, []).append(finding)
    return [
        Line(
            largest=max(group, key=lambda each: abs(each.effect or 0.0)),
            series=len({each.series_id for each in group}),
        )
        for group in groups.values()
    ]


def effect_text(finding: Told) -> str:
    """The change with its interval, and which way that is; a dash where there is no number."""
    if finding.effect is None:
        return NONE
    between = ""
    if finding.interval is not None:
        between = f" [{finding.interval[0]:+.1f}, {finding.interval[1]:+.1f}]"
    return f"{finding.effect:+.1f} {finding.unit}{between}, {finding.way}"


def line_frame(found: Sequence[Line], view: View) -> pd.DataFrame:
    """Lines as a table with links to the series and to the two builds."""
    return pd.DataFrame([_line(each, view) for each in found])


def _line(line: Line, view: View) -> dict[str, object]:
    finding = line.largest
    if finding.of_answers:
        series = view.link("accuracy", series=finding.series_id, task=finding.metric)
    else:
        series = view.link("performance", series=finding.series_id)
    verdict = _VERDICT_OF.get(finding.kind) or (
        finding.way if finding.way != "changed" else "inconclusive"
    )
    return {
        "verdict": palette.signed(palette.VERDICTS, verdict),
        "kind": finding.kind,
        "recipe": finding.recipe,
        "where": f"{finding.workload} {finding.point}".strip(),
        "statistic": finding.label,
        "effect": effect_text(finding),
        "series": line.series,
        "since": finding.night or NONE,
        "commits": commits_text(finding.commits),
        "compare": _compare(finding, view.link),
        "history": series if finding.series_id else None,
        "why": finding.reason,
    }


def commits_text(commits: Between | None) -> str:
    """The builds around a change and how many commits lie between them, where it is known."""
    if commits is None:
        return NONE
    if not commits.after or not commits.until:
        return f"{commits.after_night}..{commits.until_night}, builds not known"
    text = f"{short(commits.after)}..{short(commits.until)}"
    number = commits.commits
    if number is None:
        return f"{text}, number not known"
    return f"{text}, {number} commit{'s' * (number != 1)}"


def _compare(finding: Told, link: Callable[..., str]) -> str | None:
    commits = finding.commits
    if commits is None or finding.of_answers or not commits.after or not commits.until:
        return None
    return link("compare", baseline=_selector(commits.after), candidate=_selector(commits.until))


def _selector(build: str) -> str:
    return f"image:{build}" if build.startswith("sha256:") else f"commit:{build}"


def top_changes(findings: Sequence[Told]) -> pd.DataFrame:
    """The largest changes of values in per cent, at most a dozen; those of a spread are none."""
    measured = [
        each
        for each in findings
        if each.effect is not None and each.loss is not None and each.unit == "%"
    ]
    largest = sorted(measured, key=lambda each: -abs(each.effect or 0.0))[:_TOP]
    return pd.DataFrame(
        [
            {
                "what": " ".join(
                    part for part in (each.recipe, each.workload, each.point, each.label) if part
                ),
                "effect": each.effect,
                "low": None if each.interval is None else each.interval[0],
                "high": None if each.interval is None else each.interval[1],
                "way": each.way,
                "kind": each.kind,
                "said": effect_text(each),
            }
            for each in largest
        ]
    )
