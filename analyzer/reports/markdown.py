"""A report as Markdown, for a file, an issue or a pull request."""

from collections.abc import Iterable

from gauntlet.analyzer.reports.model import Entry, Report, Section
from gauntlet.services.escape import code, plain, web_address

_SHOWN = 30


def markdown(report: Report) -> str:
    """Render a report; free text is escaped, and only web addresses become links."""
    lines = [
        f"# {report.night}: {plain(report.headline)}",
        "",
        f"Branch {code(report.branch)}.{_links(report.links)}",
    ]
    for section in report.sections:
        lines += ["", *_section(section)]
    if report.unknown:
        lines += ["", "## Not looked at", ""]
        lines += [f"- {plain(each)}" for each in report.unknown]
    if report.footer:
        lines += ["", "---", *(f"{plain(line)}  " for line in report.footer)]
    return "\n".join(lines).rstrip() + "\n"


def _section(section: Section) -> Iterable[str]:
    number = f" ({len(section.entries)})" if section.entries else ""
    yield f"## {section.name}{number}"
    yield ""
    if not section.entries:
        yield section.nothing or "Nothing."
    for entry in section.entries[:_SHOWN]:
        yield from _entry(entry)
    if len(section.entries) > _SHOWN:
        yield f"- and {len(section.entries) - _SHOWN} more"


def _entry(entry: Entry) -> Iterable[str]:
    yield f"- **{plain(entry.title)}**{_links(entry.links)}"
    yield from (f"  - {plain(fact)}" for fact in entry.facts)
    if entry.command:
        yield f"  - {code(entry.command)}"


def _links(links: Iterable[tuple[str, str]]) -> str:
    return "".join(
        f" [{plain(words)}]({address})"
        for words, given in links
        if (address := web_address(given)) is not None
    )
