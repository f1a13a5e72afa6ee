"""A rule about time limits that do not fit what jobs were measured to take."""

import math
from collections.abc import Iterator, Sequence

from gauntlet.pipelines.audit.model import AuditInput, Finding

LEAST_RUNS = 5
"""Fewer runs say little about the slowest of twenty."""
TIGHT = 0.8
LOOSE = 5.0
LOOSE_MINUTES = 30.0


def timeout_far(audit: AuditInput) -> Iterator[Finding]:
    """Yield limits that the slowest runs almost reach, or that a hung job would sit out."""
    measured = audit.timings.jobs if audit.timings else {}
    for written in audit.jobs:
        limit = written.job.timeout_in_minutes
        seconds = measured.get(written.job.key, ())
        if limit is None or len(seconds) < LEAST_RUNS:
            continue
        slow = percentile_95(seconds) / 60
        if slow > TIGHT * limit:
            verdict = "too tight"
        elif limit > LOOSE * slow and limit - slow > LOOSE_MINUTES:
            verdict = "too loose"
        else:
            continue
        runs = f"95 % of {len(seconds)} runs took at most {slow:.1f} min"
        yield Finding(
            rule="timeout-far",
            file=written.job.file,
            line=written.line("timeout_in_minutes"),
            job=written.job.key,
            subject=verdict,
            message=f"a limit of {limit} min is {verdict}: {runs}",
        )


def percentile_95(values: Sequence[float]) -> float:
    """The smallest value that at least 95 % of the values do not exceed."""
    return sorted(values)[math.ceil(0.95 * len(values)) - 1]
