"""What a bisect says at its end, as data and as text."""

from dataclasses import dataclass
from typing import Any, Literal

from gauntlet.analyzer.culprits.history import short
from gauntlet.analyzer.culprits.investigation import Found, Investigation, suspects
from gauntlet.analyzer.culprits.model import Commit

Outcome = Literal["culprit", "range", "nobody", "environment", "exhausted"]

_ENDINGS: dict[str, Outcome] = {"range": "range", "nobody": "nobody", "before": "environment"}
_MOST_SUSPECTS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One run, and what was believed after it: the likeliest commit and its probability."""

    stage: str
    sha: str
    outcome: str
    seconds: float
    evidence: str
    value: float | None
    suspect: str
    probability: float
    from_journal: bool

    def plain(self) -> dict[str, Any]:
        """As JSON."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The outcome of a bisect.

    ``culprit`` is there only where it was verified; ``others`` are further culprits, as sure.
    ``separate`` names the commit whose run would tell most, where the answer is not a culprit.
    """

    outcome: Outcome
    culprits: tuple[tuple[Commit, Found], ...]
    first: Commit
    last: Commit
    probability: float
    suspects: tuple[tuple[Commit, float, tuple[str, ...]], ...]
    runs: int
    seconds: float
    cost: float | None
    steps: tuple[Step, ...]
    reasons: tuple[str, ...]
    reproduce: str
    separate: str | None

    def plain(self) -> dict[str, Any]:
        """As JSON."""
        culprits = [_plain_culprit(commit, found) for commit, found in self.culprits]
        return {
            "outcome": self.outcome,
            "culprit": culprits[0] if culprits else None,
            "others": culprits[1:],
            "range": {"first": self.first.sha, "last": self.last.sha},
            "suspects": [
                {**_plain_commit(commit), "probability": probability, "reasons": list(reasons)}
                for commit, probability, reasons in self.suspects
            ],
            "separate": self.separate,
            "runs": self.runs,
            "seconds": round(self.seconds, 3),
            "cost": self.cost,
            "steps": [step.plain() for step in self.steps],
            "reasons": list(self.reasons),
            "reproduce": self.reproduce,
        }

    def lines(self) -> list[str]:
        """As text for people."""
        lines = [_headline(self)]
        for commit, found in self.culprits:
            who = f"{commit.author}, {commit.committed_at:%Y-%m-%d}" if commit.committed_at else ""
            lines.append(f"  {short(commit.sha)} {commit.title} ({who})")
            helps = {True: "makes", False: "does not make", None: ""}[found.alone]
            if helps:
                lines.append(f"    taking it back alone {helps} the bad commit pass")
        if not self.culprits:
            for commit, probability, reasons in self.suspects:
                because = f": {'; '.join(reasons)}" if reasons else ""
                lines.append(f"  {probability:6.1%} {short(commit.sha)} {commit.title}{because}")
            if self.separate:
                lines.append(f"  a run at {short(self.separate)} would tell most")
        lines += [f"  {reason}" for reason in self.reasons]
        cost = f", {self.cost:.2f} in money" if self.cost is not None else ""
        lines.append(f"{self.runs} runs, {self.seconds:.0f} s{cost}")
        lines.append(f"reproduce: {self.reproduce}")
        return lines


def _headline(answer: Answer) -> str:
    match answer.outcome:
        case "culprit":
            count = len(answer.culprits)
            return "culprit, verified:" if count == 1 else f"{count} culprits, verified:"
        case "range":
            return (
                f"range {short(answer.first.sha)}..{short(answer.last.sha)}: "
                "these commits cannot be told apart"
            )
        case "nobody":
            return "nobody: no commit of the range broke it"
        case "environment":
            return "environment: the good commit fails today as well"
        case "exhausted":
            return "exhausted: not proven; likeliest"


def _plain_commit(commit: Commit) -> dict[str, Any]:
    return {
        "sha": commit.sha,
        "title": commit.title,
        "author": commit.author,
        "pull_request": commit.pull_request,
    }


def _plain_culprit(commit: Commit, found: Found) -> dict[str, Any]:
    return {
        **_plain_commit(commit),
        "probability": found.probability,
        "verified": found.proof == "verified",
        "reverting_alone_repairs": found.alone,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What a bisect used."""

    runs: int
    seconds: float
    cost: float | None
    steps: tuple[Step, ...]


def answer(
    investigation: Investigation,
    clues: tuple[tuple[str, ...], ...],
    spent: Spent,
    *,
    stopped: str = "",
    reproduce: str = "",
) -> Answer:
    """Sum up an investigation that has ended, or was ``stopped`` for a reason.

    ``clues`` are the reasons of the prior, one tuple a commit.
    """
    told = investigation.conclusion
    outcome: Outcome = "exhausted"
    if told.found:
        outcome = "culprit"
    elif not stopped and told.ending in _ENDINGS:
        outcome = _ENDINGS[told.ending]
    named = suspects(investigation)
    first, last = min(p for p, _ in named), max(p for p, _ in named)
    if outcome in {"culprit", "range"}:
        first, last = max(1, told.first), told.last
    case = investigation.case
    probes = investigation.track.search.next_probes() if outcome in {"range", "exhausted"} else []
    return Answer(
        outcome=outcome,
        culprits=tuple((case.at(found.place), found) for found in told.found),
        first=case.at(first),
        last=case.at(last),
        probability=told.probability,
        suspects=tuple(
            (case.at(place), share, clues[place - 1]) for place, share in named[:_MOST_SUSPECTS]
        ),
        runs=spent.runs,
        seconds=spent.seconds,
        cost=spent.cost,
        steps=spent.steps,
        reasons=(*told.reasons, *([stopped] if stopped else [])),
        reproduce=reproduce,
        separate=case.at(probes[0]).sha if probes and outcome == "exhausted" else None,
    )
