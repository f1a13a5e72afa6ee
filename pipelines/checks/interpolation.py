"""What the agent makes of dollar signs when it uploads a pipeline, by its own grammar.

A name that is unknown then becomes nothing, silently, although the author may have meant a
variable of the job's shell; and a dollar sign before anything that is no name at all ends the
whole upload with an error.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NoReturn

_TOKEN = re.compile(r"\\\\|\\\$|\$\$|\$\(|\$|\}")
_NAME = re.compile(r"[^\W\d_]\w*")
_CUT = re.compile(r"\s*-?\d+\s*(:\s*-?\d+\s*)?(?=\})")
_PATTERN = re.compile(r"[^}]*")

# Names that each job has a value of its own for; at upload they hold the uploading job's.
_OF_A_JOB = re.compile(
    r"BUILDKITE_(AGENT_(ACCESS_TOKEN|ID|NAME|META_DATA_\w+)|ARTIFACT_PATHS|BUILD_CHECKOUT_PATH"
    r"|COMMAND|COMMAND_EXIT_STATUS|GROUP_(ID|KEY|LABEL)|JOB_ID|LABEL|PARALLEL_JOB"
    r"|PARALLEL_JOB_COUNT|PLUGIN_\w+|RETRY_COUNT|STEP_(ID|KEY)|TIMEOUT)"
)


@dataclass(frozen=True, slots=True)
class Reading:
    """Names that a text needs a value for, and what makes the agent refuse the text, or None."""

    names: tuple[str, ...] = ()
    fault: str | None = None


class _RefusedError(Exception):
    """The agent cannot parse the text."""


@lru_cache(maxsize=1 << 13)
def read(text: str) -> Reading:
    """Read a text as the agent does."""
    if "$" not in text:
        return Reading()
    scanner = _Scanner(text)
    try:
        scanner.expression(inside=False)
    except _RefusedError as error:
        return Reading(tuple(scanner.names), str(error))
    return Reading(tuple(scanner.names))


def texts(value: object) -> Iterator[str]:
    """Yield every text in a step, keys too: the agent looks at all of them."""
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            pending.extend(item)
            pending.extend(item.values())
        elif isinstance(item, list):
            pending.extend(item)


def accident(name: str, known: Collection[str]) -> str | None:
    """Say why a variable will not hold what its author expects, or None."""
    if _OF_A_JOB.fullmatch(name):
        return "is filled in at upload, from the uploading job; write $$ for the job's own"
    if name in known or name == "CI" or name.startswith("BUILDKITE_") or name == "BUILDKITE":
        return None
    return "is filled in at upload, where nothing sets it; write $$ for a variable of the job"


class _Scanner:
    """Recursive descent over one text; braces may hold further variables."""

    def __init__(self, text: str) -> None:
        self.names: list[str] = []
        self._text = text
        self._at = 0

    def expression(self, *, inside: bool) -> None:
        """Read on to the end of the text, or ``inside`` braces up to the closing one."""
        while (token := _TOKEN.search(self._text, self._at)) is not None:
            if token[0] == "}":
                self._at = token.start() if inside else token.end()
                if inside:
                    return
            elif token[0] == "$" and token.end() < len(self._text):
                self._at = token.end()
                self._variable()
            else:
                self._at = token.end()
        self._at = len(self._text)

    def _variable(self) -> None:
        if self._text[self._at] != "{":
            self.names.append(self._name())
            return
        self._at += 1
        name = self._name()
        rest = self._text[self._at :]
        operator = re.match(r":-|%%|##|[:%#?-]|(?=\})", rest)
        if operator is None:
            self._refuse(f"${{{name} is followed by {rest[:1]!r}")
        self._at += len(operator[0])
        if operator[0] in {":-", "-", "?"}:
            # With a fallback, or with an error of its own, nothing is empty by accident.
            self.expression(inside=True)
        else:
            self.names.append(name)
            rule = {":": _CUT, "": None}.get(operator[0], _PATTERN)
            if rule is not None:
                self._skip(rule, name)
        if self._text[self._at : self._at + 1] != "}":
            self._refuse(f"${{{name} is never closed")
        self._at += 1

    def _name(self) -> str:
        found = _NAME.match(self._text, self._at)
        if found is None:
            shown = self._text[self._at : self._at + 1]
            self._refuse(f"a dollar sign is followed by {shown!r}, which begins no name")
        self._at = found.end()
        return found[0]

    def _skip(self, rule: re.Pattern[str], name: str) -> None:
        found = rule.match(self._text, self._at)
        if found is None:
            self._refuse(f"${{{name}: is followed by no number")
        self._at = found.end()

    def _refuse(self, why: str) -> NoReturn:
        raise _RefusedError(why)
