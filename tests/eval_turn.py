"""A turn without an engine, and samples by the dozen."""

from pathlib import Path
from types import SimpleNamespace

from gauntlet.harness.context import Measurement
from gauntlet.harness.engines.identity import EngineIdentity
from gauntlet.harness.engines.launch import Endpoint, LaunchSpec
from gauntlet.harness.evals.samples import Sample
from gauntlet.harness.schedule import Slot

ENDPOINT = Endpoint(host="127.0.0.1", port=9, model="m", version="1")


def turn(folder: Path) -> Measurement:
    engine = SimpleNamespace(
        endpoint=ENDPOINT,
        identity=EngineIdentity(model="m", served_models=("m",)),
        spec=LaunchSpec(kind="simulator", label="x", argv=("x",)),
    )
    slot = Slot(block=0, pair=0, position=0, side="baseline")
    return Measurement(
        run_id="r", recipe="recipe", engine=engine, slot=slot, seed=7, workdir=folder
    )


def sample(item="q", *, score=1.0, **changes):
    values = {
        "item_id": item,
        "status": "scored",
        "score": score,
        "answer": "18",
        "expected": "18",
        "question": "How many?",
        "response": "It is 18.",
        "finish_reason": "stop",
        "output_tokens": 10,
    }
    return Sample(**{**values, **changes})


def lost(item="q", error="HTTP 503: overloaded"):
    return sample(item, score=None, status="error", error=error, finish_reason=None, response="")


def metrics_of(rows):
    return {
        (row.metric, row.statistic): row.value for row in rows if type(row).__name__ == "MetricRow"
    }


def rows_of(rows, kind):
    return [row for row in rows if type(row).__name__ == kind]
