"""What a step's failures are retried for: its own rules first, then the device's policy."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from gauntlet.pipelines.fleet_file import RetryRule

_ANY = "*"


def merge_retry(own: Mapping[str, Any] | None, policy: Sequence[RetryRule]) -> dict[str, Any]:
    """Add the rules of a policy that a job's own ``retry`` does not cover already.

    A job that turns automatic retries on or off altogether has the last word, and so has one
    whose rules we cannot read: the schema will say what is wrong with them.
    """
    merged = dict(own or {})
    automatic = merged.get("automatic", [])
    if isinstance(automatic, Mapping):
        automatic = [automatic]
    if isinstance(automatic, list | tuple):
        added = [rule for rule in policy if not any(_covers(mine, rule) for mine in automatic)]
        merged["automatic"] = [*automatic, *map(_rendered, added)]
    return merged


def _covers(own: object, rule: RetryRule) -> bool:
    """Whether a job's own rule is met by every failure that the policy's rule is for."""
    if not isinstance(own, Mapping) or own.get("signal", _ANY) != _ANY:
        return False
    status = own.get("exit_status", _ANY)
    statuses = status if isinstance(status, list | tuple) else [status]
    reason = own.get("signal_reason", _ANY)
    return (_ANY in statuses or rule.exit_status in statuses) and (
        reason in (_ANY, rule.signal_reason)
    )


@cache
def _rendered(rule: RetryRule) -> dict[str, Any]:
    return rule.model_dump(include={"exit_status", "signal_reason", "limit"}, exclude_none=True)
