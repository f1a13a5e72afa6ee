"""Compare a decision with the one that another revision makes: of the definitions or of Gauntlet.

Both decide on the same changes and options, so whatever differs comes from the revision.
"""

import difflib
import shlex
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from gauntlet.core.errors import ExternalServiceError, UsageError
from gauntlet.core.proc import run
from gauntlet.core.yaml_file import StrictModel, read_text
from gauntlet.pipelines import artifacts
from gauntlet.pipelines.decide import DecideRequest, DecisionResult, decide
from gauntlet.pipelines.definitions.files import read_files_at

_TIMEOUT_S = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffRequest:
    """What to compare a request with: a git revision of its definitions, or another Gauntlet.

    ``gauntlet`` is a command line whose first word is a program.
    """

    request: DecideRequest
    revision: str | None = None
    gauntlet: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """What a revision made: each job's decision and rule, and the steps of the pipeline."""

    name: str
    decisions: Mapping[str, tuple[str, str]]
    steps: Mapping[str, str]


class JobChange(StrictModel):
    """A job of which the two revisions make something else; None where it does not exist."""

    key: str
    before: str | None
    after: str | None
    rule_before: str | None
    rule_after: str | None


class StepChange(StrictModel):
    """A step of both pipelines whose content differs, as a unified diff of its YAML."""

    key: str
    diff: str


class DiffRecord(StrictModel):
    """All that differs between two revisions. ``before`` names the other one."""

    before: str
    jobs: tuple[JobChange, ...]
    steps: tuple[StepChange, ...]

    @property
    def differs(self) -> bool:
        """Whether anything does."""
        return bool(self.jobs or self.steps)


def other_result(asked: DiffRequest) -> Made:
    """Let the other revision decide.

    Raises UsageError for a revision that there is not, ExternalServiceError where the other
    Gauntlet fails.
    """
    if (asked.revision is None) == (asked.gauntlet is None):
        msg = "say what to compare with: a git revision of the definitions, or --gauntlet EXE"
        raise UsageError(msg)
    if asked.gauntlet is not None:
        return _by_other_gauntlet(asked.request, asked.gauntlet)
    request = asked.request
    if request.root is None:
        msg = "the definitions are in no checkout, so there is no other revision of them"
        raise UsageError(msg, hint="give --definitions DIR, a git checkout")
    files = read_files_at(request.root, str(asked.revision), request.files.config.path)
    return made(decide(replace(request, files=files)), name=str(asked.revision))


def made(result: DecisionResult, *, name: str) -> Made:
    """Reduce a decision to what is compared."""
    return _made(artifacts.selection_record(result.selection), result.pipeline_yaml, name)


def diff_record(before: Made, result: DecisionResult) -> DiffRecord:
    """Compare. Pure."""
    after = made(result, name="this")
    keys = sorted({*before.decisions, *after.decisions})
    jobs = []
    for key in keys:
        old, new = before.decisions.get(key), after.decisions.get(key)
        if (old and old[0]) != (new and new[0]):
            jobs.append(
                JobChange(
                    key=key,
                    before=old[0] if old else None,
                    after=new[0] if new else None,
                    rule_before=old[1] if old else None,
                    rule_after=new[1] if new else None,
                )
            )
    both = sorted(set(before.steps) & set(after.steps))
    steps = [
        StepChange(key=key, diff=_unified(before.steps[key], after.steps[key]))
        for key in both
        if before.steps[key] != after.steps[key]
    ]
    return DiffRecord(before=before.name, jobs=tuple(jobs), steps=tuple(steps))


def diff_lines(record: DiffRecord) -> Iterator[str]:
    """Say what differs, for people."""
    if not record.differs:
        yield f"the same jobs and the same steps as {record.before}"
        return
    yield (
        f"against {record.before}: {len(record.jobs)} job(s) decided otherwise, "
        f"{len(record.steps)} step(s) with other content"
    )
    for job in record.jobs:
        before = f"{job.before} ({job.rule_before})" if job.before else "no such job"
        after = f"{job.after} ({job.rule_after})" if job.after else "no such job"
        yield f"{job.key}: {before} -> {after}"
    for step in record.steps:
        yield f"{step.key}:"
        yield from (f"  {line}" for line in step.diff.splitlines())


def _by_other_gauntlet(request: DecideRequest, command: str) -> Made:
    """Replay the recorded inputs with another installation, which must read our parameters."""
    with tempfile.TemporaryDirectory(prefix="gauntlet-diff-") as folder:
        root = Path(folder)
        parameters = root / artifacts.PARAMETERS
        parameters.write_text(request.parameters_json(), encoding="utf-8")
        pipeline = root / artifacts.PIPELINE
        argv = [*shlex.split(command), "pipelines", "replay", str(parameters)]
        argv += ["--out", str(pipeline), "--artifacts", str(root / "made")]
        done = run(argv, timeout=_TIMEOUT_S, check=False)
        selection = root / "made" / artifacts.SELECTION
        if not pipeline.is_file() or not selection.is_file():
            said = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
            msg = f"{command} could not replay this decision (exit {done.returncode}): {said}"
            raise ExternalServiceError(msg, hint="it must read this version's parameters.json")
        record = yaml.safe_load(read_text(selection))
        return _made(record, read_text(pipeline), command)


def _made(record: Mapping[str, Any], pipeline_yaml: str, name: str) -> Made:
    return Made(
        name=name,
        decisions={job["key"]: (job["decision"], job["rule"]) for job in record["jobs"]},
        steps=dict(_steps(yaml.load(pipeline_yaml, Loader=yaml.CSafeLoader)["steps"])),
    )


def _steps(steps: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    for step in steps:
        if "group" in step:
            yield from _steps(step["steps"])
        else:
            yield str(step.get("key")), yaml.safe_dump(step, sort_keys=True, width=1 << 20)


def _unified(before: str, after: str) -> str:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=1)
    # The first two lines name files, and there are none.
    return "\n".join(list(lines)[2:])
