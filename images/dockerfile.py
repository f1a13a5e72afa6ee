"""Dockerfiles, read: stages, their instructions with flags, arguments put in, lines kept.

A reader of our own: ``dockerfile-parse`` knows neither ``RUN --mount`` nor here-documents, keeps
no flags of COPY, and takes arguments of one stage for those of another.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gauntlet.core.errors import ConfigError, Problem
from gauntlet.core.yaml_file import read_text

_INSTRUCTION = re.compile(r"(?P<name>[A-Za-z]+)\s+(?P<rest>.*)", re.DOTALL)
_FLAG = re.compile(r"--(?P<name>[a-z]+)(?:=(?P<value>\S*))?\s+")
_HEREDOC = re.compile(r"<<-?\s*([\"']?)(?P<word>[A-Za-z_][A-Za-z0-9_]*)\1")
_FROM = re.compile(r"(?P<image>\S+)(?:\s+[Aa][Ss]\s+(?P<stage>\S+))?")
_VARIABLE = re.compile(
    r"\\\$|\$(?:\{(?P<braced>[A-Za-z_]\w*)(?:(?P<how>:[-+])(?P<other>[^}]*))?\}|(?P<bare>[A-Za-z_]\w*))"
)
_PAIR = re.compile(r"(?P<name>[A-Za-z_][\w.\-]*)=(?P<value>\"(?:\\.|[^\"])*\"|'[^']*'|(?:\\.|\S)*)")


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction: its name in capitals, its flags in order, the rest, and its first line."""

    name: str
    flags: tuple[tuple[str, str], ...]
    rest: str
    line: int

    def flag(self, name: str) -> str:
        """Value of a flag; empty where it is not given."""
        return next((value for key, value in self.flags if key == name), "")

    @property
    def exec_form(self) -> tuple[str, ...] | None:
        """Words of a command that is a JSON list; None of one for a shell."""
        try:
            words = json.loads(self.rest)
        except ValueError:
            return None
        if isinstance(words, list) and all(isinstance(word, str) for word in words):
            return tuple(words)
        return None

    @property
    def mounts(self) -> tuple[Mapping[str, str], ...]:
        """Mounts of a RUN, each by its keys; the default type is ``bind``."""
        found = []
        for key, value in self.flags:
            if key == "mount":
                pairs = (item.partition("=") for item in value.split(","))
                found.append({"type": "bind", **{name: text for name, _, text in pairs}})
        return tuple(found)

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Names and values of ENV, LABEL and ARG; an ARG without a default has an empty one."""
        if self.name == "ARG" and "=" not in self.rest:
            return tuple((name, "") for name in self.rest.split())
        found = [(m["name"], _unquoted(m["value"])) for m in _PAIR.finditer(self.rest)]
        if not found and self.name == "ENV":
            name, _, value = self.rest.partition(" ")
            return ((name, value.strip()),)
        return tuple(found)

    @property
    def sources(self) -> tuple[str, ...]:
        """What COPY or ADD takes, without where it goes."""
        if _HEREDOC.search(self.rest):
            return ()
        words = self.exec_form or tuple(self.rest.split())
        return tuple(words[:-1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One stage. ``image`` is what its FROM says, with arguments put in; ``given`` as written."""

    name: str
    image: str
    given: str
    line: int
    instructions: tuple[Instruction, ...]

    def all_of(self, *names: str) -> Iterator[Instruction]:
        """Instructions of these names, in order."""
        return (each for each in self.instructions if each.name in names)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dockerfile:
    """A Dockerfile with the arguments of one build."""

    file: str
    stages: tuple[Stage, ...]
    head: tuple[Instruction, ...]
    """Instructions before the first FROM: arguments for every FROM."""

    def stage(self, name: str) -> Stage | None:
        """A stage by its name or its number; None where it has none such."""
        for number, stage in enumerate(self.stages):
            if name in (stage.name, str(number)):
                return stage
        return None

    def chain(self, name: str) -> tuple[Stage, ...]:
        """The stage and those that it is FROM, the lowest first; empty where there is none."""
        found: list[Stage] = []
        stage = self.stage(name)
        while stage is not None and stage not in found:
            found.insert(0, stage)
            before = self.stages[: self.stages.index(stage)]
            stage = next((each for each in before if each.name == found[0].image), None)
        return tuple(found)

    def needed(self, name: str) -> tuple[Stage, ...]:
        """Every stage that building one takes: its chain, and what is copied or mounted from."""
        wanted: list[Stage] = []
        waiting = [*self.chain(name)]
        while waiting:
            stage = waiting.pop()
            if stage in wanted:
                continue
            wanted.append(stage)
            for taken in taken_from(stage):
                waiting += self.chain(taken)
        return tuple(stage for stage in self.stages if stage in wanted)


