"""The use case of ``gauntlet flakes propose``: read, propose, record."""

from gauntlet.analyzer.acting.permit import permit_of
from gauntlet.analyzer.acting.policy import Policy
from gauntlet.analyzer.flakes.from_store import FlakesRequest, read_flakes
from gauntlet.analyzer.flakes.propose import (
    Desk,
    Proposed,
    past_proposals,
    propose_flakes,
    read_signatures,
)
from gauntlet.core.clock import utc_now
from gauntlet.services.codehost.port import CodeHost
from gauntlet.warehouse.batch import decision_batch
from gauntlet.warehouse.delivery import deliver
from gauntlet.warehouse.store import open_store


def propose_from_store(
    location: str,
    request: FlakesRequest,
    policy: Policy,
    host: CodeHost | None,
    *,
    dry_run: bool,
    run_id: str = "",
) -> Proposed:
    """Propose issues about what the warehouse shows as flaky, and record what was decided."""
    now = utc_now()
    with open_store(location) as store:
        flakes = read_flakes(store, request, now)
        signatures = read_signatures(store, branch=request.branch, days=request.days)
        past = past_proposals(store.query("flake_proposals"))
    desk = Desk(
        limits=policy.propose,
        permit=permit_of(policy, host),
        now=now,
        host=host,
        run_id=run_id,
        dry_run=dry_run,
    )
    found = propose_flakes(flakes, signatures, past, desk)
    if found.rows and not dry_run:
        deliver(location, [decision_batch(run_id, "flake-proposals", found.rows, now)])
    return found
