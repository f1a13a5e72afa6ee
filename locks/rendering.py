"""What compiling and checking came to, for people and for programs."""

import json
from collections.abc import Iterator
from dataclasses import asdict

from gauntlet.core.errors import ConfigError, InfrastructureError, NotQualifiedError
from gauntlet.core.findings import Finding, errors_of
from gauntlet.core.words import number_of
from gauntlet.locks.checking import CheckReport, LockReport
from gauntlet.locks.compiling import Compiled, CompilePlan


def compiled_lines(plan: CompilePlan) -> Iterator[str]:
    """One line a package that changed, one a lock where none did."""
    for compiled in plan.locks:
        if compiled.error:
            continue
        for name, old, new in compiled.changes:
            yield f"{compiled.name}: {name} {old or '(none)'} -> {new or '(gone)'}"
        if not compiled.changes:
            yield f"{compiled.name}: {_unchanged(compiled)}"


def raise_failures(plan: CompilePlan) -> None:
    """Raise what kept locks from compiling: all problems of inputs, else the first other error."""
    errors = [each.error for each in plan.failed if each.error]
    others = [error for error in errors if not isinstance(error, ConfigError)]
    if others:
        raise others[0]
    problems = [
        each for error in errors if isinstance(error, ConfigError) for each in error.problems
    ]
    if problems:
        raise ConfigError(problems, hint=errors[0].hint)


def check_text(report: CheckReport) -> str:
    """A line a lock, then what was found with its remedy, then what was not run."""
    width = max([len(each.name) for each in report.locks], default=0)
    lines = [_line(each, width) for each in report.locks]
    for finding in report.findings:
        lines += [
            "",
            f"{finding.level}: {finding.check}: {finding.subject}",
            f"  {finding.message}",
        ]
        lines += [f"  remedy: {finding.remedy}"] if finding.remedy else []
    lines += [""] if report.not_run else []
    lines += [f"not run: {each}" for each in report.not_run]
    return "\n".join(lines) + "\n"


def check_json(report: CheckReport) -> str:
    """The same as data."""
    value = {
        "locks": [
            {
                "name": each.name,
                "pins": each.pins,
                "platforms": list(each.platforms),
                "seconds": round(each.seconds, 3),
                "findings": [asdict(finding) for finding in each.findings],
                "not_run": list(each.not_run),
                "at_its_word": list(each.at_its_word),
            }
            for each in report.locks
        ],
        "folder": [asdict(finding) for finding in report.folder],
    }
    return json.dumps(value, indent=1) + "\n"


def raise_findings(report: CheckReport) -> None:
    """Raise NotQualifiedError where there are errors, InfrastructureError where a check is owed."""
    errors = errors_of(report.findings)
    if errors:
        msg = f"{number_of(len(errors), 'finding')} in {_subjects(errors)}"
        raise NotQualifiedError(msg, hint="each has its remedy above")
    if report.not_run:
        msg = f"{number_of(len(report.not_run), 'check was', 'checks were')} not run"
        raise InfrastructureError(msg, hint="what kept them from it stands above")


def _line(report: LockReport, width: int) -> str:
    errors = len(errors_of(report.findings))
    warnings = len(report.findings) - errors
    sound = "not run" if report.not_run else "sound"
    state = number_of(errors, "error") if errors else sound
    state += f", {number_of(warnings, 'warning')}" if warnings else ""
    if report.at_its_word:
        names = ", ".join(key.partition("==")[0] for key in report.at_its_word)
        state += f"; {len(report.at_its_word)} taken at the lock's word: {names}"
    where = ", ".join(report.platforms)
    pins = "pin " if report.pins == 1 else "pins"
    return (
        f"{report.name:{width}}  {report.pins:4} {pins}  {where:24}"
        f"  {report.seconds:5.1f} s  {state}"
    )


def _subjects(errors: list[Finding]) -> str:
    files = dict.fromkeys(each.subject.split(":")[0].split()[0] for each in errors)
    return ", ".join(files)


def _unchanged(compiled: Compiled) -> str:
    same = compiled.before == compiled.after
    return "unchanged" if same else "the same versions, other lines"
