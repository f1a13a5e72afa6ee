"""Strips of signs: how jobs or tests fared, commit by commit, as HTML (pure).

Signs come from the style sheet with an empty spoken text, so that a cell is named by its title
alone and thousands of cells stay short.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from gauntlet.hud import palette
from gauntlet.hud.outcomes import CLASSES, LINK_COLOUR, SHORT_SHA, WORST_FIRST, worst


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One sign of a strip: a state, what it says in words, and where it leads (or None)."""

    state: str
    text: str
    href: str | None = None
    marked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """One row of signs, oldest first, under a name that may be a link."""

    label: str
    cells: Sequence[Cell]
    href: str | None = None


def history_strips(
    outcomes: Sequence[Mapping[str, Any]],
    commits: Sequence[Mapping[str, Any]],
    rows: Sequence[str],
    *,
    by: str,
    marked: int | None = None,
    row_address: Callable[[str], str | None] = lambda _row: None,
    cell_address: Callable[[str], str | None] = lambda _sha: None,
) -> list[Strip]:
    """One strip for each of ``rows`` over ``commits`` (newest first, drawn oldest first).

    ``outcomes`` have ``position``, ``state``, and the row's name under ``by``; several of one
    place are folded to the worst. ``marked`` is the position to be pointed out.
    """
    states: dict[tuple[str, int], list[str]] = {}
    for outcome in outcomes:
        states.setdefault((outcome[by], outcome["position"]), []).append(outcome["state"])
    strips = []
    for name in rows:
        cells = []
        for commit in reversed(commits):
            found = states.get((name, commit["position"]), [])
            state = worst(found)
            text = f"{name} at {commit['sha'][:SHORT_SHA]} ({commit['title']}): {state}"
            cells.append(
                Cell(
                    state=state,
                    text=text,
                    href=cell_address(commit["sha"]) if found else None,
                    marked=commit["position"] == marked,
                )
            )
        strips.append(Strip(label=name, cells=cells, href=row_address(name)))
    return strips


def state_style(scope: str) -> str:
    """CSS of the states' classes below a class: colour, ink, and the sign before the text."""
    return "".join(
        f".{scope} .{name}{{background:{look.colour};color:{look.ink}}}"
        f'.{scope} .{name}::before{{content:"{look.sign}";content:"{look.sign}"/""}}'
        for state, name in CLASSES.items()
        for look in (palette.JOB_STATES[state],)
    )


_STYLE = (
    ".gs{font-size:12px;line-height:18px;overflow-x:auto;max-width:100%}"
    ".gs table{border-collapse:separate;border-spacing:0;width:auto;margin:0}"
    ".gs th,.gs td{border:0;padding:1px;text-align:left;font-weight:400;white-space:nowrap}"
    f".gs th{{padding-right:10px}}.gs th a{{color:{LINK_COLOUR}}}"
    ".gs .q{display:block;width:14px;height:18px;line-height:18px;text-align:center;"
    "text-decoration:none;border-radius:2px;font-size:11px}"
    ".gs .m{outline:2px solid light-dark(#1a1a1a,#ffffff);outline-offset:0}"
)


def strips_html(strips: Sequence[Strip], *, name: str) -> str:
    """Draw strips below each other; ``name`` says in words what they show.

    All strips must have equally many cells.
    """
    columns = max((len(strip.cells) for strip in strips), default=0)
    linked = (
        (row, column)
        for row, strip in enumerate(strips)
        for column, cell in enumerate(strip.cells)
        if cell.href
    )
    entry = next(linked, None)  # where the tab key comes in; arrow keys go on from there
    rows = "".join(_strip_row(strip, row, entry) for row, strip in enumerate(strips))
    return (
        f"<style>{state_style('gs')}{_STYLE}</style>"
        f'<div class="gs"><table aria-label="{escape(name)}" data-grid="{len(strips)},{columns}">'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _strip_row(strip: Strip, row: int, entry: tuple[int, int] | None) -> str:
    label = escape(strip.label)
    if strip.href:
        label = f'<a href="{escape(strip.href)}">{label}</a>'
    cells = "".join(_strip_cell(cell, (row, n), entry) for n, cell in enumerate(strip.cells))
    return f'<tr><th scope="row">{label}</th>{cells}</tr>'


def _strip_cell(cell: Cell, place: tuple[int, int], entry: tuple[int, int] | None) -> str:
    classes = f"q {CLASSES.get(cell.state, 'f')}{' m' if cell.marked else ''}"
    text = escape(cell.text)
    if not cell.href:
        # An image of a sign: its label is the only thing that can be read out.
        return f'<td><span class="{classes}" role="img" aria-label="{text}" title="{text}"></span>'
    return (
        f'<td><a class="{classes}" href="{escape(cell.href)}" title="{text}"'
        f' data-cell="{place[0]},{place[1]}" tabindex="{0 if place == entry else -1}"></a>'
    )


def prose_html(inner: str) -> str:
    """Text with links, which is HTML already, in the HUD's colour of links."""
    return f'<style>.gp a{{color:{LINK_COLOUR}}}</style><div class="gp">{inner}</div>'


def legend_html(states: Sequence[str] = WORST_FIRST, notes: Mapping[str, str] | None = None) -> str:
    """Signs with their words, in the given order."""
    style = (
        ".gl{display:flex;flex-wrap:wrap;gap:4px 14px;font-size:12px;align-items:center}"
        ".gl b{display:inline-block;width:18px;height:18px;line-height:18px;text-align:center;"
        "border-radius:2px;margin-right:5px;font-weight:400}"
    )
    said = notes or {}
    items = "".join(
        f'<span><b class="{CLASSES[state]}"></b>{escape(said.get(state, state))}</span>'
        for state in states
    )
    return f'<style>{state_style("gl")}{style}</style><div class="gl">{items}</div>'