def taken_from(stage: Stage) -> tuple[str, ...]:
    """Names (of stages, contexts, images) that a stage copies or mounts files from."""
    copied = [each.flag("from") for each in stage.all_of("COPY", "ADD")]
    mounted = [m.get("from", "") for each in stage.all_of("RUN") for m in each.mounts]
    return tuple(dict.fromkeys(name for name in (*copied, *mounted) if name))


def load_dockerfile(path: Path, args: Mapping[str, str], *, file: str = "") -> Dockerfile:
    """Read a Dockerfile as one build sees it. Raises ConfigError as parse_dockerfile."""
    return parse_dockerfile(read_text(path), args, file=file or str(path))


def parse_dockerfile(text: str, args: Mapping[str, str], *, file: str) -> Dockerfile:
    """Read the text of a Dockerfile. Raises ConfigError that names the lines that are not one's."""
    problems: list[Problem] = []
    head: list[Instruction] = []
    values: dict[str, str] = {}
    stages: list[tuple[Instruction, list[Instruction]]] = []
    for line, said in _logical(text):
        found = _INSTRUCTION.fullmatch(said)
        if found is None:
            problems.append(Problem(file=file, line=line, message="no instruction", value=said))
            continue
        instruction = _instruction(found["name"].upper(), found["rest"], line)
        if instruction.name == "FROM":
            stages.append((instruction, []))
        elif stages:
            stages[-1][1].append(instruction)
        else:
            head.append(instruction)
            for name, default in instruction.pairs:
                values[name] = args.get(name, substitute(default, values))
    if not stages and not problems:
        problems.append(Problem(file=file, message="there is no FROM"))
    if problems:
        raise ConfigError(problems)
    built = tuple(_stage(start, body, values, n) for n, (start, body) in enumerate(stages))
    return Dockerfile(file=file, stages=built, head=tuple(head))


def substitute(text: str, values: Mapping[str, str]) -> str:
    """Put variables in, as Dockerfiles do: ``$A``, ``${A}``, ``${A:-other}``, ``${A:+other}``."""

    def value(match: re.Match[str]) -> str:
        name = match["braced"] or match["bare"]
        if not name:
            return match[0]
        known = values.get(name, "")
        if match["how"] == ":-":
            return known or match["other"]
        if match["how"] == ":+":
            return match["other"] if known else ""
        return known

    return _VARIABLE.sub(value, text)


def stage_values(
    stage: Stage, head: Sequence[Instruction], args: Mapping[str, str]
) -> dict[str, str]:
    """Arguments and variables that a stage declares, with their values in this build."""
    defaults = {name: value for each in head for name, value in each.pairs}
    values: dict[str, str] = {}
    for each in stage.all_of("ARG", "ENV"):
        for name, default in each.pairs:
            if each.name == "ARG":
                inherited = defaults.get(name, "") if "=" not in each.rest else default
                values[name] = args.get(name, substitute(inherited, values))
            else:
                values[name] = substitute(default, values)
    return values


def _stage(
    start: Instruction, body: Sequence[Instruction], values: Mapping[str, str], number: int
) -> Stage:
    found = _FROM.match(start.rest)
    given = found["image"] if found else start.rest
    name = (found["stage"] or "") if found else ""
    return Stage(
        name=name.lower() or str(number),
        image=substitute(given, values),
        given=given,
        line=start.line,
        instructions=tuple(body),
    )


def _instruction(name: str, rest: str, line: int) -> Instruction:
    flags: list[tuple[str, str]] = []
    while found := _FLAG.match(rest):
        flags.append((found["name"], found["value"] or ""))
        rest = rest[found.end() :]
    return Instruction(name, tuple(flags), rest.strip(), line)


def _logical(text: str) -> Iterator[tuple[int, str]]:
    """Instructions with their first line: continued lines joined, here-documents taken in."""
    lines = iter(enumerate(text.splitlines(), start=1))
    start, held = 0, ""
    for number, line in lines:
        bare = line.strip()
        if not bare or bare.startswith("#"):
            # A comment does not end what it stands in the middle of.
            continue
        start = start or number
        if bare.endswith("\\"):
            held += bare[:-1].rstrip() + " "
            continue
        whole = held + bare
        for word in [match["word"] for match in _HEREDOC.finditer(whole)]:
            for _, body in lines:
                whole += f"\n{body}"
                if body.strip() == word:
                    break
        yield start, whole
        start, held = 0, ""
    if held:
        yield start, held.rstrip()


def _unquoted(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1]
    return text
