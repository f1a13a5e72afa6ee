"""What an audit looks at, and what it finds."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from gauntlet.core.yaml_file import YamlDocument
from gauntlet.pipelines.audit.runs import Invocation, Runs, what_runs
from gauntlet.pipelines.audit.tree import Tree
from gauntlet.pipelines.audit.written import WrittenJob
from gauntlet.pipelines.definitions.config import DefinitionFile
from gauntlet.pipelines.definitions.files import DefinitionFiles
from gauntlet.pipelines.definitions.job import Definitions
from gauntlet.pipelines.fleet import Fleet
from gauntlet.pipelines.timings import Timings


class Identity(NamedTuple):
    """What a finding is about, without the line, which moves with every edit of the file."""

    rule: str
    file: str
    job: str
    subject: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing wrong; ``subject`` is the entry, file, folder or key that it is about.

    ``line`` counts from 1, None where no single line is to blame. ``job`` is the key of the job,
    "" where the finding is about no job.
    """

    rule: str
    file: str
    line: int | None = None
    job: str = ""
    subject: str
    message: str

    @property
    def identity(self) -> Identity:
        """What tells this finding from others, also after edits elsewhere in the file."""
        return Identity(self.rule, self.file, self.job, self.subject)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRequest:
    """Everything as it was read, before anything is made of it.

    ``others`` are files of further pipelines of the tree, in any dialect; ``scripts`` the text of
    shell scripts by path; ``notes`` what a reader of the report should know about the reading.
    """

    files: DefinitionFiles
    others: tuple[DefinitionFile, ...] = ()
    tree: tuple[str, ...]
    scripts: Mapping[str, str] = field(default_factory=dict)
    fleet: str
    timings: Timings | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class AuditInput:
    """What rules look at; ``documents`` hold every file that parses, by path.

    ``commands`` are those of all pipelines of the tree, ``jobs`` those of the chosen one;
    ``unread`` are files of other pipelines that do not parse.
    """

    files: DefinitionFiles
    texts: tuple[DefinitionFile, ...]
    documents: Mapping[str, YamlDocument]
    definitions: Definitions
    jobs: tuple[WrittenJob, ...]
    commands: tuple[Invocation, ...]
    unread: tuple[str, ...]
    tree: Tree
    scripts: Mapping[str, str]
    fleet: Fleet
    timings: Timings | None

    @cached_property
    def runs(self) -> Runs:
        """Test files that any pipeline of the tree runs."""
        return what_runs(self.commands, self.tree, self.scripts)

    @cached_property
    def by_key(self) -> Mapping[str, WrittenJob]:
        """Jobs of the chosen pipeline by key."""
        return {written.job.key: written for written in self.jobs}

    def vendor(self, written: WrittenJob) -> str | None:
        """Who made the hardware that a job runs on, None where its device is not known."""
        device = self.fleet.devices.get(self.fleet.device_name(written.job))
        return device.vendor if device else None
