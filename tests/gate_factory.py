"""Facts of a candidate for tests of gates: a test names only what it is about."""

from datetime import UTC, datetime, timedelta

from gauntlet.release.gates.evaluate import evaluate_gates
from gauntlet.release.gates.facts import Facts, JobFact, RunFact, Subject, VerdictFact, WaiverFact
from gauntlet.release.gates.rules import CiGate, Lane, MeasuredGate, NeededRun, WaiverRules

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
COMMIT, BEFORE = "c" * 40, "b" * 40
IMAGE = "sha256:" + "1" * 64
OTHER_IMAGE = "sha256:" + "2" * 64

SUBJECT = Subject(
    name="v1.2.0rc1",
    commit=COMMIT,
    images={"cuda-x86": IMAGE},
    previous="v1.1.0",
    previous_commit=BEFORE,
)
CI = CiGate(kind="ci", name="full-ci", lanes=(Lane(name="any"),))
PERFORMANCE = MeasuredGate(
    kind="measured",
    name="performance",
    runs=(NeededRun(recipe="llama"),),
    verdicts=("load/*", "requests/*"),
)


def job(key="kernels", state="passed", **changes):
    fields = {
        "job_key": key,
        "shard": None,
        "group_key": "group",
        "queue": "h200",
        "state": state,
        "soft_failed": False,
        "at": NOW - HOUR,
        "build": 7,
    }
    return JobFact(**{**fields, **changes})


def verdict(subject="load/random/tpot_ms/p50", outcome="same", **changes):
    fields = {"subject": subject, "outcome": outcome, "blocking": True, "reason": "because",
              "p_value": {"same": 0.6, "worse": 1e-9}.get(outcome, 0.2)}  # fmt: skip
    return VerdictFact(**{**fields, **changes})


def run(run_id="r1", *verdicts, **changes):
    fields = {
        "run_id": run_id,
        "recipe": "llama",
        "accelerator": "H200",
        "status": "complete",
        "images": frozenset({IMAGE}),
        "commits": frozenset({COMMIT}),
        "baseline_commits": frozenset({BEFORE}),
        "started_at": NOW - HOUR,
        "hours": 0.5,
        "verdicts": verdicts or (verdict(),),
    }
    return RunFact(**{**fields, **changes})


def waiver(gate, *covers, **changes):
    fields = {
        "gate": gate,
        "outcome": "waived",
        "covers": covers,
        "reason": "known, and harmless",
        "by": "Ann",
        "at": NOW - HOUR,
        "until": NOW + 24 * HOUR,
    }
    return WaiverFact(**{**fields, **changes})


def evaluate(*gates, rules=None, level=0.01, **facts):
    """Evaluate gates over facts; return them by name."""
    known = {
        key: tuple(value) for key, value in facts.items() if key in {"jobs", "runs", "waivers"}
    }
    rest = {key: value for key, value in facts.items() if key not in known}
    subject = rest.pop("subject", SUBJECT)
    now = rest.pop("now", NOW)
    result = evaluate_gates(
        gates, subject, Facts(**known, **rest), waivers=rules or WaiverRules(), level=level, now=now
    )
    return {gate.name: gate for gate in result.gates}, result
