"""A pytest plugin that collects an inventory, runs one shard of a plan, and writes its receipt.

It needs pytest and the standard library alone, so that this one file can be copied into a test
image. Give its options with ``=``: pytest looks for its root folder before it knows them, and
would take a path that stands alone for a folder of tests.

A test that was collected but is in no shard's plan (it was added since) runs on exactly one
shard: one that has tests of the same file where there is any. A planned test that is not
collected ends its own shard with exit code 16: the plan came from the same command line, so
something that the tests depend on has changed, and nobody can say what else is lost.
"""

import hashlib
import json
import os
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import pytest

SCHEMA_VERSION = 1
EXIT_MISSING = 16
"""A planned test was not collected. Neither pytest nor its common plugins use this code."""
_SHARD = "BUILDKITE_PARALLEL_JOB"
_SHARDS = "BUILDKITE_PARALLEL_JOB_COUNT"
_OPTION = "--gauntlet-"
_SHOWN = 20


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options; without any of the three files the plugin does nothing."""
    group = parser.getgroup("gauntlet", "Gauntlet: one job as several shards")
    group.addoption(
        f"{_OPTION}collect",
        metavar="FILE",
        help="write the ids of the collected tests into this inventory, and run nothing",
    )
    group.addoption(
        f"{_OPTION}command",
        metavar="N",
        type=int,
        default=0,
        help="which pytest call of the job this is, from 0",
    )
    group.addoption(f"{_OPTION}shard-plan", metavar="FILE", help="run one shard of this plan")
    group.addoption(
        f"{_OPTION}shard", metavar="N", type=int, help=f"which shard, from 0; default: ${_SHARD}"
    )
    group.addoption(
        f"{_OPTION}receipt",
        metavar="FILE",
        help="write what ran, and for how long; {shard} in the name is the shard's number",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register what the options ask for. Raises UsageError where they do not fit together."""
    collect = config.getoption("gauntlet_collect")
    plan = config.getoption("gauntlet_shard_plan")
    receipt = config.getoption("gauntlet_receipt")
    if not (collect or plan or receipt):
        return
    if collect and (plan or receipt):
        _refuse("--gauntlet-collect runs nothing: leave the plan and the receipt away")
    if hasattr(config, "workerinput") or getattr(config.option, "dist", "no") != "no":
        _refuse("a shard runs its tests one after the other: leave pytest-xdist away")
    part: _Collector | _Shard
    if collect:
        config.option.collectonly = True
        part = _Collector(config, _path(config, collect))
    else:
        part = _Shard(config, plan and _path(config, plan), receipt)
    config.pluginmanager.register(part, "gauntlet-shard")


class _Collector:
    """Writes the ids that one pytest call would run."""

    def __init__(self, config: pytest.Config, path: Path) -> None:
        self._config = config
        self._path = path
        self._node_ids: list[str] = []
        self._written = False
        self._document = _read(path) or {
            "schema_version": SCHEMA_VERSION,
            "job": None,
            "commands_sha256": None,
        }
        index, argv = config.getoption("gauntlet_command"), _arguments(config)
        for entry in self._document.get("commands", []):
            if entry["index"] == index and entry["argv"] != argv:
                _refuse(f"{path} holds another pytest call {index}: give --gauntlet-command")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._node_ids = [item.nodeid for item in session.items]

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if exitstatus not in {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}:
            return
        entry = {
            "index": self._config.getoption("gauntlet_command"),
            "argv": _arguments(self._config),
            "node_ids": self._node_ids,
        }
        # The planner tells an empty call apart, and says which one it is.
        session.exitstatus = pytest.ExitCode.OK
        _write_entry(self._path, self._document, entry)
        self._written = True

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section("gauntlet inventory")
        if self._written:
            terminalreporter.line(f"{len(self._node_ids)} tests, now in {self._path}")
        else:
            terminalreporter.line(f"{self._path} is not written: the collection failed", red=True)


@dataclass
class _Ran:
    """What became of one test; its seconds hold set-up and tear-down."""

    outcome: str = "unfinished"
    seconds: float = 0.0
    runs: int = 0

    def add(self, report: pytest.TestReport) -> None:
        # A subtest reports besides the test that holds it, whose time holds its own.
        if not hasattr(report, "context"):
            self.seconds += report.duration
        expected = hasattr(report, "wasxfail")
        # Plugins that repeat tests add outcomes of their own, such as "rerun": they decide nothing.
        outcome: str = report.outcome
        if "failed" in {outcome, self.outcome}:
            self.outcome = "failed"
        elif outcome == "skipped":
            self.outcome = "xfailed" if expected else "skipped"
        elif outcome == "passed" and report.when == "call":
            self.outcome = "xpassed" if expected else "passed"


