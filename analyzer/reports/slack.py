"""A report as messages of Slack: one for the night, and one for each thread below it."""

from collections.abc import Iterable
from typing import Any

from gauntlet.analyzer.reports.model import Entry, Report
from gauntlet.services.chat.port import Message
from gauntlet.services.escape import one_line, slack, web_address

# Slack refuses messages of more than 50 blocks, and texts of more than 3,000 characters.
_MOST_BLOCKS = 45
_LONGEST = 2900
_LISTED = 8


def night_message(report: Report) -> Message:
    """The message of a night: the headline, and a line for each entry."""
    text = f"{report.night} {slack(report.headline)}"
    blocks: list[dict[str, Any]] = [_header(f"{report.night}: {report.headline}")]
    for section in report.sections:
        if not section.entries:
            continue
        lines = [f"*{section.name}* ({len(section.entries)})"]
        lines += [f"• {_title(entry)}" for entry in section.entries[:_LISTED]]
        if len(section.entries) > _LISTED:
            lines.append(f"and {len(section.entries) - _LISTED} more")
        blocks.append(_section("\n".join(lines)))
    silent = [section.name.lower() for section in report.sections if not section.entries]
    if silent:
        blocks.append(_context(f"nothing: {', '.join(silent)}"))
    if report.unknown:
        blocks.append(_context(f"not looked at: {slack('; '.join(report.unknown))}"))
    foot = [*map(slack, report.footer), *_addresses(report.links)]
    if foot:
        blocks.append(_context(" · ".join(foot)))
    return Message(key=f"night/{report.night}", text=text, blocks=tuple(blocks[:_MOST_BLOCKS]))


def thread_messages(report: Report) -> list[Message]:
    """One message for each entry that has a thread."""
    return [
        Message(key=entry.key, text=slack(entry.title), blocks=tuple(_entry_blocks(entry)))
        for section in report.sections
        if section.threads
        for entry in section.entries
    ]


def _entry_blocks(entry: Entry) -> Iterable[dict[str, Any]]:
    lines = [f"*{_title(entry)}*", *(f"• {slack(fact)}" for fact in entry.facts)]
    yield _section("\n".join(lines))
    if entry.command:
        # Inside a block of code nothing but its end means anything.
        safe = entry.command.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        yield _section(f"```{safe.replace('```', '')}```")
    found = list(_addresses(entry.links))
    if found:
        yield _context(" · ".join(found))


def _title(entry: Entry) -> str:
    address = next((a for _, given in entry.links if (a := web_address(given))), None)
    words = slack(entry.title)
    return f"<{address}|{words.replace('|', '¦')}>" if address else words


def _addresses(links: Iterable[tuple[str, str]]) -> Iterable[str]:
    for words, given in links:
        if (address := web_address(given)) is not None:
            yield f"<{address}|{slack(words).replace('|', '¦')}>"


def _header(text: str) -> dict[str, Any]:
    return {"type": "header", "text": {"type": "plain_text", "text": one_line(text)[:150]}}


def _section(text: str) -> dict[str, Any]:
    return {"type": "section", "text": {"type": "mrkdwn", "text": _cut(text)}}


def _context(text: str) -> dict[str, Any]:
    return {"type": "context", "elements": [{"type": "mrkdwn", "text": _cut(text)}]}


def _cut(text: str) -> str:
    """Cut at the end of a line, so that no link is cut in the middle."""
    if len(text) <= _LONGEST:
        return text
    kept = text[:_LONGEST].rpartition("\n")[0] or text[:_LONGEST].rpartition(" ")[0]
    return f"{kept}\n…"
