"""What to propose about flakes: one proposal per cause, never twice, few a day. Pure."""

import hashlib
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from gauntlet.analyzer.flakes.found import Flake

DAILY_CAP = 5
LISTED = 20
_WIDE_FILE = 4
"""So many flaky tests of one file have one cause: its fixture, not each of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One issue to open. ``key`` names its cause, and stands in its body as a marker."""

    key: str
    title: str
    body: str
    labels: tuple[str, ...]
    subjects: tuple[str, ...]
    minutes_lost: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalPlan:
    """What to open, and what not, with the reason by key."""

    proposals: tuple[Proposal, ...]
    held_back: Mapping[str, str]


def marker(key: str) -> str:
    """Text by which an open proposal is found again."""
    return f"<!-- gauntlet-flake: {key} -->"


def plan_proposals(
    flakes: Sequence[Flake],
    *,
    signatures: Mapping[str, str],
    open_keys: Collection[str] = (),
    covered: Collection[str] = (),
    opened_today: int = 0,
    cap: int = DAILY_CAP,
) -> ProposalPlan:
    """Group flaky tests and jobs by cause, and propose the costliest that nobody knows yet.

    ``signatures`` are failure signatures by subject (none is fine); ``open_keys`` are keys of
    proposals that are open; ``covered`` are subjects that stand in an open one or in quarantine.
    A job all of whose failures come from its flaky tests is no cause of its own.
    """
    found = [flake for flake in flakes if flake.judgement.state == "flaky"]
    proposals, held = [], {}
    for key, group in _causes(found, signatures).items():
        subjects = {flake.subject for flake in group}
        if key in open_keys:
            held[key] = "proposed already"
        elif subjects <= set(covered):
            held[key] = "all its tests are in quarantine or in an open proposal"
        else:
            proposals.append(_proposal(key, group, signatures))
    proposals.sort(key=lambda proposal: (-proposal.minutes_lost, proposal.key))
    room = max(0, cap - opened_today)
    held |= {late.key: f"over the cap of {cap} a day" for late in proposals[room:]}
    return ProposalPlan(proposals=tuple(proposals[:room]), held_back=held)


def _causes(flakes: Sequence[Flake], signatures: Mapping[str, str]) -> dict[str, list[Flake]]:
    """Groups by cause: the same signature, else the same file, else each alone."""
    tests = [flake for flake in flakes if flake.recorded.kind == "test"]
    flaky_jobs = {flake.recorded.job_key for flake in tests}
    in_file: dict[str, set[str]] = defaultdict(set)
    for flake in tests:
        in_file[flake.recorded.file].add(flake.subject)
    groups: dict[str, list[Flake]] = defaultdict(list)
    for flake in flakes:
        recorded = flake.recorded
        signature = signatures.get(flake.subject, "")
        if recorded.kind == "job" and recorded.job_key in flaky_jobs:
            continue
        if signature:
            cause = f"signature/{signature}"
        elif recorded.file and len(in_file[recorded.file]) >= _WIDE_FILE:
            cause = f"file/{recorded.file}"
        else:
            cause = flake.subject
        groups[_key(cause)].append(flake)
    return dict(groups)


def _key(cause: str) -> str:
    return hashlib.sha256(cause.encode()).hexdigest()[:12]


def _proposal(key: str, group: Sequence[Flake], signatures: Mapping[str, str]) -> Proposal:
    subjects = tuple(sorted({flake.subject for flake in group}))
    owners = sorted({flake.owner for flake in group if flake.owner})
    cost = sum(flake.minutes_lost or 0.0 for flake in group)
    return Proposal(
        key=key,
        title=_title(subjects, group, signatures),
        body=_body(key, subjects, group, owners, cost, signatures),
        labels=("flaky-test", *(f"owner: {owner}" for owner in owners[:3])),
        subjects=subjects,
        minutes_lost=cost,
    )


def _title(subjects: Sequence[str], group: Sequence[Flake], signatures: Mapping[str, str]) -> str:
    if len(subjects) == 1:
        kind, _, name = subjects[0].partition("/")
        return f"Flaky {kind}: {name}"
    signature = signatures.get(group[0].subject, "")
    return f"{len(subjects)} flaky tests: {signature or group[0].recorded.file}"


def _body(
    key: str,
    subjects: Sequence[str],
    group: Sequence[Flake],
    owners: Sequence[str],
    cost: float,
    signatures: Mapping[str, str],
) -> str:
    shown = [flake for flake in group if flake.subject in set(subjects[:LISTED])]
    lines = [marker(key), ""]
    signature = signatures.get(group[0].subject, "")
    if signature:
        lines += [f"They fail alike: `{signature.replace('`', chr(39))}`", ""]
    lines += [
        f"About {cost:.0f} minutes of machines and of waiting were lost in the window.",
        f"Suggested owner: {', '.join(owners) or 'unknown'}.",
        "",
        "| what | job, queue | failure rate (95 %) | runs | evidence |",
        "|---|---|---|---|---|",
        *(_row(flake) for flake in shown),
    ]
    if len(subjects) > LISTED:
        lines += ["", f"and {len(subjects) - LISTED} more"]
    name = subjects[0]
    lines += ["", "To keep it running without blocking anybody:", ""]
    lines += [f"    gauntlet quarantine add '{name}' --owner OWNER --reason 'this issue'"]
    return "\n".join(lines) + "\n"


def _row(flake: Flake) -> str:
    judged, recorded = flake.judgement, flake.recorded
    rate = f"{judged.rate.mean:.1%} ({judged.rate.low:.1%} to {judged.rate.high:.1%})"
    name = (recorded.nodeid or recorded.job_key).replace("|", "\\|")
    where = f"{recorded.job_key}, {recorded.queue}"
    return f"| `{name}` | {where} | {rate} | {judged.runs} | {judged.reasons[0]} |"
