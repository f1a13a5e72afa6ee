"""The key under which the shards and attempts of a job stand together.

The rule, first hit wins:

1. The step's key, without a shard that was written into it by hand (``lora-2-of-4``,
   ``lora-shard-2``). All jobs of a parallel step have the same key, so nothing else is cut.
2. The name as a slug, without emoji codes and without its shard: ``2/4``, ``2 of 4`` or
   ``shard 2``, with or without brackets; a ``%N`` or ``%t`` that was never filled in; and, for
   a job of a parallel group, a last word that is its own number. Its own number is what
   ``parallel_group_index`` says, from 1 or, as ``%n`` counts, from 0.
3. The first line of the command as a slug: what Buildkite shows where there is no name.

A name that ends in a number which means something else (``TP 4``) and happens to be that of the
shard loses it: steps with such names need a key.
"""

import re
from dataclasses import dataclass

_EMOJI = re.compile(r":[a-z0-9_+-]+:", re.IGNORECASE)
_NOT_WORD = re.compile(r"[^\w]+|_+")
_SHARD_IN_KEY = re.compile(r"[-_:](?:shard[-_]?)?\d+[-_]of[-_]\d+$|[-_:]shard[-_]?\d+$")

# All of these end a name, with or without brackets.
_OPEN, _CLOSE = r"[\s(\[-]*", r"\s*[)\]]*\s*$"
_SHARD_OF = re.compile(
    rf"{_OPEN}(?:\b(?:shard|part)\s*#?\s*)?(?<![\w./])(?P<shard>\d{{1,5}})\s*(?:/|\bof\b)\s*"
    rf"(?P<shards>\d{{1,5}}){_CLOSE}",
    re.IGNORECASE,
)
_SHARD_ALONE = re.compile(rf"{_OPEN}\bshard\s*#?\s*\d{{1,5}}{_CLOSE}", re.IGNORECASE)
_PLACEHOLDER = re.compile(rf"{_OPEN}%[nNt](?:\s*(?:/|of)\s*%[nNt])?{_CLOSE}")
_LAST_NUMBER = re.compile(rf"[\s(\[#-]+(?P<shard>\d{{1,5}}){_CLOSE}")
_NAMELESS = "unnamed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """Which share of a job a job is: ``index`` counts from 0."""

    index: int
    total: int


def job_key(*, step_key: str | None, name: str, shard: Shard | None) -> str:
    """Return the key of a job without its shard, by the rule above."""
    if step_key:
        return _SHARD_IN_KEY.sub("", step_key) or step_key
    return slug(without_shard(name, shard)) or slug(name) or _NAMELESS


def shard_in_name(name: str) -> Shard | None:
    """Read ``2/4`` at the end of a name; None where there is none that can be a shard."""
    found = _SHARD_OF.search(name)
    if found is None:
        return None
    number, total = int(found["shard"]), int(found["shards"])
    return Shard(index=number - 1, total=total) if 1 <= number <= total else None


def without_shard(name: str, shard: Shard | None) -> str:
    """Cut the shard from the end of a name."""
    if shard_in_name(name) is not None:
        return _SHARD_OF.sub("", name)
    for pattern in (_PLACEHOLDER, _SHARD_ALONE):
        if pattern.search(name):
            return pattern.sub("", name)
    last = _LAST_NUMBER.search(name)
    if shard and shard.total > 1 and last and int(last["shard"]) in (shard.index + 1, shard.index):
        return name[: last.start()]
    return name


def slug(name: str) -> str:
    """Write a name in lower case with one hyphen for whatever is no letter or digit."""
    return _NOT_WORD.sub("-", _EMOJI.sub(" ", name).casefold()).strip("-")
