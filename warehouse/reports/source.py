"""Bytes of a report or a log as they come: from a file, compressed or not, in any encoding."""

import codecs
import re
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from gauntlet.warehouse.reports.report import UnreadableReportError

CHUNK = 1 << 18
GZIP = b"\x1f\x8b"
# The XML declaration must fit into it.
SNIFF = 1024
_DECLARATION = re.compile(rb"\s*<\?xml[^>]*?\bencoding\s*=\s*[\"']([A-Za-z0-9._-]+)[\"'][^>]*?\?>")
_DECLARATION_TEXT = re.compile(r"\s*(<\?xml\s[^>]*\?>)?")
_CODEC = re.compile(
    r"(?i)iso-?8859-\d{1,2}|latin-?1|windows-125\d|cp\d{3,4}|gbk|gb2312|gb18030|big5"
    r"|shift_jis|euc-(jp|kr)"
)
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (b"<\0", "utf-16-le"),
    (b"\0<", "utf-16-be"),
)
# What XML 1.0 has no place for, surrogates included: bytes that were no UTF-8 arrive as such.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_REFERENCE = re.compile(r"&#(?:x([0-9A-Fa-f]{1,8})|([0-9]{1,9}));")
_LONGEST_REFERENCE = 12


def file_chunks(path: Path) -> Iterator[bytes]:
    """Read a file in pieces. Raises UnreadableReportError where it cannot be read."""
    try:
        with path.open("rb") as stream:
            while chunk := stream.read(CHUNK):
                yield chunk
    except OSError as error:
        msg = f"cannot read {path}: {error.strerror or error}"
        raise UnreadableReportError(msg, hint="give the path of a report file") from error


class ByteSource:
    """Bytes in pieces of bounded size; gzip is unpacked, whatever the file is called.

    ``problem`` says, once all was read, why the bytes end before their time: a broken gzip stream,
    or more of them than ``limit``.
    """

    def __init__(self, chunks: Iterable[bytes], *, limit: int) -> None:
        self._chunks = iter(chunks)
        self._limit = limit
        self.problem: str | None = None

    def __iter__(self) -> Iterator[bytes]:
        head = b""
        for chunk in self._chunks:
            head += chunk
            if len(head) >= len(GZIP):
                break
        pieces = _chain(head, self._chunks)
        left = self._limit
        for piece in self._inflate(pieces) if head.startswith(GZIP) else pieces:
            if len(piece) > left:
                yield piece[:left]
                self.problem = f"more than {self._limit} bytes; the rest was not read"
                return
            left -= len(piece)
            yield piece

    def _inflate(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """Unpack a gzip stream of one or more members."""
        unpack = zlib.decompressobj(zlib.MAX_WBITS | 16)
        for chunk in chunks:
            data = chunk
            while data:
                if unpack.eof:
                    unpack = zlib.decompressobj(zlib.MAX_WBITS | 16)
                try:
                    piece = unpack.decompress(data, CHUNK)
                except zlib.error as error:
                    self.problem = f"gzip: {error}"
                    return
                if piece:
                    yield piece
                data = unpack.unused_data if unpack.eof else unpack.unconsumed_tail
        if not unpack.eof:
            self.problem = "gzip: the stream is cut"


def _chain(head: bytes, rest: Iterable[bytes]) -> Iterator[bytes]:
    if head:
        yield head
    yield from rest


class XmlText:
    """The text of an XML document in pieces that an XML parser does not stumble over.

    What is no text in the encoding that the document declares (or in UTF-8), and characters that
    XML forbids, also as a reference such as ``&#27;``, become U+FFFD; ``repaired`` counts them.
    The XML declaration and blanks before it become blanks: some writers declare one encoding and
    use another, and a line that slipped in before the declaration is no reason to lose a report.
    """

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self.repaired = 0

    def __iter__(self) -> Iterator[str]:
        head = b""
        for chunk in self._chunks:
            head += chunk
            if len(head) >= SNIFF:
                break
        encoding = _encoding(head)
        utf8 = encoding == "utf-8"
        # Bytes below 0x80 cannot be escaped, and in UTF-16 they can be wrong.
        decoder = codecs.getincrementaldecoder(encoding)("surrogateescape" if utf8 else "replace")
        held, first = "", True
        for chunk in _chain(head, self._chunks):
            text = decoder.decode(chunk)
            if not utf8:
                self.repaired += text.count("\ufffd")
            if first and text:
                text, first = _without_declaration(text), False
            if not utf8 or _has_controls(chunk) or _has_strangers(text):
                text = self._replaced(_FORBIDDEN, text)
            text, held = _whole_references(held + text)
            yield self._replaced(_REFERENCE, text) if "&#" in text else text
        yield self._replaced(
            _REFERENCE, held + self._replaced(_FORBIDDEN, decoder.decode(b"", True))
        )

    def _replaced(self, pattern: re.Pattern[str], text: str) -> str:
        def replacement(match: re.Match[str]) -> str:
            if pattern is _REFERENCE and _is_character(match):
                return match[0]
            self.repaired += 1
            return "\ufffd"

        return pattern.sub(replacement, text)


def _encoding(head: bytes) -> str:
    """Choose by byte order mark, then by declaration; UTF-8 unless something else is sure."""
    for mark, encoding in _BOMS:
        if head.startswith(mark):
            return encoding
    declared = _DECLARATION.match(head)
    name = declared[1].decode() if declared else ""
    # A declaration that can be read byte by byte is not UTF-16, whatever it says.
    if not _CODEC.fullmatch(name):
        return "utf-8"
    try:
        return codecs.lookup(name).name
    except LookupError:
        return "utf-8"


def _without_declaration(text: str) -> str:
    text = text.removeprefix("\ufeff")
    match = _DECLARATION_TEXT.match(text)
    end = match.end() if match else 0
    return re.sub(r"[^\n]", " ", text[:end]) + text[end:]


def _has_controls(chunk: bytes) -> bool:
    """Whether there are control characters beside tabs and line ends."""
    values = np.frombuffer(chunk, np.uint8)
    left = np.count_nonzero(values < ord(" "))
    for allowed in b"\n\r\t":
        if not left:
            return False
        left -= np.count_nonzero(values == allowed)
    return bool(left)


def _has_strangers(text: str) -> bool:
    """Whether there are surrogates or non-characters, quickly for plain text."""
    if text.isascii():
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return "\ufffe" in text or "\uffff" in text


def _whole_references(text: str) -> tuple[str, str]:
    """Split off a reference that goes on in the next piece."""
    cut = text.rfind("&", max(0, len(text) - _LONGEST_REFERENCE))
    if cut < 0 or ";" in text[cut:]:
        return text, ""
    return text[:cut], text[cut:]


def _is_character(match: re.Match[str]) -> bool:
    """Whether XML 1.0 knows the character that a reference stands for."""
    code = int(match[1], 16) if match[1] else int(match[2])
    return (
        code in (0x9, 0xA, 0xD)
        or 0x20 <= code <= 0xD7FF
        or 0xE000 <= code <= 0xFFFD
        or 0x10000 <= code <= 0x10FFFF
    )
