"""A fixed tokeniser, a fixed word list and hashes that are the same in every process."""

import hashlib
import re
from collections.abc import Iterable, Sequence
from zlib import crc32

# A word of at most four characters with the blank before it, the like for punctuation, or one
# blank or line break. Every character belongs to one piece, so pieces concatenate to the text.
_PIECE = re.compile(r" ?\w{1,4}| ?[^\w\s]{1,4}|\s")
_MAX_CACHED = 200_000
_WORD_LIST = """
a also and any as at away back base be big both but by call can case cell chip city clay cold
cost cup data day deep do door down draw dry each east edge end ever far fast few find fine fire
fish five flat flow for form four free from full game get gift give go gold good gray grow half
hand hard have head hear heat help here high hill hold home hour idea if in into iron is it item
join jump just keep key kind king know lake land last late leaf left less let life lift line
list live long look lot low main make many map mark mass meal mile mind mine moon more most move
much name near need new next nine no noon note now of off old on once one only open or our out
over own page pair part past path pick plan play plus pond pool port pull push put rain read
real rest rich ring rise road rock role room root rule run sail salt same sand save seat seed
seen send ship show side sign silk six size slow snow so soft soil some song soon sort spot star
stay step stop such sum sun sure take tall tax team tell ten test than that the then they thin
this time tiny to told tool town tree trip true turn two unit up use vary very view wait walk
wall want warm was wave way we week well west what when wide will wind wish with wood word work
year yes yet you zero
"""

# Each is one piece by the rule above, so that generated text has as many tokens again when a
# client sends it back as part of a conversation.
WORDS = tuple(f" {word}" for word in _WORD_LIST.split())


class _PieceIds(dict[str, int]):
    """Token ids of pieces, computed once; emptied when a hostile client fills it."""

    def __missing__(self, piece: str) -> int:
        if len(self) >= _MAX_CACHED:
            self.clear()
        token_id = self[piece] = crc32(piece.encode())
        return token_id


_IDS = _PieceIds()


def split(text: str) -> list[str]:
    """Cut a text into its tokens' texts; they concatenate to the text."""
    return _PIECE.findall(text)


def ids(pieces: Iterable[str]) -> list[int]:
    """Token ids of pieces; the same piece has the same id in every process."""
    return [_IDS[piece] for piece in pieces]


def unit_hash(*parts: str) -> float:
    """Hash texts to a number in [0, 1), independent of process and seed."""
    return (int.from_bytes(_sha(parts)[:8]) >> 11) / 2.0**53


def int_hash(*parts: str) -> int:
    """Hash texts to a non-negative 64-bit integer, independent of process and seed."""
    return int.from_bytes(_sha(parts)[:8])


def prompt_hash(token_ids: Sequence[int]) -> int:
    """Hash a prompt; Python salts the hash of texts, but not that of integers."""
    return hash(tuple(token_ids))


def _sha(parts: tuple[str, ...]) -> bytes:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).digest()
