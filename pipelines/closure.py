"""Close a selection: nothing runs without what it depends on."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from gauntlet.pipelines.decisions import BLOCK, RUN, Decision, Reason, Verb
from gauntlet.pipelines.definitions.job import Definitions


def close(definitions: Definitions, decisions: Mapping[str, Decision]) -> dict[str, Decision]:
    """Add what chosen jobs need, then the checks of the images that are built for them.

    What only a blocked job needs is blocked with it: an image that nobody waits for is not
    built.
    """
    depends_on = {job.key: job.depends_on for job in definitions.jobs}
    closed = dict(decisions)
    _add_needed(RUN, depends_on, closed)
    _add_needed(BLOCK, depends_on, closed)
    for job in definitions.jobs:
        if closed[job.key].runs or job.optional or not job.image:
            continue
        if job.depends_on and all(closed[key].runs for key in job.depends_on):
            needed = job.depends_on[0]
            text = f"it checks the image of {needed}, which runs"
            way = (*closed[needed].path, job.key)
            reason = Reason(rule="image-check", evidence=needed, path=way, text=text)
            closed[job.key] = replace(closed[job.key], decision=RUN, reasons=(reason,))
    return closed


def _add_needed(
    verb: Verb, depends_on: Mapping[str, Sequence[str]], closed: dict[str, Decision]
) -> None:
    """Give the needs of all jobs with this decision the same one; breadth first, in order."""
    enough = (RUN,) if verb == RUN else (RUN, BLOCK)
    pending = sorted(key for key, decision in closed.items() if decision.decision == verb)
    state = "is selected" if verb == RUN else "waits for a person"
    while pending:
        following = set()
        for key in pending:
            for needed in depends_on.get(key, ()):
                if closed[needed].decision in enough:
                    continue
                text = f"{key} {state} and depends on it"
                way = (*closed[key].path, needed)
                reason = Reason(rule="needed-by", evidence=key, path=way, text=text)
                closed[needed] = replace(closed[needed], decision=verb, reasons=(reason,))
                following.add(needed)
        pending = sorted(following)
