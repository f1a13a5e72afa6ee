"""What kind of statement a text is, and where in it the data of an INSERT begins.

Only as much grammar as that takes; everything else is left to the engine. Works on bytes, because
data follows the statement in the same stream.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from gauntlet.warehouse.server.protocol import SYNTAX_ERROR, refusal

# A quote that nobody closes reaches to the end: the engine will say so.
_TOKEN = re.compile(
    rb"""
    (?P<space>  (?: \s++ | --[^\n]*+ | \#[ !][^\n]*+ | /\*.*?(?:\*/|\Z) )++ )
  | (?P<quoted> '(?:[^'\\]|\\.)*+\\?(?:'|\Z)
              | `(?:[^`\\]|\\.)*+\\?(?:`|\Z)
              | "(?:[^"\\]|\\.)*+\\?(?:"|\Z) )
  | (?P<word>   [A-Za-z_]\w*+ )
  | (?P<number> [0-9][\w.]*+ )
  | (?P<sign>   . )
    """,
    re.VERBOSE | re.DOTALL,
)
# The data begins on the next line, or after the blanks where there is none.
_BEFORE_DATA = re.compile(rb"[ \t\f]*+\r?\n?")
_SELECT = {b"SELECT", b"WITH", b"FROM", b"("}
_LISTING = {b"SHOW", b"DESCRIBE", b"DESC", b"EXPLAIN", b"EXISTS", b"CHECK", b"KILL"}


class Kind(StrEnum):
    """What a statement gives back, and what it takes."""

    SELECT = "select"  # rows, as many as there are
    LISTING = "listing"  # rows, but few
    INSERT = "insert"  # takes the data that follows it
    COMMAND = "command"  # neither

    @property
    def reads(self) -> bool:
        """Whether it has a result, so that it is of no use once its client has gone."""
        return self in {Kind.SELECT, Kind.LISTING}


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One statement without its data, and what it says about formats.

    ``format_at`` is where in ``sql`` the FORMAT clause of a query begins, ``data_at`` where in the
    whole text the data of an INSERT does. ``for_session``: all that it does ends with its session.
    """

    kind: Kind
    sql: bytes
    format: str | None = None
    format_at: int | None = None
    data_at: int | None = None
    has_totals: bool = False
    for_session: bool = False


@dataclass(frozen=True, slots=True)
class _Token:
    """A word in capitals, a single sign, or (with an empty word) something quoted."""

    word: bytes
    start: int
    end: int
    depth: int

    @property
    def is_word(self) -> bool:
        return self.word[:1].isalpha() or self.word[:1] == b"_"


_NOTHING = _Token(b"", 0, 0, 0)


def parse_statement(text: bytes) -> Statement:
    """Classify the statement that ``text`` begins with; data may follow an INSERT.

    Raises RefusedError where there is no statement, or more than one.
    """
    tokens = _tokens(text)
    first = next(tokens, _NOTHING)
    insert = _insert(text, tokens) if first.word == b"INSERT" else None
    return insert or _other(text, list(_tokens(text)))


def _tokens(text: bytes) -> Iterator[_Token]:
    depth = 0
    for match in _TOKEN.finditer(text):
        if match.lastgroup == "space":
            continue
        word = b"" if match.lastgroup == "quoted" else match[0].upper()
        depth -= word == b")"
        yield _Token(word, match.start(), match.end(), depth)
        depth += word == b"("


def _insert(text: bytes, tokens: Iterator[_Token]) -> Statement | None:
    """An INSERT that data follows; None where it takes its rows from elsewhere."""
    before = _pass_table(tokens)
    for token in tokens:
        word = token.word
        if word in {b"SELECT", b"WITH"} and (token.depth == 0 or before.word == b"("):
            return None
        if token.depth == 0 and before.word != b".":
            if word == b"INFILE" and before.word == b"FROM":
                return None
            if word == b"VALUES":
                sql = text[: token.start]
                return Statement(kind=Kind.INSERT, sql=sql, format="Values", data_at=token.end)
            if before.word == b"FORMAT" and token.is_word:
                blanks = _BEFORE_DATA.match(text, token.end)
                return Statement(
                    kind=Kind.INSERT,
                    sql=text[: before.start],
                    format=_name(text, token),
                    data_at=blanks.end() if blanks else token.end,
                )
        before = token
    return None


def _pass_table(tokens: Iterator[_Token]) -> _Token:
    """Pass over the first part of the table's name, which may be any word, and return it."""
    for expected in (b"INTO", b"TABLE"):
        token = next(tokens, _NOTHING)
        if token.word != expected:
            return token
    return next(tokens, _NOTHING)


def _other(text: bytes, tokens: list[_Token]) -> Statement:
    while tokens and tokens[-1].word == b";":
        tokens.pop()
    if not tokens:
        raise refusal(SYNTAX_ERROR, "Empty query")
    words = [token.word for token in tokens]
    if b";" in words:
        raise refusal(SYNTAX_ERROR, "Multi-statements are not allowed")
    clause = _format_clause(tokens)
    return Statement(
        kind=_kind(tokens),
        sql=text[: tokens[-1].end],
        format=_name(text, clause[1]) if clause else None,
        format_at=clause[0].start if clause else None,
        has_totals=b"TOTALS" in words or b"EXTREMES" in words,
        for_session=words[0] in {b"SET", b"USE"} or words[:2] == [b"CREATE", b"TEMPORARY"],
    )


def _kind(tokens: list[_Token]) -> Kind:
    word = tokens[0].word
    if word == b"WITH" and any(
        first.depth == 0 and (first.word, second.word) == (b"INSERT", b"INTO")
        for first, second in pairwise(tokens)
    ):
        return Kind.COMMAND
    if word in _SELECT:
        return Kind.SELECT
    return Kind.LISTING if word in _LISTING else Kind.COMMAND


def _format_clause(tokens: list[_Token]) -> tuple[_Token, _Token] | None:
    """The word FORMAT and the name after it, where they end the statement or precede SETTINGS."""
    for at in range(len(tokens) - 2, 0, -1):
        word, name = tokens[at], tokens[at + 1]
        ends = len(tokens) == at + 2 or tokens[at + 2].word == b"SETTINGS"
        if word.word == b"FORMAT" and word.depth == 0 and name.is_word and ends:
            return word, name
    return None


def _name(text: bytes, token: _Token) -> str:
    return text[token.start : token.end].decode()
