"""What is asked to be picked: ids, numbers of pull requests, a file of them, a label."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from gauntlet.core.errors import UsageError
from gauntlet.core.git import find_commit
from gauntlet.core.yaml_file import read_text
from gauntlet.release.picks.history import Change
from gauntlet.release.picks.plan import Wanted
from gauntlet.services.codehost.port import CodeHost, PullRequest

# Fewer digits than git's shortest usual id: a pull request.
_NUMBER = re.compile(r"#(\d+)|(\d{1,6})")


def read_names(path: Path) -> tuple[str, ...]:
    """Read a file of ids and numbers, one a line; what follows the first blank is for people.

    Empty lines and those that begin with ``# `` are left out. Raises ConfigError where it cannot
    be read.
    """
    lines = [line.strip() for line in read_text(path).splitlines()]
    return tuple(line.split()[0] for line in lines if line and not re.match(r"#(?!\d)", line))


def wanted_by_name(
    repository: Path, names: Iterable[str], main: Sequence[Change], host: CodeHost | None
) -> list[Wanted]:
    """Find the commits of ids and numbers; what cannot be found has an objection.

    Without a code host a pull request is known by its number in the subjects of main.
    """
    found: list[Wanted] = []
    for name in names:
        if number := _NUMBER.fullmatch(name):
            found += _by_number(int(number[1] or number[2]), main, host)
        else:
            found.append(_by_id(repository, name))
    return found


def wanted_by_mark(
    host: CodeHost | None, main: Sequence[Change], *, label: str, milestone: str
) -> list[Wanted]:
    """Find what merged pull requests with a label or in a milestone brought.

    Raises UsageError where no code host can be asked.
    """
    if host is None:
        msg = "no code host is there to be asked for a label or milestone"
        raise UsageError(msg, hint="repository.slug of the policy names it; its token is needed")
    pulls = host.merged(label=label, milestone=milestone)
    return [want for pull in pulls for want in _of_pull(pull, main)]


def with_labels(
    wanted: Iterable[Wanted], main: Sequence[Change], host: CodeHost | None
) -> list[Wanted]:
    """Add the labels of pull requests to what was asked for by id."""
    numbers: Mapping[str, int | None] = {change.sha: change.pull_request for change in main}
    found = []
    for want in wanted:
        number = numbers.get(want.sha)
        if host is None or number is None or want.labels:
            found.append(want)
            continue
        pull = host.pull_request(number)
        labels = pull.labels if pull is not None else ()
        found.append(Wanted(name=want.name, sha=want.sha, labels=labels))
    return found


def _by_id(repository: Path, name: str) -> Wanted:
    sha = find_commit(repository, name)
    if sha is None:
        return Wanted(name=name, objection="this clone has no such commit: git fetch?")
    return Wanted(name=name if sha.startswith(name) else sha[:10], sha=sha)


def _by_number(number: int, main: Sequence[Change], host: CodeHost | None) -> list[Wanted]:
    if host is not None:
        pull = host.pull_request(number)
        if pull is None:
            return [Wanted(name=f"#{number}", objection="there is no such pull request")]
        return _of_pull(pull, main)
    found = [change for change in main if change.pull_request == number]
    if not found:
        said = "no commit of main since the cut has its number, and no code host can be asked"
        return [Wanted(name=f"#{number}", objection=said)]
    return [Wanted(name=f"#{number}", sha=change.sha) for change in found]


def _of_pull(pull: PullRequest, main: Sequence[Change]) -> list[Wanted]:
    """All commits of a pull request: what the host names, and what bears its number on main."""
    name = f"#{pull.number}"
    if pull.state != "merged":
        return [Wanted(name=name, labels=pull.labels, objection=f"it is {pull.state}, not merged",
                       kind="not-merged")]  # fmt: skip
    shas = [change.sha for change in main if change.pull_request == pull.number]
    if pull.merge_commit and pull.merge_commit not in shas:
        shas.append(pull.merge_commit)
    if not shas:
        return [Wanted(name=name, labels=pull.labels, objection="the code host names no commit")]
    return [Wanted(name=name, sha=sha, labels=pull.labels) for sha in shas]
