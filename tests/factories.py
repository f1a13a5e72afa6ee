"""Makers of rows with sensible defaults; a test names only what it is about."""

from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid5

from gauntlet.warehouse.batch import Batch
from gauntlet.warehouse.rows.ci import (
    BuildRow,
    CommitRow,
    GpuSampleRow,
    JobAttemptRow,
    JobFailureRow,
    QueuePriceRow,
    QueueSampleRow,
)
from gauntlet.warehouse.rows.measurement import (
    DecisionRow,
    EvalResultRow,
    EvalSampleRow,
    MetricRow,
    RepetitionRow,
    RequestRow,
    RunRow,
)

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def run_row(run_id="r1", **changes):
    fields = {
        "run_id": run_id,
        "version": 0,
        "recipe": "smoke",
        "recipe_digest": "d",
        "recipe_definition": "{}",
        "engine_kind": "simulator",
        "gauntlet_version": "0.1.0",
        "host": "host",
        "seed": 1,
        "status": "running",
        "started_at": NOON,
        "updated_at": NOON,
    }
    return RunRow(**{**fields, **changes})


def repetition_row(run_id="r1", workload="random", pair=0, side="baseline", **changes):
    fields = {
        "run_id": run_id,
        "repetition_id": f"{run_id}/{workload}/{pair}/{side}",
        "series_id": "series",
        "recipe": "smoke",
        "side": side,
        "workload": workload,
        "kind": "load",
        "pair": pair,
        "position": 2 * pair + (side == "candidate"),
        "status": "valid",
        "config_fp": "same",
        "engine_kind": "simulator",
        "engine_version": "v",
        "model": "m",
        "host": "host",
        "client": "gauntlet-load",
        "client_version": "0.1.0",
        "dataset_digest": "dd",
        "seed": 1,
        "started_at": NOON + timedelta(seconds=pair),
        "ended_at": NOON + timedelta(seconds=pair + 1),
        "completed": 40,
        "failed": 0,
    }
    return RepetitionRow(**{**fields, **changes})


def metric_row(run_id="r1", workload="random", pair=0, side="baseline", **changes):
    fields = {
        "run_id": run_id,
        "repetition_id": f"{run_id}/{workload}/{pair}/{side}",
        "series_id": "series",
        "side": side,
        "workload": workload,
        "pair": pair,
        "metric": "tpot_ms",
        "statistic": "p50",
        "value": 10.0,
        "unit": "ms",
        "direction": "lower",
        "n": 40,
    }
    return MetricRow(**{**fields, **changes})


def request_row(run_id="r1", workload="random", pair=0, side="baseline", index=0, **changes):
    fields = {
        "run_id": run_id,
        "repetition_id": f"{run_id}/{workload}/{pair}/{side}",
        "side": side,
        "workload": workload,
        "pair": pair,
        "request_index": index,
        "status": "ok",
        "sent_ms": 1.0,
        "ttft_ms": 20.0 + index,
        "tpot_ms": 10.0,
        "e2e_ms": 300.0,
    }
    return RequestRow(**{**fields, **changes})


def sample_row(run_id="r1", task="gsm8k", side="baseline", item="q1", **changes):
    fields = {
        "run_id": run_id,
        "repetition_id": f"{run_id}/{task}/0/{side}",
        "side": side,
        "task": task,
        "item_id": item,
        "pair": 0,
        "status": "scored",
        "score": 1.0,
        "answer": "18",
        "expected": "18",
    }
    return EvalSampleRow(**{**fields, **changes})


def score_row(run_id="r1", task="gsm8k", side="single", **changes):
    fields = {
        "run_id": run_id,
        "repetition_id": f"{run_id}/{task}/0/{side}",
        "series_id": "series",
        "task": task,
        "harness": "lm-eval",
        "harness_version": "0.4.9",
        "metric": "exact_match",
        "filter": "strict",
        "value": 0.75,
        "stderr": 0.01,
        "n": 4,
    }
    return EvalResultRow(**{**fields, **changes})


