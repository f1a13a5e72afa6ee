"""The matrix as a Buildkite pipeline: each cell on its own queue, from the candidate's commit."""

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

import yaml

from gauntlet.core.errors import ConfigError, Problem
from gauntlet.release.matrix.model import ImageCell, Matrix, WheelCell

# What an agent that was lost leaves behind; anything else is the build's own fault.
_LOST = [{"exit_status": -1, "limit": 2}, {"signal_reason": "agent_stop", "limit": 2}]
_WORD = re.compile(r"\{(\w+)\}")


class _Plain(yaml.SafeDumper):
    """Writes what is there twice twice: nobody reads anchors."""

    def ignore_aliases(self, data: object) -> bool:
        """Never refer to another place."""
        del data
        return True


class Step(TypedDict, total=False):
    """One command step."""

    label: str
    key: str
    depends_on: list[object]
    agents: dict[str, str]
    timeout_in_minutes: int
    command: list[str]
    artifact_paths: list[str]
    retry: dict[str, object]
    env: dict[str, str]


class Group(TypedDict):
    """Steps below one heading."""

    group: str
    key: str
    steps: list[Step]


class Pipeline(TypedDict):
    """The whole pipeline."""

    env: dict[str, str]
    steps: list[Group]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What is built: the candidate, its commit, and where images are staged."""

    candidate: str
    version: str
    """As packages carry it, such as ``1.2.0``."""
    commit: str
    staging: str
    """``docker://HOST[/PATH]`` that images are pushed to before they are proven."""
    options: str = ""
    """Of ``release`` on the agents: which policy and matrix, as paths in the checkout there."""


def render(matrix: Matrix, source: Source) -> Pipeline:
    """Render every cell as a step. Raises ConfigError for a command with an unknown word."""
    wheels = [_wheel(matrix, cell, source) for cell in matrix.wheels]
    if matrix.sdist:
        wheels.append(_sdist(matrix, source))
    smoke = [_smoke_wheel(cell, source) for cell in matrix.wheels]
    images = [_image(matrix, cell, source) for cell in matrix.images]
    smoke_images = [_smoke_image(cell, source) for cell in matrix.images]
    groups = [
        Group(group="Wheels", key="wheels", steps=wheels),
        Group(group="Smoke tests of wheels", key="smoke-wheels", steps=smoke),
        Group(group="Images", key="images", steps=images),
        Group(group="Smoke tests of images", key="smoke-images", steps=smoke_images),
    ]
    before = [step["key"] for group in groups for step in group["steps"]]
    groups.append(Group(group="Prove", key="prove", steps=[_collect(matrix, source, before)]))
    return Pipeline(
        env={"GAUNTLET_CANDIDATE": source.candidate, "GAUNTLET_COMMIT": source.commit},
        steps=[group for group in groups if group["steps"]],
    )


def to_yaml(pipeline: Pipeline) -> str:
    """Write a pipeline as YAML, for ``buildkite-agent pipeline upload``."""
    return yaml.dump(pipeline, Dumper=_Plain, sort_keys=False, width=120, allow_unicode=True)


def fill_in(template: str, words: Mapping[str, str], *, key: str) -> str:
    """Fill words in braces in. Raises ConfigError for one that is not known."""
    unknown = sorted({word for word in _WORD.findall(template) if word not in words})
    if unknown:
        problem = Problem(
            file="matrix",
            key=f"builders.{key}",
            message=f"unknown word {{{unknown[0]}}} in {template!r}",
            allowed=tuple(f"{{{word}}}" for word in sorted(words)),
        )
        raise ConfigError([problem])
    return _WORD.sub(lambda found: words[found[1]], template)


def wheel_words(cell: WheelCell, source: Source, out: str) -> dict[str, str]:
    """What the words of a wheel's command stand for; values are quoted for the shell."""
    return {
        **_common(source),
        "cell": cell.id,
        "variant": shlex.quote(cell.variant),
        "platform_tag": cell.platform_tag,
        "dockerfile": shlex.quote(cell.dockerfile),
        "target": _target(cell.target),
        "build_args": _build_args(cell.build_args),
        "platform": "linux/arm64" if cell.arch == "aarch64" else "linux/amd64",
        "out": shlex.quote(out),
    }


def sdist_words(source: Source, out: str) -> dict[str, str]:
    """What the words of the source distribution's command stand for."""
    return {**_common(source), "out": shlex.quote(out)}


def image_words(cell: ImageCell, source: Source, wheel: str) -> dict[str, str]:
    """What the words of an image's command stand for; values are quoted for the shell."""
    return {
        **_common(source),
        "cell": cell.id,
        "dockerfile": shlex.quote(cell.dockerfile),
        "build_args": _build_args(cell.build_args),
        "platform": cell.platform,
        "target": _target(cell.target),
        "reference": shlex.quote(staged(cell, source)),
        "wheel": shlex.quote(wheel),
    }


def staged(cell: ImageCell, source: Source) -> str:
    """Name of an image before it is proven: by commit and cell, so that none overwrites another."""
    registry = source.staging.removeprefix("docker://")
    return f"{registry}/{cell.repository}:{source.commit}-{cell.id}"


