"""A recipe's nightly sweep in a store: three points, two repetitions a night, a step."""

from datetime import timedelta

from factories import batch, decision_row, metric_row, repetition_row, request_row, sha_of

from gauntlet.core.clock import utc_now
from gauntlet.warehouse.store import open_store

POINTS = (1, 4, 16)
STEP = 0.10


def nightly(nights=30, step_at=20, *, recipe="sweep", left_out=(), new_setting_at=None, **changes):
    """Rows of ``nights`` nights until yesterday; TPOT rises by a tenth at ``step_at``."""
    rows = []
    begin = utc_now().replace(hour=1, minute=0, second=0, microsecond=0)
    for night in range(nights):
        if night in left_out:
            continue
        at = begin - timedelta(days=nights - night)
        slow = 1 + STEP * (night >= step_at)
        changed = new_setting_at is not None and night >= new_setting_at
        for point in POINTS:
            for repetition in range(2):
                name = f"{recipe}-n{night}"
                key = {
                    "run_id": name,
                    "repetition_id": f"{name}/c{point}/{repetition}",
                    "series_id": f"{recipe}-c{point}",
                    "side": "single",
                }
                noise = 1 + 0.004 * ((night * 7 + repetition * 3 + point) % 5 - 2)
                tpot = (5 + 2 * point**0.5) * slow * noise
                rows.append(
                    repetition_row(
                        **key,
                        recipe=recipe,
                        point=f"concurrency={point}",
                        engine_commit=sha_of(night + 1),
                        config_fp="new" if changed else "old",
                        accelerator="H200",
                        driver="590" if changed else "580",
                        started_at=at,
                        ended_at=at + timedelta(minutes=1),
                        settings={"gpus": "1", "input_tokens": "128", "output_tokens": "64"},
                        **changes,
                    )
                )
                per_s = 1000 * point / tpot
                rows += [
                    metric_row(**key, value=tpot),
                    metric_row(
                        **key,
                        metric="output_tokens_per_s",
                        statistic="total",
                        value=per_s,
                        unit="tokens/s",
                        direction="higher",
                    ),
                ]
                if night >= nights - 2:
                    rows += [
                        request_row(
                            name,
                            side="single",
                            repetition_id=key["repetition_id"],
                            index=index,
                            tpot_ms=tpot * (1 + index / 500),
                        )
                        for index in range(250)
                    ]
    return rows


def note(series_id, text, **changes):
    at = utc_now() - timedelta(days=5)
    fields = {"kind": "annotation", "subject": f"series/{series_id}", "outcome": "note"}
    return decision_row("", **fields, reason=text, at=at, **changes)


def fill(location, *rows):
    with open_store(location) as store:
        store.insert(batch(f"rows {len(rows)}", *rows))
