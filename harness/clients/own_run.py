"""One load of our own client: ``python -m gauntlet.harness.clients.own_run JOB RESULT``.

JOB is the JSON object that ``OwnClient.plan`` makes. What judges the answers is imported after the
load: before it, it would only delay the first request.
"""

import json
import resource
import sys
import tempfile
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from gauntlet import __version__
from gauntlet.core.clock import utc_now
from gauntlet.harness.load.arrivals import Schedule
from gauntlet.harness.load.client import LoadJob, Target, run_load
from gauntlet.harness.load.event_reader import LoadLog
from gauntlet.harness.load.requests import Ask, PlannedRequest
from gauntlet.harness.load.seeds import random_ids
from gauntlet.perf_eval.workloads import Deadlines

if TYPE_CHECKING:
    from gauntlet.harness.clients.own import OwnReport

# An answer may be slow; a client that gives up early would measure a server relieved of work.
_CONNECT_S, _TOTAL_S = 30.0, 3600.0


class Job(TypedDict):
    """What one load is; see ``ClientLoad``."""

    base_url: str
    model: str
    requests: int
    input_tokens: int
    output_tokens: int
    concurrency: int | None
    rate: float | None
    seed: int
    stagger_s: float
    idle_s: float
    workers: int | None


def load_of(job: Job) -> LoadJob:
    """Plan the load."""
    ask = Ask(model=job["model"])
    length, output = job["input_tokens"], job["output_tokens"]
    planned = [
        PlannedRequest(
            index=n,
            body=ask.body(random_ids(length, "clients", job["seed"], n), output, exact=True),
            prompt_tokens=length,
            output_tokens=output,
        )
        for n in range(job["requests"])
    ]
    return LoadJob(
        target=Target.of(job["base_url"], "/v1/completions"),
        planned=planned,
        schedule=_schedule(job),
        deadlines=Deadlines(connect_s=_CONNECT_S, idle_s=job["idle_s"], total_s=_TOTAL_S),
        workers=job["workers"],
    )


def _schedule(job: Job) -> Schedule:
    rate, concurrency = job["rate"], job["concurrency"]
    if rate is not None:
        due = tuple(n / rate for n in range(job["requests"]))
        return Schedule(due_s=due, max_in_flight=concurrency or 0)
    streams = min(concurrency or 1, job["requests"])
    stagger = tuple(job["stagger_s"] * n / streams for n in range(streams))
    return Schedule(due_s=None, streams=streams, stagger_s=stagger)


class _Memory:
    """Peak memory of this process while the load runs: before its log is read."""

    peak_kib = 0

    def sample(self) -> None:
        self.peak_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main(arguments: list[str]) -> int:
    """Run the load and write its report."""
    from gauntlet.core.files import write_atomic

    job: Job = json.loads(arguments[0])
    started_at = utc_now()
    memory = _Memory()
    with tempfile.TemporaryDirectory(prefix="gauntlet-own-") as folder:
        log = run_load(load_of(job), Path(folder), watch=memory.sample)
        report = _report(job, log, started_at, memory.peak_kib)
    write_atomic(Path(arguments[1]), report.model_dump_json())
    return 0


def _report(job: Job, log: LoadLog, started_at: datetime, rss_kib: int) -> "OwnReport":
    from gauntlet.harness.clients.own import OwnMetric, OwnReport
    from gauntlet.harness.load.metrics import full_span, load_metrics
    from gauntlet.harness.load.results import failures_of, outcomes

    judged = outcomes(log)
    results = [outcome.result for outcome in judged]
    good = [result for result in results if result.status == "ok"]
    span = full_span(judged)
    return OwnReport(
        version=__version__,
        model=job["model"],
        started_at=started_at,
        duration_s=span.seconds if span else None,
        asked=len(results),
        completed=len(good),
        failures=dict(Counter(failures_of(results))),
        input_tokens=sum(result.prompt_tokens or 0 for result in good),
        output_tokens=sum(result.output_tokens or 0 for result in good),
        concurrency=job["concurrency"],
        load_cpu_s=sum(summary.cpu_s for summary in log.summaries),
        load_rss_kib=rss_kib + sum(summary.peak_rss_kib for summary in log.summaries),
        metrics=tuple(
            OwnMetric(name=m.name, statistic=m.statistic, window=m.window, value=m.value)
            for m in load_metrics(log, judged)
        ),
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