@dataclass
class _Share:
    """What the plan says about one pytest call and one shard of it."""

    header: dict[str, Any]
    argv: Sequence[str] = ()
    mine: frozenset[str] = frozenset()
    owner: Mapping[str, int] = field(default_factory=dict)
    by_file: Mapping[str, Sequence[int]] = field(default_factory=dict)

    @property
    def planned(self) -> bool:
        return bool(self.header["plan_sha256"])

    def takes(self, node_id: str) -> bool:
        """Whether the test is this shard's to run."""
        if not self.planned or node_id in self.mine:
            return True
        if node_id in self.owner:
            return False
        # New since the plan. All shards that have tests of this call see it, and agree on one;
        # the others do not even collect.
        shards = self.by_file.get(_file(node_id)) or sorted(set(self.owner.values()))
        number = int(hashlib.sha256(node_id.encode("utf-8", "surrogatepass")).hexdigest(), 16)
        return bool(shards[number % len(shards)] == self.header["shard"])


class _Shard:
    """Runs the tests of one shard; without a plan, all of them."""

    def __init__(self, config: pytest.Config, plan: Path | None, receipt: str | None) -> None:
        self._config = config
        self._share = _plan_share(config, plan) if plan else _Share(header=_header())
        self._idle = self._share.planned and not self._share.mine
        self._selected: list[str] = []
        self._missing: list[str] = []
        self._unknown: list[str] = []
        self._ran: dict[str, _Ran] = {}
        self._receipt: Path | None = None
        self._document = dict(self._share.header)
        if receipt:
            name = receipt.replace("{shard}", str(self._share.header["shard"]))
            self._receipt = _path(config, name)
            earlier = _read(self._receipt) or {}
            # What another build left behind under this name is no part of this receipt.
            if {key: earlier.get(key) for key in self._document} == self._document:
                self._document = earlier

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> bool | None:
        # Importing tests only to leave them all out can take longer than a short shard.
        return True if self._idle else None

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> Generator[None, None, None]:
        # After everybody else, so that -k, -m and what conftest files do come first.
        yield
        if not self._share.planned:
            return
        others = [item for item in items if not self._share.takes(item.nodeid)]
        self._unknown = sorted({i.nodeid for i in items} - self._share.owner.keys())
        if others:
            items[:] = [item for item in items if self._share.takes(item.nodeid)]
            config.hook.pytest_deselected(items=others)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._selected = [item.nodeid for item in session.items]
        self._missing = sorted(self._share.mine.difference(self._selected))

    def pytest_report_collectionfinish(self) -> list[str]:
        if not self._share.planned:
            return []
        return [f"gauntlet: {len(self._selected)} tests are those of {self._name}"]

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._ran.setdefault(nodeid, _Ran()).runs += 1

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._ran.setdefault(report.nodeid, _Ran(runs=1)).add(report)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if exitstatus in {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}:
            if self._missing:
                session.exitstatus = EXIT_MISSING
            elif self._idle:
                session.exitstatus = pytest.ExitCode.OK
        if self._receipt is not None:
            self._write_receipt(self._receipt, int(session.exitstatus))

    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter, exitstatus: int
    ) -> None:
        # Where collection failed, pytest says what is lost.
        if not self._share.planned or exitstatus == pytest.ExitCode.INTERRUPTED:
            return
        terminalreporter.section(f"gauntlet {self._name}")
        if self._idle:
            terminalreporter.line("no test of this pytest call is planned for this shard")
        for node_id in self._unknown[:_SHOWN]:
            where = "runs here" if self._share.takes(node_id) else "runs on another shard"
            terminalreporter.line(f"not planned, {where}: {node_id}")
        for node_id in self._missing[:_SHOWN]:
            terminalreporter.line(f"planned, but not collected: {node_id}", red=True)
        if self._missing:
            terminalreporter.line(
                f"{len(self._missing)} planned test(s) are lost: this shard fails. Collect and "
                "plan again, on the same kind of machine and with the same command line.",
                red=True,
            )
            if list(self._share.argv) != _arguments(self._config):
                terminalreporter.line(f"planned as: {' '.join(self._share.argv)}", red=True)

    @property
    def _name(self) -> str:
        header = self._share.header
        return f"shard {header['shard']} of {header['shards']} (from 0)"

    def _write_receipt(self, path: Path, exit_status: int) -> None:
        entry = {
            "index": self._config.getoption("gauntlet_command"),
            "argv": _arguments(self._config),
            "selected": self._selected,
            "missing": self._missing,
            "unknown": self._unknown,
            "results": [
                {
                    "node_id": node_id,
                    "outcome": ran.outcome,
                    "seconds": round(ran.seconds, 6),
                    "runs": ran.runs,
                }
                for node_id, ran in self._ran.items()
            ],
            "exit_status": exit_status,
        }
        _write_entry(path, self._document, entry)


