"""Does ``--mode compatible`` select what vLLM's own generator selected?

Reads recorded cases: a list of commits with their name-status list, or ``{"cases": [...]}`` with
plain lists of changed files. Every case holds what the generator selected on the definitions of
one tree. Prints ``identical N of M``, each case that differs, and exits 6 if any does.

    python benchmarks/compatible.py --definitions TREE CASES.json...
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gauntlet.core.errors import ExitCode, GauntletError
from gauntlet.pipelines.changes import ChangedFile, ChangeSet
from gauntlet.pipelines.decisions import Options
from gauntlet.pipelines.definitions.files import read_files
from gauntlet.pipelines.definitions.job import Tier
from gauntlet.pipelines.definitions.loader import parse_definitions
from gauntlet.pipelines.selection import select
from gauntlet.pipelines.sources import CONFIG_PATH

SHARED = Path(__file__).resolve().parents[2] / "shared/data/vllm-0.25.0"


@dataclass(frozen=True, slots=True)
class Case:
    """One recorded selection."""

    name: str
    changes: ChangeSet
    nightly: bool
    docs_only: bool
    selected: frozenset[str]


def read_cases(path: Path) -> Iterator[Case]:
    """Read one file of cases, of either form. Raises ValueError for a file that is neither."""
    value = json.loads(path.read_text(encoding="utf-8"))
    records = value.get("cases") if isinstance(value, dict) else value
    if not isinstance(records, list):
        msg = f"{path}: neither a list of cases nor a mapping with the key 'cases'"
        raise ValueError(msg)  # noqa: TRY004 - the file is wrong, not the program
    for number, record in enumerate(records):
        try:
            yield _case(path, number, record)
        except (KeyError, TypeError) as error:
            msg = f"{path}: case {number}: {error!r}"
            raise ValueError(msg) from error


def _case(path: Path, number: int, record: dict[str, Any]) -> Case:
    if "files" in record:
        files = [
            ChangedFile(path=f["path"], status=f["status"][0], old_path=f.get("old_path"))
            for f in record["files"]
        ]
    else:
        files = [ChangedFile(path=name) for name in record["changed_files"]]
    name = record.get("sha") or record.get("id", number)
    return Case(
        name=f"{path.name}:{name}",
        changes=ChangeSet(files=tuple(files)),
        nightly=bool(record.get("nightly", False)),
        docs_only=bool(record["docs_only"]),
        selected=frozenset(record["selected"]),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare all cases; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("cases", nargs="+", type=Path, metavar="CASES.json")
    parser.add_argument("--definitions", type=Path, default=SHARED, metavar="TREE")
    parser.add_argument("--config", default=CONFIG_PATH)
    given = parser.parse_args(arguments)
    try:
        definitions = parse_definitions(read_files(given.definitions, given.config))
        cases = [case for path in given.cases for case in read_cases(path)]
    except (GauntletError, OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return ExitCode.USAGE
    identical = 0
    for case in cases:
        options = Options(mode="compatible", tier=Tier.NIGHTLY if case.nightly else Tier.READY)
        found = select(definitions, case.changes, options)
        more, less = set(found.selected) - case.selected, case.selected - set(found.selected)
        if not more and not less and found.docs_only is case.docs_only:
            identical += 1
            continue
        print(f"{case.name}: +{sorted(more)} -{sorted(less)} docs_only={found.docs_only}")
    print(f"identical {identical} of {len(cases)}")
    return ExitCode.OK if identical == len(cases) else ExitCode.NOT_QUALIFIED


if __name__ == "__main__":
    sys.exit(main())
