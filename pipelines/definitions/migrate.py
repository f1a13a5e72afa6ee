"""Rewrite vLLM's definitions in Gauntlet's own language, comments kept, and prove it the same."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from gauntlet.core.errors import ConfigError, Problem
from gauntlet.core.yaml_file import dump_yaml, parse_yaml
from gauntlet.pipelines.definitions.comments import Comment, find_comments, split_by_step
from gauntlet.pipelines.definitions.config import DefinitionFile, is_native, parse_config
from gauntlet.pipelines.definitions.files import DefinitionFiles
from gauntlet.pipelines.definitions.job import Definitions, Job, Tier
from gauntlet.pipelines.definitions.loader import parse_definitions
from gauntlet.pipelines.definitions.native_models import MARKER
from gauntlet.pipelines.fleet import Fleet

_HEAD = {MARKER: 1}
# Job field -> key of the native language, in the order in which people read a job. Where the
# value is the default it is not written.
_KEYS = {
    "key": "key",
    "label": "label",
    "tier": "tier",
    "image": "image",
    "always": "always",
    "device": "device",
    "num_devices": "num_devices",
    "num_nodes": "num_nodes",
    "needs_accelerator": "accelerator",
    "transport": "transport",
    "mount_agent": "mount_agent",
    "agent_tags": "agent_tags",
    "agents": "agents",
    "hardware_tags": "hardware_tags",
    "timeout_in_minutes": "timeout_in_minutes",
    "parallelism": "parallelism",
    "automatic_shard": "automatic_shard",
    "soft_fail": "soft_fail",
    "retry": "retry",
    "priority": "priority",
    "concurrency": "concurrency",
    "concurrency_group": "concurrency_group",
    "condition": "if",
    "allow_dependency_failure": "allow_dependency_failure",
    "depends_on": "depends_on",
    "working_dir": "working_dir",
    "env": "env",
    "source_dependencies": "source_file_dependencies",
    "commands": "commands",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """The rewritten files, and what was left as it is because it cannot be read.

    ``different`` are keys of jobs that did not come out the same; empty where all is well.
    """

    files: DefinitionFiles
    left: tuple[Problem, ...]
    different: tuple[str, ...]


def migrate(files: DefinitionFiles, fleet: Fleet) -> Migration:
    """Rewrite the files of one pipeline. Pure; a file that is native already stays as it is.

    Raises ConfigError where the configuration cannot be read, or is not of this kind.
    """
    config = parse_config(files.config)
    if config.language == "legacy":
        message = "a pipeline of a single file has no groups and no dependencies to migrate"
        raise ConfigError([Problem(file=files.config.path, message=message)])
    before = parse_definitions(files)
    broken = {job.file: job.problems for job in before.broken}
    jobs = [file if file.path in broken else _rewritten(file, before, fleet) for file in files.jobs]
    changed = replace(files, config=_config(files.config, before), jobs=tuple(jobs))
    after = parse_definitions(changed)
    left = tuple(problem for problems in broken.values() for problem in problems)
    return Migration(files=changed, left=left, different=_different(before, after, fleet))


def _different(before: Definitions, after: Definitions, fleet: Fleet) -> tuple[str, ...]:
    """Keys of jobs that are not the same, the device that was implied being written out."""
    old = {job.key: _comparable(job, fleet) for job in before.jobs}
    new = {job.key: _comparable(job, fleet) for job in after.jobs}
    keys = {key for key in old.keys() | new.keys() if old.get(key) != new.get(key)}
    keys |= {job.key for job in before.broken} ^ {job.key for job in after.broken}
    return tuple(sorted(keys))


def _comparable(job: Job, fleet: Fleet) -> Job:
    # The order of declared files says nothing; a mirror's own come first in one language.
    sources = tuple(sorted(set(job.source_dependencies)))
    return replace(job, device=fleet.device_name(job), source_dependencies=sources)


def _config(file: DefinitionFile, definitions: Definitions) -> DefinitionFile:
    document = parse_yaml(file.text, file=file.path)
    if is_native(document):
        return file
    value = dict(_HEAD) | document.value
    value["labels"] = {
        name: {"tier": rule.tier.title if rule.tier else None, "run_all": rule.run_all}
        for name, rule in definitions.labels.items()
    }
    value["elsewhere"] = list(definitions.elsewhere)
    head = _comment_lines(find_comments(file.text))
    return replace(file, text="".join(head) + dump_yaml(value))


def _rewritten(file: DefinitionFile, definitions: Definitions, fleet: Fleet) -> DefinitionFile:
    document = parse_yaml(file.text, file=file.path)
    if document.value is None or is_native(document):
        return file
    families = _families(job for job in definitions.jobs if job.file == file.path)
    comments = split_by_step(find_comments(file.text), [family[0].line or 0 for family in families])
    lent = tuple(_listed(document.value.get("depends_on")))
    shared = Job(key="", label="", group="", file="", commands=(), depends_on=lent)
    group = document.value.get("group") or file.path.rpartition("/")[2].rpartition(".")[0]
    top: dict[str, Any] = {**_HEAD, "group": group}
    if lent:
        folder = _commonest(job.working_dir for family in families for job in family)
        shared = replace(shared, working_dir=folder)
        top |= {"depends_on": list(lent)} | ({"working_dir": folder} if folder else {})
    text = "".join(_comment_lines(comments[0])) + dump_yaml(top) + ("jobs:\n" if families else "")
    for family, own in zip(families, comments[1:], strict=True):
        text += "\n" + "".join(_comment_lines(own)) + dump_yaml([_written(family, shared, fleet)])
    return replace(file, text=text if families else text + "jobs: []\n")


def _families(jobs: Iterable[Job]) -> list[list[Job]]:
    """Jobs of one file, each with its mirrors behind it."""
    found: list[list[Job]] = []
    for job in jobs:
        if job.mirror_of is None:
            found.append([job])
        else:
            found[-1].append(job)
    return found


def _written(family: Sequence[Job], shared: Job, fleet: Fleet) -> dict[str, Any]:
    job, *mirrors = family
    written = _fields(job, shared, fleet, everything=("key", "label", "commands", "device"))
    if not mirrors:
        return written
    own = _vendor(job, fleet)
    rows: dict[str, Any] = {own: {"device": written.pop("device")}}
    for mirror in mirrors:
        vendor = mirror.key.removesuffix(f"-{job.key}")
        name = vendor if vendor not in (own, mirror.key) else f"{own}-mirror"
        row = _fields(mirror, job, fleet, everything=("label", "device"))
        if row.get("key") == f"{name}-{job.key}":
            del row["key"]
        added = [e for e in mirror.source_dependencies if e not in set(job.source_dependencies)]
        row.pop("source_file_dependencies", None)
        rows[name] = row | ({"source_file_dependencies": added} if added else {})
    place = list(written).index("label") + 1
    items = list(written.items())
    return dict([*items[:place], ("vendors", rows), *items[place:]])


def _fields(job: Job, basis: Job, fleet: Fleet, *, everything: Sequence[str]) -> dict[str, Any]:
    """What a job says other than ``basis``, in the words of the native language."""
    written: dict[str, Any] = {}
    known = {field.name for field in fields(Job)}
    for name, key in _KEYS.items():
        value = fleet.device_name(job) if name == "device" else getattr(job, name)
        if name not in known or (name not in everything and value == getattr(basis, name)):
            continue
        written[key] = _plain(value)
    return written


def _plain(value: object) -> object:
    if isinstance(value, Tier):
        return value.title
    if isinstance(value, tuple):
        return list(value)
    return dict(value) if isinstance(value, Mapping) else value


def _vendor(job: Job, fleet: Fleet) -> str:
    device = fleet.devices.get(fleet.device_name(job))
    return device.vendor if device else "unknown"


def _commonest(values: Iterable[str | None]) -> str | None:
    seen = [value for value in values if value]
    return max(sorted(set(seen)), key=seen.count) if seen else None


def _listed(value: object) -> list[str]:
    if value is None:
        return []
    return [value] if isinstance(value, str) else list(value)  # type: ignore[call-overload]


def _comment_lines(comments: Iterable[Comment]) -> list[str]:
    lines: list[str] = []
    for comment in comments:
        # The same remark behind several lines is one remark above them all.
        if comment.alone or comment.text not in lines:
            lines.append(comment.text)
    return [f"{line}\n" for line in lines]
