"""The grid of commits and groups as one HTML table: pure functions of the query ``main_grid``.

Thousands of cells: class names are of one letter, the signs come from the style sheet, and what a
cell says stands in its title alone unless it holds a number.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape
from typing import Any, NamedTuple
from urllib.parse import quote_plus

from gauntlet.hud.outcomes import (
    CLASSES,
    SHORT_SHA,
    WORST_FIRST,
    commit_address,
    pull_request_address,
)
from gauntlet.hud.shell.links import web_address
from gauntlet.hud.strips import state_style

_TROUBLE = {"failed": 3, "infra": 2, "flaky": 1}
_BUILD_STATES = {
    "passed": "passed",
    "failed": "failed",
    "canceled": "not run",
    "skipped": "not run",
    "not_run": "not run",
    "blocked": "blocked",
}


class Counts(NamedTuple):
    """How many jobs of a group ended how at a commit, worst first."""

    failed: int = 0
    infra: int = 0
    flaky: int = 0
    running: int = 0
    blocked: int = 0
    passed: int = 0
    not_run: int = 0

    @property
    def state(self) -> str:
        """The worst state of any job; "not run" where no job ran."""
        found = (state for state, count in zip(WORST_FIRST, self, strict=True) if count)
        return next(found, "not run")

    @property
    def words(self) -> str:
        """All counts in words: ``1 failed, 12 passed``."""
        said = [f"{n} {state}" for state, n in zip(WORST_FIRST, self, strict=True) if n]
        return ", ".join(said) or "not run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """A row of the grid."""

    position: int
    sha: str
    title: str
    author: str
    committed_at: datetime
    repository: str
    pull_request: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """The newest build of a commit; its state is Buildkite's word."""

    number: int
    state: str
    url: str | None

    @property
    def shown(self) -> str:
        """The state as one of those of jobs; whatever has not ended runs."""
        return _BUILD_STATES.get(self.state, "running")


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Commits newest first, groups by name, and the counts of those that have any."""

    commits: Sequence[Commit]
    groups: Sequence[str]
    cells: Mapping[tuple[str, str], Counts]

    def counts(self, sha: str, group: str) -> Counts:
        """Counts of one cell; all zero where the group did not run."""
        return self.cells.get((sha, group), Counts())

    def find(self, sha: str) -> Commit | None:
        """The commit whose id begins so, if it is a row."""
        return next((each for each in self.commits if sha and each.sha.startswith(sha)), None)


def grid_of(rows: Sequence[Mapping[str, Any]]) -> Grid:
    """Shape the rows of ``main_grid``."""
    commits: dict[str, Commit] = {}
    cells: dict[tuple[str, str], Counts] = {}
    fields = Commit.__slots__
    for row in rows:
        sha = row["sha"]
        if sha not in commits:
            commits[sha] = Commit(**{name: row[name] for name in fields})
        if row["group_key"]:  # a commit that was not built has one row without a group
            cells[sha, row["group_key"]] = Counts(*(row[name] for name in Counts._fields))
    groups = sorted({group for _, group in cells})
    return Grid(commits=list(commits.values()), groups=groups, cells=cells)


def builds_of(rows: Sequence[Mapping[str, object]]) -> dict[str, Build]:
    """Builds by commit from the rows of ``commit_builds``; commits without one are left out."""
    return {
        str(row["sha"]): Build(
            number=int(str(row["build_number"])), state=str(row["state"]), url=str(row["url"])
        )
        for row in rows
        if row["build_number"] is not None
    }


def chosen_groups(grid: Grid, *, order: str, find: str, only_trouble: bool) -> list[str]:
    """Groups to show, in order: ``trouble`` (most first, then by name) or ``name``.

    Trouble adds up over the commits shown: 3 for failed, 2 for infra, 1 for flaky.
    """
    trouble = dict.fromkeys(grid.groups, 0)
    for (_, group), counts in grid.cells.items():
        trouble[group] += _TROUBLE.get(counts.state, 0)
    wanted = find.strip().casefold()
    groups = [
        group
        for group in grid.groups
        if wanted in group.casefold() and (trouble[group] or not only_trouble)
    ]
    return groups if order == "name" else sorted(groups, key=lambda group: (-trouble[group], group))


def grid_html(
    grid: Grid,
    groups: Sequence[str],
    *,
    address: Callable[[str], str],
    now: datetime,
    builds: Mapping[str, Build],
    chosen: tuple[str, str] | None = None,
) -> str:
    """Draw the grid as a table with rotated, sticky headings.

    ``address`` gives the address of a commit, to which ``&group=`` is added; ``chosen`` is the
    commit and group whose detail is shown.
    """
    heads = "".join(f'<th scope="col"><span>{escape(group)}</span>' for group in groups)
    hrefs = [escape(f"&group={quote_plus(group)}") for group in groups]
    names = [escape(group, quote=True) for group in groups]
    rows = []
    for row, commit in enumerate(grid.commits):
        base = escape(address(commit.sha[:SHORT_SHA]))
        cells = [
            _cell(
                grid.counts(commit.sha, group),
                f"{base}{href}",
                f"{name} at {escape(commit.sha[:SHORT_SHA])}",
                (row, column),
                marked=chosen == (commit.sha, group),
            )
            for column, (group, name, href) in enumerate(zip(groups, names, hrefs, strict=True))
        ]
        rows.append(f"<tr>{_commit_head(commit, now, builds.get(commit.sha))}{''.join(cells)}\n")
    return (
        f'<style>{_STYLE}</style><div class="gg" tabindex="-1">'
        f'<table role="grid" aria-label="State of each group at each commit, newest first"'
        f' data-grid="{len(grid.commits)},{len(groups)}">'
        f'<thead><tr><th scope="col">commit, author, age, build{heads}</thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _cell(counts: Counts, href: str, where: str, place: tuple[int, int], *, marked: bool) -> str:
    text = f"{where}: {counts.words}"
    number = str(counts.failed) if counts.failed > 1 else ""
    # A link's name is its content, or else its title.
    label = f' aria-label="{text}"' if number else ""
    current = ' aria-current="true"' if marked else ""
    return (
        f'<td><a class="{CLASSES[counts.state]}" href="{href}" title="{text}"{label}{current}'
        f' data-cell="{place[0]},{place[1]}" tabindex="{0 if place == (0, 0) else -1}">{number}</a>'
    )


def _commit_head(commit: Commit, now: datetime, build: Build | None) -> str:
    sha = escape(commit.sha[:SHORT_SHA])
    web = commit_address(commit.repository, commit.sha)
    pull = pull_request_address(commit.repository, commit.pull_request)
    title = escape(commit.title)
    return (
        f'<th scope="row"><div>{_outside(web, sha, "k")}'
        f'<span class="t" title="{title}">{_outside(pull, title, "")}</span>'
        f'<span class="w" title="{escape(commit.author)}">{escape(commit.author)}</span>'
        f'<span class="g">{_age((now - commit.committed_at).total_seconds())}</span>'
        f"{_build_sign(build)}</div></th>"
    )


def _age(seconds: float) -> str:
    """Age in its largest unit alone: a column of them has to stay narrow."""
    for unit, length in (("d", 86_400), ("h", 3_600)):
        if seconds >= length:
            return f"{seconds // length:.0f} {unit}"
    return f"{max(seconds, 0) // 60:.0f} min"


def _outside(address: str | None, inner: str, kind: str) -> str:
    """Already escaped text as a link to an address outside, or as plain text."""
    if address is None:
        return f'<span class="{kind}">{inner}</span>' if kind else inner
    return f'<a class="{kind}" href="{escape(address)}" target="_blank">{inner}</a>'


def _build_sign(build: Build | None) -> str:
    if build is None:
        return '<span class="z n" role="img" aria-label="not built" title="not built"></span>'
    said = escape(f"build {build.number}: {build.state}")
    kind = f"z {CLASSES[build.shown]}"
    if web := web_address(build.url):
        return f'<a class="{kind}" href="{escape(web)}" target="_blank" title="{said}"></a>'
    return f'<span class="{kind}" role="img" aria-label="{said}" title="{said}"></span>'


_PAGE = "light-dark(#ffffff,#0e1117)"
_STYLE = state_style("gg") + (
    ".gg{overflow:auto;max-height:78vh;width:fit-content;max-width:100%;font-size:12px}"
    ".gg table{border-collapse:separate;border-spacing:0;width:auto;margin:0}"
    ".gg th,.gg td{border:0;padding:0 1px 1px 0;font-weight:400;vertical-align:bottom}"
    f".gg thead th{{position:sticky;top:0;z-index:2;background:{_PAGE}}}"
    f".gg th:first-child{{position:sticky;left:0;z-index:1;background:{_PAGE};text-align:left}}"
    ".gg thead th:first-child{z-index:3}"
    ".gg thead span{writing-mode:vertical-rl;transform:rotate(180deg);max-height:130px;"
    "white-space:nowrap;padding:4px 0;line-height:17px}"
    ".gg th div{display:flex;gap:6px;width:325px;align-items:center;line-height:17px}"
    ".gg .k{font-family:monospace;color:inherit}"
    ".gg .t{flex:1;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}"
    ".gg .t a{color:inherit}"
    ".gg .w{width:58px;overflow:hidden;text-overflow:ellipsis;white-space:nowrap;opacity:.8}"
    ".gg .g{width:40px;text-align:right;white-space:nowrap;opacity:.8}"
    ".gg td a,.gg .z{display:block;width:17px;height:17px;line-height:17px;text-align:center;"
    "text-decoration:none;border-radius:2px;font-size:10px;flex:none}"
    ".gg .z{border-radius:50%;margin-right:4px;text-decoration:none}"
    ".gg td a:hover,.gg td a:focus-visible,.gg [aria-current]"
    "{outline:2px solid light-dark(#1a1a1a,#ffffff);outline-offset:-1px}"
)
