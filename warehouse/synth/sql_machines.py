"""Statements that make what machines said: accelerators' samples, and single requests."""

from gauntlet.warehouse.synth.shape import Shape
from gauntlet.warehouse.synth.sql import array_of, chance, instant, noise, quoted
from gauntlet.warehouse.synth.sql_perf import repetitions

_GPUS_A_HOST = 8
_HOSTS_A_QUEUE = 2
_REQUESTS = 512
# Queues of the first site alone: accelerators, MiB of memory, watts at full load.
_BOARDS = {
    "L4": (24_576, 72), "A100": (81_920, 400), "H100": (81_559, 700), "H200": (143_771, 700),
    "B200": (183_359, 1000), "MI300X": (196_592, 750), "MI355X": (294_896, 1400),
}  # fmt: skip


def insert_gpu_samples(shape: Shape, day: int, step_s: int) -> str:
    """Samples of a day of the accelerators of some hosts; one idles, one is too hot."""
    rows = array_of(
        [
            f"({quoted(queue.name)}, {quoted(queue.accelerator)}, {_BOARDS[queue.accelerator][0]},"
            f" {_BOARDS[queue.accelerator][1]})"
            for queue in shape.queues
            if queue.accelerator in _BOARDS and "site" not in queue.name
        ]
        or ["('', '', 0, 0)"]
    )
    wave = chance(shape, "gpu", str(day), "host", "gpu", "intDiv(t, 1800)")
    return f"""INSERT INTO gpu_samples
SELECT {instant(day * 86400)} + toIntervalSecond(t), host, toString(gpu), q.2, NULL, '', busy * 100,
    q.3 * (0.02 + 0.9 * (busy > 0.02)), q.4 * (0.12 + 0.8 * busy), 1980 - 600 * hot, 38 + 40 * busy + 12 * hot,
    hot * 64, if(xid < 0.00002, 79, NULL), {{batch: UInt64}}
FROM
(
    SELECT *, concat(q.1, '-', toString(h)) AS host, cityHash64(host, gpu) % 23 = 0 AS hot,
        if(cityHash64(host, gpu) % 11 = 0 OR {wave} < 0.3, 0.01, 0.55 + 0.4 * {wave}) AS busy,
        {chance(shape, "xid", str(day), "host", "gpu", "t")} AS xid
    FROM
    (
        SELECT number * {step_s} AS t, arrayJoin({rows}) AS q, arrayJoin(range({_HOSTS_A_QUEUE})) AS h,
            arrayJoin(range({_GPUS_A_HOST})) AS gpu
        FROM numbers({86400 // step_s})
    )
    WHERE {day} * 86400 + t < {shape.now_s}
)
WHERE q.1 != ''"""


def insert_requests(shape: Shape, night: int) -> str:
    """Every request of one night's valid repetitions."""
    jitter = noise(shape, "request", str(night), "recipe_no", "concurrency", "repetition", "n")
    slow = f"tpot * pow(concurrency, 0.22) * exp(0.06 * {jitter})"
    tail = chance(shape, "tail", str(night), "recipe_no", "concurrency", "repetition", "n")
    return f"""INSERT INTO requests
SELECT run_id, repetition_id, 'single', concat('random-c', toString(concurrency)), 0, n, 'ok', '', 8192, 0, 1024,
    NULL, n * 100, ttft, slow, slow * 0.98, slow * 2.1, slow * 6, ttft + 1023 * slow, {{batch: UInt64}}
FROM
(
    SELECT *, arrayJoin(range({_REQUESTS})) AS n, {slow} AS slow,
        slow * (10 + 4 / (0.08 + {tail})) AS ttft
    FROM ({repetitions(shape, night)}) WHERE NOT bad
)"""
