"""Refresh the pictures of the documentation: every page of the HUD over the made-up organisation.

    python tools/screenshots.py [--out docs/images] [--dark]

Needs Chromium on the path. Addresses are those that somebody would look at: the newest cell in
trouble, the series that became slower, a candidate that a gate stopped.
"""

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from gauntlet.core.clock import utc_now
from gauntlet.core.proc import Service
from gauntlet.hud.made_up.fill import make_demo
from gauntlet.warehouse.store import Store, open_store

PORT = 8795
SIZE = {"width": 1440, "height": 1000}
IDLE = "document.querySelector('[data-test-script-state=notRunning]') !== null"


def addresses(store: Store) -> dict[str, str]:
    """File name and address of every picture."""
    cell = next(row for row in store.query("main_grid", commits=50) if row["failed"])
    job = store.query("job_streaks")[0]["job_key"]
    queue = store.query("queues_now")[0]["queue"]
    build = next(row for row in store.query("recent_builds") if row["state"] == "failed")
    changed = store.sql(
        "SELECT series_id, avgIf(value, started_at > now() - INTERVAL 10 DAY) /"
        " avgIf(value, started_at < now() - INTERVAL 30 DAY) AS ratio"
        " FROM metrics INNER JOIN repetitions USING (repetition_id)"
        " WHERE metric = 'tpot_ms' AND statistic = 'p50' AND side = 'single'"
        " GROUP BY series_id ORDER BY ratio DESC LIMIT 1"
    )[0]["series_id"]
    return {
        "main": "",
        "main-cell": f"?commit={cell['sha']}&group={cell['group_key']}",
        "jobs": f"jobs?job={job}",
        "queues": f"queues?queue={queue}",
        "durations": f"durations?build={build['build_id']}",
        "performance": f"performance?series={changed}",
        "compare": "compare?baseline=run:v0.42.0rc3&candidate=run:v0.42.0rc1",
        "accuracy": "accuracy?series=gsm8k-atlas-8b-h200&task=gsm8k",
        "nightly": "nightly",
        "releases": "releases?candidate=v0.42.0rc2",
        "run": "run?run=v0.42.0rc1",
        "fleet": "fleet",
        "health": "health",
    }


@contextmanager
def serving(warehouse: str) -> Iterator[str]:
    """Serve the pages over a warehouse."""
    import httpx

    command = [sys.executable, "-m", "gauntlet", "hud", "--no-browser", "--port", str(PORT)]
    log = Path(warehouse).with_name("hud.log")
    with Service([*command, "--warehouse", warehouse], log=log):
        root = f"http://127.0.0.1:{PORT}"
        for _ in range(300):
            try:
                if httpx.get(f"{root}/_stcore/health").is_success:
                    break
            except httpx.TransportError:
                time.sleep(0.1)
        yield root


def picture(page: Page, address: str, to: Path) -> None:
    """Open an address, wait until it stands still, and write what is seen."""
    page.goto(address)
    page.locator("h1").first.wait_for(timeout=60_000)
    page.wait_for_function(IDLE, timeout=60_000)
    page.wait_for_timeout(2_000)  # charts are drawn after the script has ended
    page.screenshot(path=to)


def main() -> None:
    """Make the demo, serve it, take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("docs/images"))
    parser.add_argument("--dark", action="store_true")
    given = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("no Chromium on the path: apt-get install chromium")
    given.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        warehouse = Path(folder) / "now" / "warehouse"
        make_demo(warehouse, utc_now())
        with open_store(str(warehouse)) as store:
            pictures = addresses(store)
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
        )
        scheme = "dark" if given.dark else "light"
        page = browser.new_context(viewport=SIZE, color_scheme=scheme).new_page()
        with serving(str(warehouse)) as root:
            for name, address in pictures.items():
                picture(page, f"{root}/{address}", given.out / f"hud-{name}.png")
                print(f"hud-{name}.png: /{address}", file=sys.stderr)
        browser.close()


if __name__ == "__main__":
    main()
