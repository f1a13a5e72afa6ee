"""Loads and raw logs for tests."""

import numpy as np

from gauntlet.harness.load.arrivals import Schedule
from gauntlet.harness.load.client import LoadJob, run_load
from gauntlet.harness.load.event_reader import Exchange, LoadLog, WorkerSummary
from gauntlet.harness.load.requests import PlannedRequest, completion_body
from gauntlet.perf_eval.workloads import Deadlines

DEADLINES = Deadlines(connect_s=2, idle_s=0.5, total_s=5)


def planned(count, output=8, prompt=16):
    """Plain requests of ``prompt`` token ids each."""
    return [
        PlannedRequest(
            index=n,
            body=completion_body("m", range(300 + n, 300 + prompt + n), output),
            prompt_tokens=prompt,
            output_tokens=output,
        )
        for n in range(count)
    ]


def closed(streams, stagger_s=0.0):
    return Schedule(
        due_s=None, streams=streams, stagger_s=tuple(stagger_s * n for n in range(streams))
    )


def load(target, requests, schedule, *, deadlines=DEADLINES, workers=None, folder=None, **kw):
    job = LoadJob(
        target=target, planned=requests, schedule=schedule, deadlines=deadlines, workers=workers
    )
    return run_load(job, folder, **kw)


def log_of(*exchanges, started=1.0, ended=9.0, streams=2, due_s=None, lag_s=()):
    """A log around exchanges that a test made up; times are seconds."""
    summary = WorkerSummary(
        started_ns=round(started * 1e9),
        ended_ns=round(ended * 1e9),
        realtime_offset_ns=(0, 0),
        cpu_s=0.5,
        peak_rss_kib=2048,
        failure="",
        framing="body",
    )
    schedule = Schedule(due_s=due_s, streams=0 if due_s else streams)
    return LoadLog(
        exchanges=exchanges, schedule=schedule, summaries=(summary,), lag_s=np.asarray(lag_s)
    )


def exchange(reads, index=0, *, asked=3, prompt=10, status=200, failure="", **fields):
    """One exchange from ``reads`` of (stamp, body bytes); sent at 1.0 s, ended at 2.0 s."""
    request = PlannedRequest(index=index, body=b"", prompt_tokens=prompt, output_tokens=asked)
    return Exchange(
        request,
        sent=fields.pop("sent", 1.0),
        ended=fields.pop("ended", 2.0),
        status=status,
        reads=[(stamp, stamp, data) for stamp, data in reads],
        failure=failure,
        framing="body",
        **fields,
    )
