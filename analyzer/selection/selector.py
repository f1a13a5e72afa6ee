"""What people write to name measurements: ``run:ID``, ``image:sha256:…``, files, with filters."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, cast, get_args

from gauntlet.core.errors import UsageError, unknown_name

Kind = Literal["run", "image", "commit", "version", "files"]
RunSide = Literal["", "baseline", "candidate"]

FILTERS = ("recipe", "workload", "point", "accelerator")
# Of files, which do not say it, `gpus` tells; a stored run knows it from its recipe.
KEYS = (*FILTERS, "gpus")
STORED_FORMS = "run:ID[:baseline|candidate], image:sha256:DIGEST, commit:SHA, version:V"
FORMS = f"{STORED_FORMS}, or result files"

_LEAST_DIGITS = 8
_HEX = re.compile(r"[0-9a-f]+")
_WORD = re.compile(r"([A-Za-z_-]{2,}):(?!/)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Selector:
    """One name for a set of measurements; ``text`` is as it was written, for messages."""

    text: str
    kind: Kind
    value: str
    side: RunSide = ""
    filters: Mapping[str, str] = field(default_factory=dict)
    gpus: int | None = None


def parse_selector(text: str, where: Sequence[str] = ()) -> Selector:
    """Read a selector; ``where`` holds more ``key=value`` pairs, which those in the text overrule.

    Raises UsageError with what is allowed.
    """
    body, *pairs = text.strip().split(";")
    given = {**_pairs(where, text), **_pairs(pairs, text)}
    gpus = _gpus(given.pop("gpus", None), text)
    kind, _, value = body.strip().partition(":")
    word = _WORD.match(body.strip())
    if word is None or Path(body.strip()).exists():
        if not body.strip():
            raise UsageError(f"selector {text!r} names nothing", hint=f"allowed: {FORMS}")
        return Selector(text=text, kind="files", value=body.strip(), filters=given, gpus=gpus)
    kinds = [each for each in get_args(Kind) if each != "files"]
    if kind not in kinds:
        raise unknown_name(f"kind of selector in {text!r}:", kind, kinds, hint=f"allowed: {FORMS}")
    value, side = _value(kind, value.strip(), text)
    return Selector(
        text=text,
        kind=cast("Kind", kind),
        value=value,
        side=side,
        filters=given,
        gpus=gpus,
    )


def _pairs(pairs: Sequence[str], text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = (part.strip() for part in pair.partition("="))
        if key not in KEYS:
            raise unknown_name(f"filter in {text!r}:", key, KEYS)
        if not equals or not value:
            raise UsageError(f"{text!r}: {key} has no value", hint=f"write {key}=VALUE")
        if key in found:
            raise UsageError(f"{text!r}: {key} is given twice")
        found[key] = value
    return found


def _gpus(said: str | None, text: str) -> int | None:
    if said is None:
        return None
    if not said.isdecimal() or int(said) < 1:
        raise UsageError(f"{text!r}: gpus={said} is no count", hint="a whole number from 1 on")
    return int(said)


def _value(kind: str, value: str, text: str) -> tuple[str, RunSide]:
    if not value:
        raise UsageError(f"selector {text!r}: nothing after {kind}:", hint=f"allowed: {FORMS}")
    if kind == "run":
        run_id, _, side = value.partition(":")
        return run_id, _side(side, text)
    if kind in ("image", "commit"):
        digits = value.lower().removeprefix("sha256:") if kind == "image" else value.lower()
        if kind == "commit" and not _HEX.fullmatch(digits):
            # Simulated builds and forks name theirs in words; those are given whole.
            return value, ""
        if not _HEX.fullmatch(digits) or len(digits) < _LEAST_DIGITS:
            msg = f"selector {text!r}: {value!r} is no {kind}"
            hint = f"give at least {_LEAST_DIGITS} hexadecimal digits of it"
            raise UsageError(msg, hint=hint)
        return (f"sha256:{digits}" if kind == "image" else digits), ""
    return value, ""


def _side(word: str, text: str) -> RunSide:
    for side in get_args(RunSide):
        if word == side:
            return cast("RunSide", side)
    raise unknown_name(f"side of a run in {text!r}:", word, ("baseline", "candidate"))
