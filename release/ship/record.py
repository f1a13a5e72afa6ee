"""The record of a release: one signed document that says what shipped, and why it might."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from gauntlet.core.errors import ConfigError, UsageError
from gauntlet.core.yaml_file import StrictModel, load_model
from gauntlet.release.artifacts import Artifact
from gauntlet.release.gates.record import KeptGate
from gauntlet.release.state import Candidate, Cut, Pick, Published

RECORD = "record.json"
RECORD_TEXT = "RECORD.md"


class Tag(StrictModel):
    """A tag of a registry, and the digest that it leads to."""

    repository: str
    tag: str
    digest: str
    moving: bool = False


class Record(StrictModel):
    """Everything about one release. Numbers are those that the gates were decided on."""

    schema_version: Literal[1] = 1
    version: str
    source: str
    commit: str
    candidate: str
    previous: str
    previous_commit: str
    cut: Cut
    commits: tuple[Pick, ...]
    """Changes picked onto the branch, in its order."""
    candidates: tuple[Candidate, ...]
    gates: tuple[KeptGate, ...]
    artifacts: tuple[Artifact, ...]
    index: str
    registry: str
    tags: tuple[Tag, ...]
    documents: Mapping[str, str]
    """SHA-256 (hex) of each document by its name."""
    published: Published
    tool: str


def record_bytes(record: Record) -> bytes:
    """Text of a record; the same bytes for the same record."""
    return (record.model_dump_json(indent=2) + "\n").encode()


def read_record(path: Path) -> Record:
    """Read a record. Raises UsageError where there is none, ConfigError where it is damaged."""
    if not path.exists():
        msg = f"there is no record at {path}"
        raise UsageError(msg, hint="it is written when a release is published")
    try:
        return load_model(path, Record)
    except ConfigError as error:
        hint = "fetch it again; its signature would not hold either"
        raise ConfigError(error.problems, hint=hint) from error


def markdown(record: Record) -> str:
    """The record for people."""
    return "\n".join(_lines(record)) + "\n"


def _lines(record: Record) -> Iterator[str]:
    done = record.published
    yield f"# {record.version}"
    yield ""
    yield f"Published from `{record.candidate}` (`{record.commit}`) by {done.by}, {_day(done.at)}."
    against = f"`{record.previous}`" if record.previous else "nothing: it is the first"
    yield f"Measured against {against}. Cut at `{record.cut.commit}` by {record.cut.by}:"
    yield f"{record.cut.reason}."
    yield ""
    yield "## Gates"
    yield ""
    yield "| gate | state | looked at | problems |"
    yield "|---|---|---|---|"
    for gate in record.gates:
        numbers = ", ".join(f"{count} {what}" for what, count in gate.numbers.items() if count)
        yield f"| {gate.gate} | {gate.state} | {numbers or '-'} | {len(gate.problems) or '-'} |"
    yield from _waivers(record)
    yield from _statistics(record)
    yield ""
    yield "## Candidates"
    for candidate in record.candidates:
        yield ""
        yield f"- `{candidate.name}` at `{candidate.commit[:12]}`, {_day(candidate.at)}"
        yield from (f"  - {_cell(each.title)} (`{each.source[:12]}`)" for each in candidate.picks)
    yield ""
    yield "## Artifacts"
    yield ""
    yield "| artifact | cell | size | digest |"
    yield "|---|---|---|---|"
    for each in record.artifacts:
        size = _size(each.size_bytes)
        yield f"| `{each.name}` | {each.cell or each.kind} | {size} | `{each.digest}` |"
    if record.tags:
        yield ""
        yield "| image | digest |"
        yield "|---|---|"
        yield from (f"| `{t.repository}:{t.tag}` | `{t.digest}` |" for t in record.tags)


def _waivers(record: Record) -> Iterator[str]:
    given = [(gate, waiver) for gate in record.gates for waiver in gate.waivers]
    if given:
        yield ""
        yield "## Waivers"
        yield ""
        for gate, waiver in given:
            covers = ", ".join(f"`{key}`" for key in waiver.covers)
            yield f"- {gate.gate}: {covers}, by {waiver.by} until {_day(waiver.until)}:"
            yield f"  {_cell(waiver.reason)}"


def _statistics(record: Record) -> Iterator[str]:
    rows = [each for gate in record.gates for each in gate.statistics]
    if rows:
        yield ""
        yield "| statistic | verdict | change | margin | p beside all others | n | run |"
        yield "|---|---|---|---|---|---|---|"
        yield from map(_statistic, rows)


def _statistic(each: Mapping[str, Any]) -> str:
    effect, unit, interval = each.get("effect"), each.get("unit", ""), each.get("interval")
    change = "-" if effect is None else f"{effect:+.2f} {unit}"
    if interval:
        change += f" [{interval[0]:+.2f}, {interval[1]:+.2f}]"
    p_value = each.get("adjusted_p")
    shown = "-" if p_value is None else f"{p_value:.2g}"
    name = f"`{each.get('statistic')}`"
    tail = f"{each.get('margin')} | {shown} | {each.get('n')} | {each.get('run')}"
    return f"| {name} | {each.get('verdict')} | {change} | {tail} |"


def _size(count: int) -> str:
    return f"{count / 1e6:,.1f} MB" if count >= 1e6 else f"{count:,} B"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _day(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"
