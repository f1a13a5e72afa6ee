"""``gauntlet release`` (also ``release``): from the greenest commit to what is published."""

import click

from gauntlet.core.lazy_group import LazyGroup

COMMANDS = {
    "cut": ("gauntlet.release.cut.command", "cut", "Choose the greenest commit; make the branch."),
    "picks": ("gauntlet.release.picks.command", "picks", "Bring fixes of main to the branch."),
    "candidate": ("gauntlet.release.picks.candidate_command", "candidate", "Tag the next rc."),
    "plan": ("gauntlet.release.matrix.plan_command", "plan", "Wheels and images as a pipeline."),
    "build": ("gauntlet.release.build.command", "build", "Build what this machine can; collect."),
    "smoke": ("gauntlet.release.smoke.command", "smoke", "Try one artifact on its platform."),
    "gate": ("gauntlet.release.gates.command", "gate", "May it ship? Exit 6 where it may not."),
    "waive": ("gauntlet.release.gates.waive_command", "waive", "Let a gate pass, with a reason."),
    "why": ("gauntlet.release.gates.why_command", "why", "What a gate was decided on."),
    "diff": ("gauntlet.release.gates.diff_command", "diff", "What changed between candidates."),
    "key": ("gauntlet.release.proof.key_command", "key", "Make a key to sign with."),
    "notes": ("gauntlet.release.notes.command", "notes", "Draft the notes by area."),
    "publish": ("gauntlet.release.ship.publish_command", "publish", "Ship what was proven."),
    "verify": ("gauntlet.release.ship.verify_command", "verify", "Published against the record."),
    "record": ("gauntlet.release.ship.record_command", "record", "The signed record."),
    "rollback": ("gauntlet.release.ship.rollback_command", "rollback", "The way back."),
    "status": (
        "gauntlet.release.status_command",
        "status",
        "Where it stands, what is next.",
    ),
}


class ReleaseCommands(LazyGroup):
    """Every command of a release, in the order in which they are needed."""

    table = COMMANDS


@click.group(cls=ReleaseCommands)
def release() -> None:
    """Cut, qualify, build, prove and ship a release."""
