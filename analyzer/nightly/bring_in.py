"""The first step: what waits in the spool, the branch's commits, builds and logs."""

import os
from collections.abc import Iterable
from contextlib import closing

from gauntlet.analyzer.nightly.journal import NightFolder
from gauntlet.analyzer.nightly.night import Night, SkippedError, Told
from gauntlet.core.errors import ExitCode, GauntletError, UsageError
from gauntlet.services.transport import Transport
from gauntlet.warehouse.buildkite.api import Pipeline
from gauntlet.warehouse.buildkite.buildkite_command import cursor_folder
from gauntlet.warehouse.buildkite.client import HttpBuildkite
from gauntlet.warehouse.buildkite.cursor import CursorFolder
from gauntlet.warehouse.buildkite.logs import Wanted, fetch_logs
from gauntlet.warehouse.buildkite.sync import SyncRequest, sync
from gauntlet.warehouse.delivery import Delivery
from gauntlet.warehouse.git_history import commit_batches, newest_commit
from gauntlet.warehouse.location import folder_beside
from gauntlet.warehouse.store import open_store


def bring_in(night: Night, folder: NightFolder) -> Told:
    """Bring in what there is to bring in; each source that fails is told, the others go on.

    Raises SkippedError in a dry run, which would change the warehouse.
    """
    del folder
    if night.dry_run:
        raise SkippedError("a dry run brings nothing in")
    told: list[str] = []
    code = ExitCode.OK
    for source in (_spool, _commits, _buildkite):
        try:
            told += source(night)
        except GauntletError as error:
            told.append(f"{source.__name__.removeprefix('_')}: {error.message}")
            code = error.exit_code
    return Told(detail="; ".join(told) or "nothing to bring in", exit_code=code)


def _spool(night: Night) -> Iterable[str]:
    with Delivery(night.location) as delivery:
        receipt = delivery.ship(wait_s=30.0)
        delivery.roll_up()
    if receipt.stopped is not None:
        raise receipt.stopped
    stored = sum(receipt.stored.values())
    return [f"{stored} rows from the spool"] if stored else []


def _commits(night: Night) -> Iterable[str]:
    """Commits of the clone; fetching them is for whoever keeps the clone."""
    if night.repository is None:
        return []
    name = night.policy.repository.slug.rpartition("/")[2] or night.repository.resolve().name
    after = newest_commit(night.location, name, night.branch)
    rows = 0
    with Delivery(night.location) as delivery:
        for batch in commit_batches(
            night.repository, branch=night.branch, name=name, after=after, now=night.now
        ):
            rows += batch.told_rows
            delivery(batch)
        receipt = delivery.ship(wait_s=30.0)
    if receipt.stopped is not None:
        raise receipt.stopped
    return [f"{rows} commits"] if rows else []


def _buildkite(night: Night) -> Iterable[str]:
    where = night.policy.buildkite
    if not where.organization or not where.pipeline:
        return []
    token = os.environ.get(where.variable, "")
    if not token:
        msg = f"the policy names {where.organization}/{where.pipeline}, {where.variable} is not set"
        raise UsageError(msg, hint=f"export {where.variable}")
    pipeline = Pipeline(organization=where.organization, slug=where.pipeline)
    cursors = CursorFolder(cursor_folder(night.location))
    with (
        closing(Transport(where.api_url, authorization=f"Bearer {token}")) as transport,
        Delivery(night.location) as delivery,
        cursors.exclusive(pipeline),
    ):
        api = HttpBuildkite(transport)
        request = SyncRequest(pipeline=pipeline, since=None, until=None)
        report = sync(request, api, delivery, cursors, lambda: night.now)
        delivery.ship(wait_s=30.0)
        with open_store(night.location) as store:
            rows = store.query("unread_logs", pipeline=where.pipeline)
        logs = folder_beside(night.location, "logs")
        fetched = fetch_logs(
            api, pipeline, [Wanted.of(row) for row in rows], logs, delivery, night.now
        )
        receipt = delivery.ship(wait_s=30.0)
        delivery.roll_up()
    if receipt.stopped is not None:
        raise receipt.stopped
    told = [f"{report.builds} builds, {report.jobs} job attempts, {fetched.logs} logs"]
    if fetched.refused:
        told.append(f"{len(fetched.refused)} logs refused, such as {fetched.refused[0]}")
    return told
