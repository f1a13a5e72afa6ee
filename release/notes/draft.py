"""Release notes from merged changes. Pure: the same facts make the same text, on any day."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from gauntlet.release.notes.merged import Merged, once, without_reverted
from gauntlet.release.notes.rules import AreaRule
from gauntlet.release.picks.history import Change
from gauntlet.services.escape import plain

OTHER = "Other changes"
HIGHLIGHTS = "_To be written by a person._"
_TAG = re.compile(r"\s*\[([^\]]*)\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """What the notes are about. ``earlier`` counts changes that are too many to be listed."""

    version: str
    candidate: str
    commit: str
    previous: str = ""
    previous_commit: str = ""
    earlier: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line: a change, and who made it."""

    commit: str
    title: str
    pull_request: int | None
    authors: tuple[str, ...]

    def plain(self) -> dict[str, object]:
        """As JSON."""
        return {
            "commit": self.commit,
            "title": self.title,
            "pull_request": self.pull_request,
            "authors": list(self.authors),
        }

    @property
    def named(self) -> str:
        """``#12``, or a short id where no pull request is known."""
        return f"#{self.pull_request}" if self.pull_request else self.commit[:10]


@dataclass(frozen=True, slots=True, kw_only=True)
class Notes:
    """A draft; ``areas`` are those with changes, in the order of the policy.

    ``newcomers`` are new authors with their first entry, None where no release is older.
    """

    span: Span
    areas: tuple[tuple[str, tuple[Entry, ...]], ...]
    authors: tuple[str, ...]
    newcomers: tuple[tuple[str, Entry], ...] | None
    taken_back: tuple[tuple[Entry, Entry], ...]
    """Changes that are not listed, each with the one that reverts it."""
    highlights: str = ""

    @property
    def count(self) -> int:
        """How many changes are listed."""
        return sum(len(entries) for _, entries in self.areas)

    def plain(self) -> dict[str, object]:
        """As JSON."""
        span = self.span
        new = self.newcomers
        return {
            "version": span.version,
            "candidate": span.candidate,
            "commit": span.commit,
            "previous": span.previous or None,
            "previous_commit": span.previous_commit or None,
            "earlier_changes": span.earlier,
            "highlights": self.highlights or None,
            "areas": [
                {"name": name, "changes": [each.plain() for each in entries]}
                for name, entries in self.areas
            ],
            "authors": list(self.authors),
            "new_contributors": None
            if new is None
            else [{"name": name, "first": entry.plain()} for name, entry in new],
            "reverted": [
                {"change": change.plain(), "by": revert.plain()}
                for change, revert in self.taken_back
            ],
        }

    def markdown(self) -> str:
        """As Markdown; nothing in a title or name is markup or calls anybody."""
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        yield from (f"# {self.span.version}", "", self._summary(), "")
        yield from ("## Highlights", "", self.highlights or HIGHLIGHTS)
        for name, entries in self.areas:
            yield from ("", f"## {plain(name)}", "")
            yield from (_line(entry) for entry in entries)
        if self.newcomers:
            yield from ("", "## New contributors", "")
            for name, entry in self.newcomers:
                yield f"- {plain(name)} made a first contribution in {entry.named}"

    def _summary(self) -> str:
        span = self.span
        what = f"{_number(self.count, 'change')} by {_number(len(self.authors), 'author')}"
        if span.previous_commit:
            since = f"{plain(span.previous or span.previous_commit[:10])}"
            return f"{what} since {since}."
        more = f" Not listed: {_number(span.earlier, 'earlier change')}." if span.earlier else ""
        return f"The first release: {what}.{more}"


def draft_notes(
    changes: Sequence[Merged],
    areas: Sequence[AreaRule],
    span: Span,
    *,
    known: Collection[str] | None,
    labels: Mapping[int, Sequence[str]] | None = None,
    highlights: str = "",
) -> Notes:
    """Draft notes of changes, which come parents before children.

    ``known`` are e-mails of everybody who ever contributed before, None where that is not asked;
    ``labels`` are those of pull requests, as far as somebody knows them.
    """
    kept, pairs = without_reverted(changes)
    kept = once(kept)
    by_area: dict[str, list[Entry]] = {name: [] for name in (*(a.name for a in areas), OTHER)}
    for each in kept:
        number = each.change.pull_request
        own = (labels or {}).get(number, ()) if number is not None else ()
        by_area[area_of(each.change, areas, own)].append(entry_of(each))
    return Notes(
        span=span,
        areas=tuple((name, tuple(entries)) for name, entries in by_area.items() if entries),
        authors=tuple(sorted(_authors(kept).values(), key=lambda name: (name.casefold(), name))),
        newcomers=None if known is None else tuple(_newcomers(kept, known)),
        taken_back=tuple((entry_of(change), entry_of(revert)) for change, revert in pairs),
        highlights=highlights.strip(),
    )


def area_of(change: Change, areas: Sequence[AreaRule], labels: Sequence[str] = ()) -> str:
    """The first area that a change's labels, the tags of its title, or most of its paths match."""
    tags = {tag.casefold() for tag in _tags(change.title)}
    marks = {label.casefold() for label in labels}
    for area in areas:
        if marks & {label.casefold() for label in area.labels}:
            return area.name
        if tags & {tag.casefold() for tag in area.titles}:
            return area.name
        matched = sum(any(fnmatchcase(path, glob) for glob in area.paths) for path in change.paths)
        if matched * 2 > len(change.paths):
            return area.name
    return OTHER


def entry_of(merged: Merged) -> Entry:
    """A change as a line of the notes has it."""
    change = merged.change
    number = change.pull_request
    title = change.title.removesuffix(f"(#{number})").strip()
    names = dict.fromkeys(each.author for each in merged.by)
    return Entry(
        commit=change.sha,
        title=title or change.sha[:10],
        pull_request=number,
        authors=tuple(names),
    )


def _tags(title: str) -> Iterator[str]:
    """Tags at the begin of a title: ``[Kernel][Bugfix] Mend it`` has two."""
    place = 0
    while found := _TAG.match(title, place):
        yield found[1].strip()
        place = found.end()


def _authors(changes: Sequence[Merged]) -> dict[str, str]:
    """Names by e-mail, each as it was first written; programs are none."""
    found: dict[str, str] = {}
    for merged in changes:
        for each in merged.by:
            if not _is_program(each):
                found.setdefault(each.email, each.author)
    return found


def _newcomers(changes: Sequence[Merged], known: Collection[str]) -> Iterator[tuple[str, Entry]]:
    seen = set(known)
    for merged in changes:
        for each in merged.by:
            if each.email not in seen and not _is_program(each):
                seen.add(each.email)
                yield each.author, entry_of(merged)


def _is_program(change: Change) -> bool:
    return change.author.endswith("[bot]") or "[bot]@" in change.email


def _line(entry: Entry) -> str:
    number = f" (#{entry.pull_request})" if entry.pull_request else ""
    return f"- {plain(entry.title)}{number}, {', '.join(map(plain, entry.authors))}"


def _number(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"
