"""All gates of one candidate. Pure: a policy, facts and an instant in, a qualification out."""

from collections.abc import Sequence
from datetime import datetime

from gauntlet.release.gates.ci import decide_ci
from gauntlet.release.gates.facts import Facts, Subject
from gauntlet.release.gates.measured import adjust, choose_runs, decide_measured
from gauntlet.release.gates.model import GateResult, Qualification
from gauntlet.release.gates.rules import CiGate, Gate, MeasuredGate, WaiverRules
from gauntlet.release.gates.waivers import apply_waivers


def evaluate_gates(
    gates: Sequence[Gate],
    subject: Subject,
    facts: Facts,
    *,
    waivers: WaiverRules,
    level: float,
    now: datetime,
    own: Sequence[GateResult] = (),
) -> Qualification:
    """Evaluate every gate of a policy.

    ``level`` is the chance that a candidate without a change fails any measured gate; ``own`` are
    gates that are decided already: of the branch, of the artifacts.
    """
    chosen = {
        rule.name: (rule, choose_runs(rule, subject, facts.runs, now))
        for rule in gates
        if isinstance(rule, MeasuredGate)
    }
    adjusted = adjust(chosen.values())
    results = list(own)
    for rule in gates:
        if isinstance(rule, CiGate):
            results.append(decide_ci(rule, subject, facts, now))
        else:
            counted = chosen[rule.name][1]
            results.append(decide_measured(rule, subject, counted, adjusted, level))
    return Qualification(
        candidate=subject.name,
        commit=subject.commit,
        gates=apply_waivers(results, facts.waivers, waivers, subject.commit, now),
    )
