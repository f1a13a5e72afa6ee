"""How every ingest command takes its options, and how it tells what became of the rows."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import click

from gauntlet.core.errors import InvalidMeasurementError, UsageError
from gauntlet.warehouse.batch import Batch
from gauntlet.warehouse.delivery import Delivery, Receipt
from gauntlet.warehouse.location import warehouse_option

CommandT = TypeVar("CommandT", bound=Callable[..., object])
_REASONS_SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where rows go, and how it is told."""

    location: str
    dry_run: bool
    as_json: bool


def target_options(function: CommandT) -> CommandT:
    """Add ``--warehouse``, ``--dry-run`` and ``--json``; the command gets one ``target``."""

    def wrapped(*args: object, **kwargs: object) -> object:
        kwargs["target"] = Target(
            location=str(kwargs.pop("location")),
            dry_run=bool(kwargs.pop("dry_run")),
            as_json=bool(kwargs.pop("as_json")),
        )
        return function(*args, **kwargs)

    wrapped.__doc__ = function.__doc__
    wrapped.__name__ = function.__name__
    # Options that were declared below stay with the command.
    wrapped.__click_params__ = getattr(function, "__click_params__", [])  # type: ignore[attr-defined]
    as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
    dry_run = click.option("--dry-run", is_flag=True, help="Read and check, but keep nothing.")
    return warehouse_option(dry_run(as_json(wrapped)))  # type: ignore[return-value]


def files_below(paths: Iterable[Path], *suffixes: str) -> list[Path]:
    """Files that were named, and those with a suffix in folders that were.

    Raises UsageError for a path that is not there and a folder without such a file.
    """
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(p for p in path.rglob("*") if p.is_file() and p.name.endswith(suffixes))
            if not inside:
                raise UsageError(f"{path}: no file that ends in {', '.join(suffixes)}")
            found += inside
        elif path.exists():
            found.append(path)
        else:
            raise UsageError(f"{path}: no such file or folder")
    return found


@dataclass(slots=True)
class Ingest:
    """Takes the batches of one command and ends it."""

    target: Target
    reasons: list[str]
    delivery: Delivery | None
    accepted: int = 0
    rejected: int = 0
    repeated: int = 0

    @classmethod
    def to(cls, target: Target) -> "Ingest":
        """Begin; in a dry run nothing is kept."""
        return cls(target, [], None if target.dry_run else Delivery(target.location))

    def keep(self, *batches: Batch) -> None:
        """Keep batches in the spool as one parcel. Raises InfrastructureError."""
        kept = [batch for batch in batches if batch.rows]
        for batch in kept:
            self.rejected += batch.table_rows().get("rejected_rows", 0)
            self.accepted += batch.told_rows
        if kept and self.delivery is not None:
            self.delivery(*kept)

    def refuse(self, reason: str, *, rows: int = 1) -> None:
        """Note something that gives no rows at all, such as a file that cannot be read."""
        self.rejected += rows
        self.reasons.append(reason)

    def count(self, accepted: int, rejected: int, reasons: Iterable[str]) -> None:
        """Count rows that somebody else put into the spool."""
        self.accepted += accepted
        self.rejected += rejected
        self.reasons.extend(reasons)

    def ship(self) -> None:
        """Ship what is in the spool so far; an unreachable store is told at the end."""
        if self.delivery is not None and self.delivery.receipt.stopped is None:
            self.delivery.ship()

    def keep_judged(self, batch: Batch, path: Path, reasons: Sequence[str]) -> None:
        """Keep a measurement, also one with reasons against it; those count it as refused."""
        self.keep(batch)
        if reasons:
            self.rejected += 1
            self.accepted -= 1
            self.reasons.extend(f"{path}: {reason}" for reason in reasons)

    @contextmanager
    def shipped_anyway(self) -> Iterator[None]:
        """Where reading the source ends in an error, ship what came before; then let it pass."""
        try:
            yield
        except BaseException:
            if self.delivery is not None:
                with self.delivery:
                    self.delivery.ship()
            raise

    def finish(
        self,
        *,
        details: Mapping[str, object] | None = None,
        lines: Sequence[str] = (),
        roll_up: bool = False,
    ) -> None:
        """Ship, tell, and raise what the exit code should say.

        ``details`` join the JSON, ``lines`` stand before the counts; ``roll_up`` computes the days
        that changed.
        """
        receipt = Receipt()
        if self.delivery is not None:
            with self.delivery:
                receipt = self.delivery.receipt
                if receipt.stopped is None:
                    receipt = self.delivery.ship()
                else:
                    # Told once that the store is away; more may have come in since.
                    receipt.spooled = self.delivery.spool.rows()
                if roll_up:
                    self.delivery.roll_up()
        duplicates, spooled, stopped = receipt.duplicates, receipt.spooled, receipt.stopped
        if stopped is not None:
            self.reasons.append(f"the store: {stopped.message}")
        accepted = max(0, self.accepted - duplicates) if not spooled else self.accepted
        report = {
            "accepted": accepted,
            "rejected": self.rejected,
            "duplicates": duplicates + self.repeated,
            "spooled": spooled,
            "quarantined": receipt.quarantined,
            "reasons": self.reasons,
            "dry_run": self.target.dry_run,
        }
        if self.target.as_json:
            click.echo(json.dumps({**report, **(details or {})}))
        else:
            for line in lines:
                click.echo(line)
            _tell(report, self.reasons)
        if stopped is not None:
            stopped.hint = "nothing is lost: gauntlet ingest replay ships it later"
            raise stopped
        if self.rejected or receipt.quarantined:
            refused = f"{self.rejected} refused" if self.rejected else "the store refused a batch"
            raise InvalidMeasurementError(
                refused,
                hint="gauntlet warehouse query refused shows rows, gauntlet ingest status batches",
            )


def _tell(report: dict[str, object], reasons: list[str]) -> None:
    counts = ", ".join(
        f"{report[name]:,} {name}" for name in ("accepted", "rejected", "duplicates", "spooled")
    )
    click.echo(f"{counts}{' (dry run: nothing was kept)' if report['dry_run'] else ''}")
    for reason in reasons[:_REASONS_SHOWN]:
        click.echo(f"  {reason}", err=True)
    if len(reasons) > _REASONS_SHOWN:
        click.echo(f"  and {len(reasons) - _REASONS_SHOWN} more", err=True)
