"""Makers of repetitions as the analyzer sees them; a test names only what it is about."""

import gzip
import json
import math

from gauntlet.analyzer.measured import Measured, Place, Statistic

TPOT = Statistic("tpot_ms", "p50")
RATE = Statistic("output_tokens_per_s", "total")
ORDER = ("baseline", "candidate", "candidate", "baseline")


def place(workload="chat", point="", **changes):
    fields = {"recipe": "r", "workload": workload, "point": point, "model": "m", "accelerator": "H"}
    return Place(**{**fields, **changes})


def measured(side="baseline", pair=0, session="s", position=None, **changes):
    turn = position if position is not None else 2 * pair + (side == "candidate")
    where = changes.get("place", place())
    fields = {
        "repetition_id": f"{session}/{where}/{pair}/{side}/{turn}",
        "place": where,
        "side": side,
        "session": session,
        "pair": pair,
        "position": turn,
        "status": "valid",
        "config_fp": "same",
        "completed": 40,
        "values": {TPOT: 10.0},
    }
    return Measured(**{**fields, **changes})


def session_of(logs, *, statistic=TPOT, session="s", level=10.0, **changes):
    """Turns in the order A B B A with these deviations of the log value from ``level``."""
    return [
        measured(
            ORDER[turn % 4],
            turn // 2,
            session,
            turn,
            values={statistic: level * math.exp(log)},
            **changes,
        )
        for turn, log in enumerate(logs)
    ]


_H200 = {
    "output_throughput": Statistic("output_tokens_per_s", "mean"),
    "median_tpot_ms": Statistic("tpot_ms", "p50"),
    "median_itl_ms": Statistic("itl_ms", "p50"),
    "median_ttft_ms": Statistic("ttft_ms", "p50"),
    "median_e2el_ms": Statistic("e2e_ms", "p50"),
    "p99_itl_ms": Statistic("itl_ms", "p99"),
}


def h200_repetition(file, side, *, concurrency, session="", pair=0, **changes):
    """One file of ``vllm bench serve`` on the H200."""
    content = file.read_bytes()
    report = json.loads(gzip.decompress(content) if file.suffix == ".gz" else content)
    return measured(
        side,
        pair,
        session,
        place=place("random", f"concurrency={concurrency}"),
        repetition_id=file.name,
        completed=report["completed"],
        failed=report["failed"],
        values={statistic: report[key] for key, statistic in _H200.items()},
        **changes,
    )
