"""A report: sections of entries, whoever shows them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One thing to know. ``key`` names it from night to night; texts are plain, never markup.

    ``facts`` are short sentences, ``links`` words and addresses, ``command`` what shows it again.
    """

    key: str
    title: str
    facts: tuple[str, ...] = ()
    links: tuple[tuple[str, str], ...] = ()
    command: str = ""

    def plain(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "key": self.key,
            "title": self.title,
            "facts": list(self.facts),
            "links": [list(link) for link in self.links],
            "command": self.command,
        }

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> "Entry":
        """Read plain data back."""
        return cls(
            key=value["key"],
            title=value["title"],
            facts=tuple(value["facts"]),
            links=tuple((words, address) for words, address in value["links"]),
            command=value["command"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Entries of one kind; ``nothing`` is said where there are none, so that silence is told."""

    name: str
    entries: tuple[Entry, ...] = ()
    nothing: str = ""
    threads: bool = False
    """Whether each entry gets a thread of its own in a chat."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One night of one branch. ``unknown`` are parts that could not be looked at, and why."""

    night: date
    branch: str
    headline: str
    sections: tuple[Section, ...]
    footer: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    links: tuple[tuple[str, str], ...] = field(default=())

    def plain(self) -> dict[str, Any]:
        """Plain data: the artifact of the night."""
        return {
            "night": self.night.isoformat(),
            "branch": self.branch,
            "headline": self.headline,
            "sections": {
                section.name: [entry.plain() for entry in section.entries]
                for section in self.sections
            },
            "footer": list(self.footer),
            "unknown": list(self.unknown),
        }
