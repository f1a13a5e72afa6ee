"""How a person sees an incident: the command that shows it, and the one that finds its culprit."""

import shlex

from gauntlet.analyzer.incidents.incident import Incident

_MOST_TESTS = 5


def reproduce(incident: Incident) -> str:
    """The command that fails at the first bad commit; empty where no test is known."""
    if not incident.tests:
        return ""
    tests = shlex.join(_clean(test) for test in incident.tests[:_MOST_TESTS])
    return f"git switch --detach {incident.first_bad[:12]} && python -m pytest {tests}"


def bisect_command(incident: Incident) -> str:
    """The command that finds the culprit; empty where there is no range or no test is known."""
    if not incident.tests or incident.last_good is None:
        return ""
    tests = shlex.join(_clean(test) for test in incident.tests[:_MOST_TESTS])
    ends = f"--good {incident.last_good[:12]} --bad {incident.first_bad[:12]}"
    return f"gauntlet bisect {ends} -- python -m pytest {tests}"


def _clean(text: str) -> str:
    """A name without what could end a line or a block of code."""
    return " ".join(text.split()).replace("```", "")
