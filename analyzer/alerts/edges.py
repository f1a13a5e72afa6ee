"""What the commands are given, as a request: files, the environment, the switch."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from gauntlet.analyzer.acting.permit import permit_of
from gauntlet.analyzer.acting.policy import Policy
from gauntlet.analyzer.alerts.check import AlertRequest
from gauntlet.analyzer.alerts.control import control_of
from gauntlet.analyzer.alerts.rules import load_rules
from gauntlet.core.errors import UsageError
from gauntlet.services.connect import code_host_if_any
from gauntlet.services.switch import Permit

_UNITS = {"m": "minutes", "h": "hours", "d": "days"}
_LONGEST = timedelta(days=90)


@contextmanager
def alert_request(
    location: str, *, policy: Policy, rules: Path | None, permit: Permit, dry_run: bool
) -> Iterator[AlertRequest]:
    """Read the rules, and connect to what takes hosts out. Raises ConfigError for the file."""
    token = os.environ.get(policy.buildkite.variable, "")
    with control_of(policy.drain, policy.buildkite, token) as control:
        yield AlertRequest(
            location=location,
            rules=load_rules(rules),
            policy=policy,
            permit=permit,
            control=control,
            dry_run=dry_run,
        )


def read_permit(policy: Policy) -> Permit:
    """Ask the switch of a policy; a code host that cannot be reached says no."""
    return permit_of(
        policy, code_host_if_any(policy.repository) if policy.switch.stop_label else None
    )


def read_duration(text: str, option: str) -> timedelta:
    """Read ``30m``, ``4h`` or ``2d``. Raises UsageError that names the option."""
    match = re.fullmatch(r"(\d{1,5})([mhd])", text)
    found = timedelta(**{_UNITS[match[2]]: int(match[1])}) if match else timedelta()
    if not timedelta() < found <= _LONGEST:
        msg = f"{option}: {text!r} is no duration of at most {_LONGEST.days} days"
        raise UsageError(msg, hint="such as 30m, 4h or 2d")
    return found
