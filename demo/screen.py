"""What the demo prints: one line per step with its time, details below, a bar on long steps."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from gauntlet.analyzer.verdict import Verdict, objective_label
from gauntlet.core import log
from gauntlet.core.clock import Stopwatch
from gauntlet.release.gates.verdicts import Qualification

_COLOURS = {
    "worse": "bold red",
    "FAIL": "bold red",
    "NOT QUALIFIED": "bold red",
    "better": "green",
    "same": "green",
    "PASS": "green",
    "QUALIFIED": "bold green",
}
_TITLES = ("Decide", "Measure", "Keep", "Judge", "Gate", "Show")


class Step:
    """One step while it runs; ``summary`` is what its line says once it is done."""

    def __init__(self) -> None:
        self.summary = ""


class Screen:
    """Writes steps to stdout and progress to stderr."""

    def __init__(self, console: Console | None = None, progress: Console | None = None) -> None:
        self._console = console or Console(highlight=False, soft_wrap=False)
        self._progress = progress or Console(stderr=True)

    @contextmanager
    def step(self, number: int) -> Iterator[Step]:
        """Time one of the six steps and print its line when it ends, however it ends."""
        watch = Stopwatch()
        step = Step()
        try:
            with log.section(f"{number} {_TITLES[number - 1]}"):
                yield step
        except BaseException:
            self._line(number, step.summary or "[red]failed[/]", watch.seconds)
            raise
        self._line(number, step.summary, watch.seconds)

    def _line(self, number: int, summary: str, seconds: float) -> None:
        title = _TITLES[number - 1]
        grid = Table.grid(padding=(0, 1), expand=True)
        grid.add_column(width=10, no_wrap=True)
        grid.add_column(ratio=1)
        grid.add_column(justify="right", no_wrap=True)
        grid.add_row(f"[bold]{number} {title}[/]", summary, f"[dim]{seconds:.1f} s[/]")
        self._console.print(grid)

    def detail(self, text: str, *, style: str = "") -> None:
        """Print one line below the step that ran last; a long one is folded under itself."""
        self._console.print(
            Padding(Text(text, style=style, overflow="fold"), (0, 0, 0, 11), expand=False)
        )

    @contextmanager
    def bar(self) -> Iterator["Bar"]:
        """Show a progress bar while the block runs; it disappears afterwards."""
        columns = (
            TextColumn("           "),
            BarColumn(bar_width=30),
            TextColumn("{task.completed:.0f}/{task.total:.0f}"),
            TimeElapsedColumn(),
            TextColumn("{task.description}", markup=False),
        )
        with Progress(*columns, console=self._progress, transient=True) as progress:
            yield Bar(progress)

    def verdicts(self, verdicts: Sequence[Verdict]) -> None:
        """Print one row per objective."""
        # Narrow gaps: the whole table has to fit a terminal of eighty columns.
        table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="dim")
        table.add_column("objective", no_wrap=True)
        for name in ("baseline", "candidate", "change", "interval"):
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("verdict", no_wrap=True)
        for verdict in verdicts:
            table.add_row(*_cells(verdict))
        self._console.print(table)
        for verdict in verdicts:
            if verdict.effect is None:
                self.detail(f"{verdict.subject}: {verdict.reason}")

    def gates(self, qualification: Qualification) -> None:
        """Print one line per gate, and the reasons of those that did not pass."""
        for gate in qualification.gates:
            colour = _COLOURS.get(gate.state, "yellow")
            self._console.print(f"           [{colour}]{gate.state:12}[/] {gate.name}")
            for reason in gate.reasons:
                line = Text(f"             {reason}")
                self._console.print(line, no_wrap=True, overflow="ellipsis")

    @staticmethod
    def coloured(outcome: str) -> str:
        """Mark up an outcome in its colour."""
        return f"[{_COLOURS.get(outcome, 'yellow')}]{outcome}[/]"


class Bar:
    """A progress bar whose total may grow."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task = progress.add_task("", total=1)

    def update(self, done: float, total: float, what: str) -> None:
        """Show ``done`` of ``total`` and what runs now."""
        self._progress.update(self._task, completed=done, total=max(total, 1), description=what)


def _cells(verdict: Verdict) -> tuple[str, ...]:
    colour = _COLOURS.get(verdict.outcome, "yellow") if verdict.blocking else "dim"
    unit = "%" if verdict.unit == "%" else "pp"
    change = interval = ""
    if verdict.effect is not None:
        change = f"{_signed(verdict.effect)} {unit}"
        interval = f"[{_signed(verdict.lower)}, {_signed(verdict.upper)}]"
    label = objective_label(verdict.subject)
    return (
        label if verdict.blocking else f"[dim]{label}[/]",
        _number(verdict.baseline, verdict.value_unit),
        _number(verdict.candidate, verdict.value_unit),
        change,
        escape(interval),
        f"[{colour}]{verdict.outcome}[/]" if verdict.blocking else f"[dim]({verdict.outcome})[/]",
    )


def _signed(value: float | None) -> str:
    """One decimal where it tells something."""
    if value is None:
        return "?"
    return f"{value:+.1f}" if abs(value) < 100 else f"{value:+.0f}"


def _number(value: float | None, unit: str) -> str:
    if value is None:
        return "-"
    short = unit.replace("tokens/s", "t/s")
    return f"{value:.1f} {short}" if abs(value) < 1000 else f"{value:,.0f} {short}"
