"""JUnit XML, as pytest and everybody else write it, to a report; read in one pass.

Two readers share a document: ``PlainCases`` takes the runs of cases that simply passed, expat all
the rest. expat is given the document without these cases, so that it always knows where it
stands; between two cases, and only there, the other may go on.
"""

from collections import deque
from collections.abc import Iterable
from datetime import datetime
from xml.parsers import expat

from gauntlet.core.clock import utc_now
from gauntlet.warehouse.reports.draft import Draft
from gauntlet.warehouse.reports.junit_events import JunitEvents
from gauntlet.warehouse.reports.plain import MARK, PlainCases
from gauntlet.warehouse.reports.report import Limits, Report, UnreadableReportError
from gauntlet.warehouse.reports.source import ByteSource, XmlText

# A tag that is longer than this, and cut by the end of a piece, goes to expat as it comes.
_LONGEST_HELD = 1 << 14


def parse_junit(
    chunks: Iterable[bytes],
    *,
    origin: str = "report",
    now: datetime | None = None,
    limits: Limits | None = None,
    only_expat: bool = False,
) -> Report:
    """Read a JUnit document, gzip or not; ``origin`` is what messages call it.

    What cannot be stored is in ``problems``. A document that breaks off is kept up to there.
    ``only_expat`` reads plain cases with expat too, which is slower and gives the same.
    Raises UnreadableReportError where it is no JUnit document at all, or declares entities.
    """
    limits = limits or Limits()
    source = ByteSource(chunks, limit=limits.bytes)
    text = XmlText(source)
    draft = Draft(origin=origin, now=now or utc_now(), limits=limits)
    reader = _Reader(draft, only_expat=only_expat)
    pieces = iter(text)
    head = ""
    try:
        for piece in pieces:
            head = head or piece.lstrip()[:40]
            reader.feed(piece)
            reader.check()
        reader.finish()
    except expat.ExpatError as error:
        reasons, raw = reader.broken(error)
        if not reader.events.started:
            begins = f"{reasons[0]}; it begins with {head!r}" if head else "empty"
            msg = f"{origin}: no JUnit XML: {source.problem or begins}"
            hint = "give a file that was written by --junitxml, or by another tool's JUnit reporter"
            raise UnreadableReportError(msg, hint=hint) from error
        # What was counted and what is wrong with the file shall not depend on its pieces.
        deque(pieces, maxlen=0)
        if source.problem:
            reasons.insert(0, source.problem)
        draft.reject(reader.place(error), reasons, raw)
    else:
        if source.problem:
            draft.reject("end of the file", [source.problem], "")
    draft.repaired = text.repaired
    return draft.finish()


class _Reader:
    """Shares out the text of a document between the two readers."""

    def __init__(self, draft: Draft, *, only_expat: bool) -> None:
        self._parser = parser = expat.ParserCreate()
        self.events = JunitEvents(draft, parser)
        self._draft = draft
        self._plain = None if only_expat else PlainCases(draft.nodeids, draft.seconds)
        self._fed = 0
        self._in_cdata = False
        self._held = ""
        # Characters of the line at which expat stands that it was not given.
        self._hidden = 0
        self._hidden_line = 0
        parser.buffer_text = True
        parser.StartElementHandler = self.events.start
        parser.EndElementHandler = self.events.end
        parser.StartCdataSectionHandler = lambda: self._cdata(True)
        parser.EndCdataSectionHandler = lambda: self._cdata(False)
        parser.EntityDeclHandler = self._refuse_entity

    def feed(self, text: str) -> None:
        """Read the next piece of the document."""
        if self._plain is None:
            self._give(text)
            return
        text = self._held + text
        self._held = ""
        pieces = text.split(MARK)
        self._give(pieces[0])
        if len(pieces) == 1:
            return
        # The last piece may go on in the next text.
        last = len(pieces) - 1
        blanks = "\t" in text or "\r" in text
        place = 1
        while place < last:
            if self._between_cases():
                stop = self._plain.read(pieces, place, last, blanks=blanks)
                if stop > place:
                    self._hide(MARK + MARK.join(pieces[place:stop]))
                    place = stop
                    continue
            self._give(MARK + pieces[place])
            place += 1
        if self._between_cases() and len(pieces[last]) < _LONGEST_HELD:
            self._held = MARK + pieces[last]
        else:
            self._give(MARK + pieces[last])

    def check(self) -> None:
        """Refuse what would fill the memory: a tag or comment without end, cases without end."""
        wrong = None
        if self._fed - self._parser.CurrentByteIndex > self._draft.limits.tag:
            wrong = f"a tag or comment of more than {self._draft.limits.tag} bytes"
        elif len(self._draft.nodeids) > self._draft.limits.cases:
            wrong = f"more than {self._draft.limits.cases} cases"
        if wrong:
            msg = f"{self._draft.origin}: line {self._parser.CurrentLineNumber}: {wrong}"
            raise UnreadableReportError(msg, hint="write one report for each run of the tests")

    def finish(self) -> None:
        """Take the end of the document. Raises ExpatError where it comes too early."""
        self._give(self._held)
        self._parser.Parse(b"", True)

    def broken(self, error: expat.ExpatError) -> tuple[list[str], str]:
        """Say what broke the document; with the XML of the case that was lost with it."""
        # Text that the parser still holds belongs to that case.
        self._parser.buffer_text = False
        reasons, raw = self.events.cut()
        return [f"XML: {expat.ErrorString(error.code)}", *reasons], raw

    def place(self, error: expat.ExpatError) -> str:
        """Line and column of an error, both from 1, in the document as it came."""
        hidden = self._hidden if error.lineno == self._hidden_line else 0
        return f"line {error.lineno}, column {error.offset + hidden + 1}"

    def _between_cases(self) -> bool:
        """Whether the next case may be read without expat.

        It must have taken all that it was given: otherwise a comment, or a tag, is still open.
        """
        return (
            self.events.between_cases
            and not self._in_cdata
            and self._parser.CurrentByteIndex == self._fed
        )

    def _give(self, text: str) -> None:
        self._fed += len(text) if text.isascii() else len(text.encode())
        self._parser.Parse(text, False)

    def _hide(self, text: str) -> None:
        """Keep line and column right although expat does not get this text."""
        if "\n" in text:
            self._give("\n" * text.count("\n"))
        line = self._parser.CurrentLineNumber
        if line != self._hidden_line:
            self._hidden_line, self._hidden = line, 0
        self._hidden += len(text) - (text.rfind("\n") + 1 if "\n" in text else 0)

    def _refuse_entity(self, name: str, *_: object) -> None:
        line = self._parser.CurrentLineNumber
        msg = f"{self._draft.origin}: line {line} declares the entity {name!r}"
        hint = "reports that declare entities are refused: they can fill memory or read files"
        raise UnreadableReportError(msg, hint=hint)

    def _cdata(self, inside: bool) -> None:
        self._in_cdata = inside
