"""What all rows share: strict models, UTC instants, durations that can be durations.

Times are aware and stored in UTC, durations and latencies carry their unit in the name, and what
was not measured is None, never 0.
"""

from datetime import UTC, datetime, timedelta
from typing import Annotated, ClassVar

from pydantic import AfterValidator, AwareDatetime, FiniteFloat

from gauntlet.core.yaml_file import StrictModel

# No request, test or job of a measured run lasts a day; anything above is a clock that was
# mistaken for a duration.
LONGEST_MS = 86_400_000.0
# Before the oldest thing that anybody would import, and more than a host's clock may be ahead.
EARLIEST = datetime(2015, 1, 1, tzinfo=UTC)
CLOCK_SKEW = timedelta(hours=1)


def plausible_duration(value: float) -> float:
    """Return a duration in ms. Raises ValueError where it is negative or longer than a day."""
    if not 0 <= value <= LONGEST_MS:
        msg = f"a duration in ms must lie in 0..{LONGEST_MS:.0f}"
        raise ValueError(msg)
    return value


def implausible_instant(value: datetime, now: datetime) -> str | None:
    """Say what is wrong with an instant that a source gave, or None.

    Asked where rows come in, not where a row is read again: a spooled row stays valid whatever
    the clock does meanwhile.
    """
    if value.tzinfo is None:
        return f"{value.isoformat()} has no time zone"
    if value < EARLIEST:
        return f"{value.isoformat()} lies before {EARLIEST:%Y-%m-%d}"
    if value > now + CLOCK_SKEW:
        return f"{value.isoformat()} lies in the future (now: {now:%Y-%m-%dT%H:%M:%SZ})"
    return None


Milliseconds = Annotated[FiniteFloat, AfterValidator(plausible_duration)]
UtcTime = Annotated[AwareDatetime, AfterValidator(lambda value: value.astimezone(UTC))]


class Row(StrictModel):
    """Base of all rows.

    ``identity`` are the columns that make a row the same row. A row with an ``order`` column is a
    version of it; the highest counts. ``day`` is the time column that the table's parts go by, None
    where a table has one part.
    """

    table: ClassVar[str]
    identity: ClassVar[tuple[str, ...]]
    order: ClassVar[str | None] = None
    day: ClassVar[str | None] = None