def decision_row(run_id="r1", kind="verdict", subject="load/random/tpot_ms/p50", **changes):
    fields = {
        "decision_id": f"{run_id}/{kind}/{subject}",
        "run_id": run_id,
        "kind": kind,
        "subject": subject,
        "outcome": "same",
        "blocking": True,
        "reason": "why",
        "evidence": "{}",
        "at": NOON,
    }
    return DecisionRow(**{**fields, **changes})


NAMESPACE = UUID("5a3c1f7e-0000-4000-8000-000000000000")


def sha_of(position):
    return f"{position:040x}"


def commit_row(position, **changes):
    fields = {
        "repository": "engine",
        "branch": "main",
        "position": position,
        "sha": sha_of(position),
        "author": "ann",
        "committed_at": NOON + timedelta(hours=position),
        "title": f"Change {position}",
        "version": 1,
    }
    return CommitRow(**{**fields, **changes})


def build_row(number, position=None, **changes):
    fields = {
        "build_id": uuid5(NAMESPACE, f"build {number}"),
        "pipeline": "ci",
        "number": number,
        "sha": sha_of(position or number),
        "branch": "main",
        "state": "passed",
        "created_at": NOON + timedelta(hours=number),
        "version": 1,
    }
    return BuildRow(**{**fields, **changes})


def attempt_row(job_key, number, attempt=1, position=None, minutes=10, **changes):
    """One attempt of a job of a build; it waits a minute and runs ``minutes``."""
    created = NOON + timedelta(hours=number, minutes=20 * (attempt - 1))
    fields = {
        "job_id": uuid5(NAMESPACE, f"{job_key} {number} {attempt}"),
        "build_id": uuid5(NAMESPACE, f"build {number}"),
        "pipeline": "ci",
        "build_number": number,
        "sha": sha_of(position or number),
        "branch": "main",
        "group_key": "group",
        "job_key": job_key,
        "job_name": job_key,
        "attempt": attempt,
        "queue": "gpu",
        "state": "passed",
        "exit_status": 0,
        "created_at": created,
        "runnable_at": created,
        "started_at": created + timedelta(minutes=1),
        "finished_at": created + timedelta(minutes=1 + minutes),
        "version": 1,
    }
    return JobAttemptRow(**{**fields, **changes})


def failure_row(attempt, failure_class="test_regression", **changes):
    fields = {
        "job_id": attempt.job_id,
        "failure_class": failure_class,
        "signature": f"{failure_class} in {attempt.job_key}",
        "line": "E   assert left == right",
        "classifier": "rules",
        "version": 1,
    }
    return JobFailureRow(**{**fields, **changes})


def queue_row(queue="gpu", waiting=0, idle=2, total=4, **changes):
    """One look at a queue; who is not idle is busy."""
    fields = {
        "at": NOON,
        "queue": queue,
        "agents_total": total,
        "agents_busy": total - idle,
        "agents_idle": idle,
        "jobs_waiting": waiting,
        "jobs_running": total - idle,
        "oldest_wait_s": None,
    }
    return QueueSampleRow(**{**fields, **changes})


def price_row(queue="gpu", **changes):
    fields = {"queue": queue, "vendor": "nvidia", "accelerator": "L4", "usd_per_hour": 6.0}
    return QueuePriceRow(**{**fields, "valid_from": NOON, **changes})


def gpu_row(host="h1", gpu="0", **changes):
    fields = {
        "at": NOON,
        "host": host,
        "gpu": gpu,
        "name": "H200",
        "utilization_pct": 80.0,
        "memory_used_mib": 65_536.0,
        "power_w": 500.0,
        "sm_clock_mhz": 1980.0,
        "temperature_c": 61.0,
        "throttle_bits": 0,
        "xid": 0,
    }
    return GpuSampleRow(**{**fields, **changes})


def batch(batch_id="b1", *rows, **changes):
    return Batch.of(batch_id, rows, **{"created_at": NOON, **changes})