def _header(
    job: str | None = None, sha256: str | None = None, shard: int = 0, shards: int = 1
) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "job": job,
        "plan_sha256": sha256,
        "shard": shard,
        "shards": shards,
    }


def _plan_share(config: pytest.Config, path: Path) -> _Share:
    """Read this shard's share of this pytest call from the plan."""
    command = config.getoption("gauntlet_command")
    try:
        raw = path.read_bytes()
        plan = json.loads(raw)
        if plan["schema_version"] != SCHEMA_VERSION:
            _refuse(f"{path} has schema_version {plan['schema_version']}, not {SCHEMA_VERSION}")
        shards = plan["shards"]
        argv = {entry["index"]: entry["argv"] for entry in plan["commands"]}
        owner = {}
        for shard in shards:
            keys = [(c["index"], n) for c in shard["commands"] for n in c["node_ids"]]
            if shard["sha256"] != _sha256(keys):
                _refuse(f"{path}: the tests of shard {shard['index']} were altered")
            owner.update({n: shard["index"] for index, n in keys if index == command})
    except (OSError, ValueError, KeyError, TypeError) as error:
        _refuse(f"cannot read the shard plan {path}: {type(error).__name__}: {error}")
    if command not in argv:
        _refuse(f"{path} has no pytest call {command}: --gauntlet-command counts from 0")
    number = _shard_number(config, len(shards))
    by_file: dict[str, set[int]] = {}
    for node_id, shard_index in owner.items():
        by_file.setdefault(_file(node_id), set()).add(shard_index)
    return _Share(
        header=_header(plan["job"], hashlib.sha256(raw).hexdigest(), number, len(shards)),
        argv=argv[command],
        mine=frozenset(node_id for node_id, index in owner.items() if index == number),
        owner=owner,
        by_file={name: sorted(indices) for name, indices in by_file.items()},
    )


def _shard_number(config: pytest.Config, count: int) -> int:
    number = config.getoption("gauntlet_shard")
    if number is None:
        number = _number(_SHARD)
    if number is None:
        _refuse(f"which shard? give --gauntlet-shard, or set {_SHARD}")
    if not 0 <= number < count:
        _refuse(f"there is no shard {number}: the plan has {count}, from 0")
    told = _number(_SHARDS)
    if told is not None and told != count:
        _refuse(f"{_SHARDS} is {told}, but the plan has {count} shards")
    return int(number)


def _number(name: str) -> int | None:
    text = os.environ.get(name)
    if not text:
        return None
    if not text.isdecimal():
        _refuse(f"{name} is {text!r}, not a number")
    return int(text)


def _arguments(config: pytest.Config) -> list[str]:
    """The command line without this plugin."""
    own = []
    given = list(map(str, config.invocation_params.args))
    while given:
        word = given.pop(0)
        if word.startswith(_OPTION):
            if "=" not in word:
                given[:1] = []
        elif word == "-p" and given[:1] == [__name__]:
            given.pop(0)
        else:
            own.append(word)
    return own


def _file(node_id: str) -> str:
    return node_id.partition("::")[0]


def _path(config: pytest.Config, name: str) -> Path:
    # Absolute: tests may change the working directory.
    return config.invocation_params.dir.absolute() / name


def _sha256(keys: Sequence[tuple[int, str]]) -> str:
    text = json.dumps(sorted([index, node_id] for index, node_id in keys), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _read(path: Path) -> dict[str, Any] | None:
    """Read a document that earlier pytest calls began; None where there is none."""
    if not path.exists():
        return None
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        _refuse(f"{path} is not JSON: {error}")
    if not isinstance(document, dict):
        _refuse(f"{path} is not one of this plugin's files")
    return document


def _write_entry(path: Path, document: dict[str, Any], entry: dict[str, Any]) -> None:
    """Put one pytest call's entry into the document; the file is whole or not there."""
    others = [e for e in document.get("commands", []) if e["index"] != entry["index"]]
    document["commands"] = sorted([*others, entry], key=lambda e: e["index"])
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    temporary.replace(path)


def _refuse(message: str) -> NoReturn:
    raise pytest.UsageError(f"gauntlet: {message}")
