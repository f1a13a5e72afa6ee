"""Plans of jobs that all run, and what the agent makes of a rendered text."""

import re

from unit.pipelines.factories import make_definitions

from gauntlet.pipelines.decisions import Decision, Reason, Selection
from gauntlet.pipelines.definitions.job import Definitions, Job
from gauntlet.pipelines.fleet import fleet_text, parse_fleet
from gauntlet.pipelines.plan import Plan, make_plan

FLEET = parse_fleet(fleet_text())
REASON = Reason(rule="asked", evidence="a test", path=("a test",), text="a test asked for it")


def everything(definitions: Definitions, blocked: tuple[str, ...] = ()) -> Selection:
    """Select every job; those in ``blocked`` wait for a person."""
    decisions = [
        Decision(
            key=job.key,
            label=job.label,
            group=job.group,
            decision="block" if job.key in blocked else "run",
            reasons=(REASON,),
        )
        for job in (*definitions.jobs, *definitions.broken)
    ]
    return Selection(decisions=tuple(sorted(decisions, key=lambda d: d.key)), docs_only=False)


def plan_all(definitions: Definitions, blocked: tuple[str, ...] = ()) -> Plan:
    """Plan every job, on the built-in fleet."""
    return make_plan(definitions, everything(definitions, blocked), FLEET)


def plan_of(*jobs: Job, blocked: tuple[str, ...] = ()) -> Plan:
    """Plan these jobs, on the built-in fleet."""
    return plan_all(make_definitions(*jobs), blocked)


def as_uploaded(text: str) -> str:
    """What the agent makes of text without variables when it uploads a pipeline."""
    return re.sub(r"\\\\|\\\$|\$\$", lambda m: m[0] if m[0] == "\\\\" else "$", text)