def _common(source: Source) -> dict[str, str]:
    return {
        "version": shlex.quote(source.version),
        "commit": source.commit,
        "candidate": shlex.quote(source.candidate),
    }


def _build_args(arguments: Mapping[str, str]) -> str:
    pairs = (f"--build-arg {shlex.quote(f'{name}={value}')}" for name, value in arguments.items())
    return " ".join(pairs)


def _target(name: str) -> str:
    return f"--target {shlex.quote(name)}" if name else ""


def _wheel(matrix: Matrix, cell: WheelCell, source: Source) -> Step:
    words = wheel_words(cell, source, "dist")
    built = [fill_in(each, words, key="wheel") for each in matrix.builders.wheel]
    # A label after the version keeps variants of one version apart.
    local = f"+{cell.variant}" if cell.variant else ""
    env = {"GAUNTLET_VERSION": f"{source.version}{local}"}
    checked = f"gauntlet wheels check dist/*.whl --version {source.version}"
    return Step(
        label=f"Wheel {cell.id}",
        key=f"wheel-{cell.id}",
        agents={"queue": cell.queue},
        timeout_in_minutes=cell.timeout_minutes,
        env=env,
        command=_commands(source, [*built, checked]),
        artifact_paths=["dist/*.whl"],
        retry={"automatic": _LOST},
    )


def _sdist(matrix: Matrix, source: Source) -> Step:
    words = sdist_words(source, "dist")
    built = [fill_in(each, words, key="sdist") for each in matrix.builders.sdist]
    checked = f"gauntlet wheels check dist/*.tar.gz --version {source.version}"
    return Step(
        label="Source distribution",
        key="sdist",
        agents={"queue": matrix.builders.sdist_queue},
        timeout_in_minutes=30,
        env={"GAUNTLET_VERSION": source.version},
        command=_commands(source, [*built, checked]),
        artifact_paths=["dist/*.tar.gz"],
        retry={"automatic": _LOST},
    )


def _smoke_wheel(cell: WheelCell, source: Source) -> Step:
    key = f"wheel-{cell.id}"
    tested = f"release smoke {source.candidate} --cell {cell.id} --commit {source.commit}"
    commands = [
        f"buildkite-agent artifact download 'dist/*.whl' . --step {key}",
        f"{tested} --wheel dist/*.whl --out smoke/{cell.id}.json{source.options}",
    ]
    return Step(
        label=f"Smoke test {cell.id}",
        key=f"smoke-{cell.id}",
        depends_on=[key],
        agents={"queue": cell.smoke_queue},
        timeout_in_minutes=45,
        command=_commands(source, commands),
        artifact_paths=["smoke/*.json"],
        retry={"automatic": _LOST},
    )


def _image(matrix: Matrix, cell: ImageCell, source: Source) -> Step:
    key = f"wheel-{cell.wheel}"
    # The image takes the wheel that was built, not one that it builds again.
    fetched = f"buildkite-agent artifact download 'dist/*.whl' . --step {key}"
    words = image_words(cell, source, "dist")
    built = [fill_in(each, words, key="image") for each in matrix.builders.image]
    return Step(
        label=f"Image {cell.id}",
        key=f"image-{cell.id}",
        depends_on=[key],
        agents={"queue": cell.queue},
        timeout_in_minutes=cell.timeout_minutes,
        command=_commands(source, [fetched, *built]),
        retry={"automatic": _LOST},
    )


def _smoke_image(cell: ImageCell, source: Source) -> Step:
    tried = f"release smoke {source.candidate} --cell {cell.id} --commit {source.commit}"
    command = f"{tried} --staging {shlex.quote(source.staging)} --out smoke/{cell.id}.json"
    command += source.options
    return Step(
        label=f"Smoke test {cell.id}",
        key=f"smoke-{cell.id}",
        depends_on=[f"image-{cell.id}"],
        agents={"queue": cell.smoke_queue},
        timeout_in_minutes=45,
        command=_commands(source, [command]),
        artifact_paths=["smoke/*.json"],
        retry={"automatic": _LOST},
    )


def _collect(matrix: Matrix, source: Source, before: Iterable[str]) -> Step:
    """What failed before is a cell that is missing, and the report has to say so."""
    collected = f"release build {source.candidate} --collect dist --smoke smoke"
    commands = [
        "buildkite-agent artifact download 'dist/*' .",
        "buildkite-agent artifact download 'smoke/*' .",
        f"{collected} --staging {shlex.quote(source.staging)} --yes{source.options}",
    ]
    return Step(
        label="Collect, check, sum up",
        key="collect",
        depends_on=[{"step": key, "allow_failure": True} for key in before],
        agents={"queue": matrix.builders.collect_queue},
        timeout_in_minutes=120,
        command=_commands(source, commands),
        artifact_paths=["dist/*", "smoke/*"],
    )


def _commands(source: Source, commands: Sequence[str]) -> list[str]:
    """Begin with the commit: an agent that is elsewhere would build another engine."""
    at = f'test "$(git rev-parse HEAD)" = {source.commit}'
    # Buildkite would put its own variables where a dollar stands.
    return [command.replace("$", "$$") for command in (at, *commands)]
