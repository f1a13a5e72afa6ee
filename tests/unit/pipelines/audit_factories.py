"""Small inputs for the tests of the audit."""

from unit.pipelines.factories import CONFIG, files

from gauntlet.pipelines.audit.model import AuditInput, AuditRequest
from gauntlet.pipelines.audit.prepare import prepare
from gauntlet.pipelines.audit.registry import RULES
from gauntlet.pipelines.definitions.config import DefinitionFile
from gauntlet.pipelines.fleet import fleet_text
from gauntlet.pipelines.timings import Timings

ONE = ".buildkite/areas/one.yaml"
TREE = (
    "setup.py",
    "csrc/a.cu",
    "csrc/cpu/b.cpp",
    "vllm/a/x.py",
    "vllm/a/y.py",
    "vllm/b/z.py",
    "tests/a/test_one.py",
    "tests/a/test_two.py",
    "tests/b/test_three.py",
    "tests/b/helper.py",
    "tests/run.sh",
)
AREA = "group: G\ndepends_on: []\nsteps:\n"


def request(
    text: str | dict[str, str] = "",
    *,
    tree=TREE,
    config=CONFIG,
    others: dict[str, str] | None = None,
    scripts: dict[str, str] | None = None,
    jobs: dict[str, list[float]] | None = None,
) -> AuditRequest:
    """A request over one job file, or several; ``jobs`` are measured durations."""
    return AuditRequest(
        files=files(text if isinstance(text, dict) else {ONE: text}, config),
        others=tuple(DefinitionFile(path=path, text=body) for path, body in (others or {}).items()),
        tree=tuple(tree),
        scripts=scripts or {},
        fleet=fleet_text(),
        timings=None if jobs is None else Timings(schema_version=1, jobs=jobs),
    )


def audited(*arguments, **options) -> AuditInput:
    return prepare(request(*arguments, **options))


def findings(rule: str, *arguments, **options):
    return list(RULES[rule].find(audited(*arguments, **options)))


def found(rule: str, *arguments, **options) -> list[tuple[str, str]]:
    """Job and subject of every finding."""
    return [(item.job, item.subject) for item in findings(rule, *arguments, **options)]


def step(name: str = "job", **fields: str) -> str:
    """One step of a job file, each field as it stands in YAML; an empty one is left out."""
    given = {"label": name, "key": name, "working_dir": "/vllm-workspace/tests", "commands": "[x]"}
    lines = [f"{field}: {value}" for field, value in (given | fields).items() if value]
    return "- " + "\n  ".join(lines) + "\n"


def area(*steps: str) -> str:
    return AREA + "".join(steps)
