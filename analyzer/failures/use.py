"""Classify logs as a command does: rules, green logs and files in, text out."""

import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from gauntlet.analyzer.failures.adviser import Adviser, HttpAdviser, advised
from gauntlet.analyzer.failures.engine import scan
from gauntlet.analyzer.failures.evidence import Evidence, classify
from gauntlet.analyzer.failures.lint import lint
from gauntlet.analyzer.failures.model import Circumstances, Classification
from gauntlet.analyzer.failures.novelty import GreenTemplates, Novelty, learn, save
from gauntlet.analyzer.failures.rules import RuleSet, load_rules
from gauntlet.core.errors import ConfigError, UsageError
from gauntlet.warehouse.reports.source import CHUNK, file_chunks


def check_arguments(logs: int, *, stored: bool, check_rules: bool, saving: bool) -> None:
    """Refuse what does not go together. Raises UsageError."""
    if logs and (stored or check_rules):
        option = "--stored" if stored else "--check-rules"
        raise UsageError(f"{option} beside logs", hint="give one or the other")
    if not (logs or stored or check_rules or saving):
        raise UsageError("no log to classify", hint="give paths of logs, - for stdin, or --stored")


def rules_of(folder: Path | None) -> RuleSet:
    """The rules to use. Raises ConfigError."""
    return load_rules(folder)


def checked(rules: RuleSet) -> str:
    """Check rules and say how many there are. Raises ConfigError with every fault."""
    faults = lint(rules)
    if faults:
        raise ConfigError(faults)
    return f"{len(rules.rules)} rules are sound (digest {rules.digest})"


def templates_of(green: Sequence[Path], save_as: Path | None) -> GreenTemplates | None:
    """Learn from green logs, and keep that where it was asked. Raises UsageError."""
    if not green:
        if save_as is not None:
            raise UsageError("--save-green without --green", hint="name logs that passed")
        return None
    learnt = learn(green)
    if save_as is not None:
        save(learnt, save_as)
    return learnt


def classify_log(
    path: Path,
    circumstances: Circumstances,
    rules: RuleSet,
    green: GreenTemplates | None = None,
    adviser: Adviser | None = None,
) -> Classification:
    """Classify one log; ``-`` is stdin. Raises UnreadableReportError where it cannot be read."""
    chunks = _stdin() if str(path) == "-" else file_chunks(path)
    found = scan(chunks, rules, Novelty(green) if green is not None else None)
    told = classify(Evidence(circumstances=circumstances, scan=found))
    if found.lines == 0:
        return Classification(
            failure_class=told.failure_class, retryable=told.retryable, confidence=told.confidence,
            line=None, text="", signature=told.signature, wrong_exit_code=told.wrong_exit_code,
            source=told.source, owner=told.owner, reasons=(*told.reasons, "the log is empty"),
        )  # fmt: skip
    if adviser is None:
        return told
    lines = [*found.novel, *(finding.line for finding in found.candidates(20))]
    lines += [found.last] if found.last is not None else []
    return advised(told, [line.text for line in lines], adviser)


def adviser_of(url: str | None, model: str) -> Adviser | None:
    """The adviser that was asked for, none by default; its key is GAUNTLET_ADVISER_KEY."""
    if not url:
        return None
    if not url.startswith(("http://", "https://")):
        raise UsageError(f"--adviser {url}: no http or https URL", hint="such as http://host/v1")
    return HttpAdviser(url=url, model=model, key=os.environ.get("GAUNTLET_ADVISER_KEY", ""))


def shown(log: str, told: Classification, *, as_json: bool) -> str:
    """One classification as a line of JSON or as a few lines for people."""
    if as_json:
        return json.dumps({"log": log, **told.plain()}, ensure_ascii=False)
    again = {
        True: "run it again",
        False: "running it again will not help",
        None: "may be run again",
    }
    place = f":{told.line}" if told.line is not None else ""
    lines = [
        f"{log}{place}: {told.failure_class} ({told.confidence:.0%} sure), {again[told.retryable]}"
        + (", WRONG EXIT CODE" if told.wrong_exit_code else "")
    ]
    if told.text:
        lines.append(f"  {told.text[:200]}")
    if told.signature:
        lines.append(f"  signature: {told.signature[:200]}")
    lines += [f"  because: {reason}" for reason in told.reasons]
    if told.owner:
        lines.append(f"  for: {told.owner}")
    return "\n".join(lines)


def _stdin() -> Iterator[bytes]:
    while chunk := sys.stdin.buffer.read(CHUNK):
        yield chunk
