"""What was found out about a candidate's artifacts, and the gate that it makes."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Literal

from gauntlet.core.files import write_atomic
from gauntlet.core.findings import Finding
from gauntlet.core.yaml_file import StrictModel, load_model
from gauntlet.release.artifacts import Artifact
from gauntlet.release.gates.model import GateResult, Problem
from gauntlet.release.matrix.model import Matrix
from gauntlet.release.smoke.result import SmokeResult
from gauntlet.release.state import Candidate


class BuildReport(StrictModel):
    """Everything that was checked about the artifacts of one candidate.

    ``checked`` are the digests that the findings are about: another artifact was not checked.
    """

    schema_version: Literal[1] = 1
    candidate: str
    commit: str
    at: datetime
    checked: tuple[str, ...]
    findings: tuple[Finding, ...] = ()
    smoke: tuple[SmokeResult, ...] = ()


def report_file(folder: Path) -> Path:
    """Where the report of a candidate is, in the candidate's folder."""
    return folder / "report.json"


def save_report(folder: Path, report: BuildReport) -> None:
    """Keep a report; a crash leaves the one before or this one."""
    write_atomic(report_file(folder), report.model_dump_json(indent=2) + "\n", fsync=True)


def find_report(folder: Path) -> BuildReport | None:
    """Read a candidate's report; None where nothing was checked yet.

    Raises ConfigError where the file is damaged.
    """
    path = report_file(folder)
    return load_model(path, BuildReport) if path.exists() else None


def artifacts_gate(folder: Path, candidate: Candidate, matrix: Matrix) -> GateResult:
    """Decide whether a candidate's artifacts are all there, sound, and were tried."""
    report = find_report(folder)
    artifacts = candidate.artifacts
    problems = [
        *_missing(artifacts, matrix),
        *_unchecked(artifacts, report),
        *_findings(report),
        *_untried(artifacts, report),
    ]
    warnings = () if report is None else (f for f in report.findings if f.level == "warning")
    return GateResult(
        name="artifacts",
        problems=tuple(problems),
        notes=tuple(f"{each.subject}: {each.message}" for each in warnings),
        numbers=(
            ("wheels", sum(each.kind == "wheel" for each in artifacts)),
            ("images", sum(each.kind == "image" for each in artifacts)),
            ("smoke tests", 0 if report is None else len(report.smoke)),
        ),
        evidence=tuple(each.digest for each in artifacts),
    )


def _missing(artifacts: Iterable[Artifact], matrix: Matrix) -> Iterator[Problem]:
    have = {(each.kind, each.cell) for each in artifacts}
    wanted = [("wheel", cell.id) for cell in matrix.wheels]
    wanted += [("image", cell.id) for cell in matrix.images]
    wanted += [("sdist", "")] if matrix.sdist else []
    for kind, cell in wanted:
        if (kind, cell) not in have:
            name = cell or kind
            message = f"there is no {kind}{f' of the cell {cell}' if cell else ''}"
            remedy = "build it and collect it: release build --collect"
            yield Problem(key=f"cell/{name}", state="MISSING", message=message, remedy=remedy)


def _unchecked(artifacts: Iterable[Artifact], report: BuildReport | None) -> Iterator[Problem]:
    checked = set() if report is None else set(report.checked)
    for each in artifacts:
        if each.digest not in checked:
            message = f"{each.name} ({each.digest[7:17]}) was not checked"
            yield Problem(
                key=f"unchecked/{each.cell or each.kind}",
                state="MISSING",
                message=message,
                remedy="release build looks at everything again",
            )


def _findings(report: BuildReport | None) -> Iterator[Problem]:
    for each in () if report is None else report.findings:
        if each.level == "error":
            yield Problem(
                key=f"{each.check}/{each.subject}",
                state="FAIL",
                message=f"{each.subject}: {each.message}",
                remedy=each.remedy,
            )


def _untried(artifacts: Iterable[Artifact], report: BuildReport | None) -> Iterator[Problem]:
    """Every artifact that people run has to have been run; an sdist is checked by building it."""
    newest = {} if report is None else {each.digest: each for each in report.smoke}
    for each in artifacts:
        if each.kind == "sdist":
            continue
        result = newest.get(each.digest)
        key = f"smoke/{each.cell}"
        if result is None or result.outcome == "missing":
            why = "nobody tried it" if result is None else _why(result)
            message = f"{each.name} ({each.cell}): {why}"
            remedy = f"run release smoke --cell {each.cell} on a machine of its platform"
            yield Problem(key=key, state="MISSING", message=message, remedy=remedy)
        elif result.outcome == "fail":
            message = f"{each.name} ({each.cell}) on {result.host}: {_why(result)}"
            yield Problem(key=key, state="FAIL", message=message)


def _why(result: SmokeResult) -> str:
    """What went wrong, in one line: the first finding without the log below it."""
    said = [finding.message.partition("\n")[0] for finding in result.findings]
    return said[0] if said else "it answered nothing"
