"""Versions of builds and jobs: the later a state, the higher its number.

A version is a pure function of the payload, so that the same state has the same version however
often and on whatever way it comes in. From the highest bit down:

- the latest time that the payload knows, in ms: every step of a life that Buildkite stamps;
- the rank of the state: steps that are not stamped (``assigned``, ``canceling``);
- whether the job was retried, which is said of a finished job without a new time;
- whether the payload is a whole one, as REST gives, or one of a webhook, which holds less.

A build goes back to ``running`` when one of its jobs is retried or unblocked, and loses its
``finished_at``; the time at which the new job was made, or the old one unblocked, is then the
latest. A job never goes back over a time.
"""

from collections.abc import Iterable
from datetime import UTC, datetime

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_RANK_BITS = 6
_FLAG_BITS = 2
# A state that Buildkite adds some day: after those that we know to wait, before those that ended.
_UNKNOWN = 30


def _ranks(*steps: str) -> dict[str, int]:
    """Number states in the order in which a life goes through them; words of one step are equal."""
    return {state: rank for rank, states in enumerate(steps) for state in states.split()}


_BUILD_RANKS = _ranks(
    "creating",
    "scheduled waiting",
    "running started",
    "failing waiting_failed",
    "canceling",
    "blocked skipped not_run passed failed canceled",
)
# A broken job is one whose dependency failed; a retry of that one brings it to life again.
_JOB_RANKS = _ranks(
    "pending",
    "waiting blocked",
    "waiting_failed blocked_failed broken",
    "unblocked unblocked_failed",
    "limiting",
    "limited",
    "scheduled",
    "assigned",
    "accepted",
    "running",
    "timing_out canceling",
) | dict.fromkeys(("passed", "failed", "timed_out", "canceled", "skipped", "expired"), 63)


def build_version(state: str, instants: Iterable[datetime | None], *, whole: bool) -> int:
    """Return the version of a build; ``instants`` are its own and those of its jobs."""
    return _version(instants, _BUILD_RANKS.get(state, _UNKNOWN), retried=False, whole=whole)


def job_version(
    state: str, instants: Iterable[datetime | None], *, retried: bool, whole: bool
) -> int:
    """Return the version of a job."""
    return _version(instants, _JOB_RANKS.get(state, _UNKNOWN), retried=retried, whole=whole)


def _version(instants: Iterable[datetime | None], rank: int, *, retried: bool, whole: bool) -> int:
    latest = max(found for found in instants if found is not None)
    since = latest - _EPOCH
    ms = (since.days * 86_400 + since.seconds) * 1000 + since.microseconds // 1000
    return (ms << (_RANK_BITS + _FLAG_BITS)) | (rank << _FLAG_BITS) | (retried << 1) | whole
