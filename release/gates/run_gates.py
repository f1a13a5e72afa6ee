"""The gates of one run, which is no candidate: what ``release gate --run`` does."""

from gauntlet.core.clock import utc_now
from gauntlet.release.gates.qualification import load_policy
from gauntlet.release.gates.verdicts import Qualification, evaluate, gate_rows
from gauntlet.warehouse.batch import decision_batch
from gauntlet.warehouse.delivery import deliver
from gauntlet.warehouse.store import open_store


def evaluate_run(location: str, run_id: str, *, record: bool) -> Qualification:
    """Evaluate the shipped gates on one run's verdicts, and keep what they say."""
    with open_store(location) as store:
        result = evaluate(load_policy(), store.query("run_decisions", run_id=run_id))
    if record:
        now = utc_now()
        rows = gate_rows(run_id, result, now)
        deliver(location, [decision_batch(run_id, "gates", rows, now)])
    return result
