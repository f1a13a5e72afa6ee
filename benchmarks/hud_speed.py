"""How long does a viewer of the HUD wait, and how much memory is held?

    python benchmarks/hud_speed.py pages --warehouse FOLDER [--rounds 3] [--page queues]
    python benchmarks/hud_speed.py viewers --warehouse FOLDER [--viewers 10]
    python benchmarks/hud_speed.py memory --warehouse FOLDER [--refreshes 1000]

``pages`` opens every page in a real Chromium, each round with a HUD that has just been started:

- *at once*: the page Main in a browser without cache, the moment the HUD answers;
- *cold*: each page in a browser without cache, after the HUD has warmed itself up; nobody looked
  at that page before;
- *link*: the same page by a link from another one, in another browser that knows both;
- *loaded*: the address loaded anew in that browser.

Each is given until the first answer (figure, state, row, chart or cell) is visible, and until all
is drawn. The anchor is a Streamlit page that says one word, in the same rounds.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.sync_api import sync_playwright

from gauntlet.hud.pages import PAGES
from gauntlet.warehouse.store import open_store

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = "/usr/bin/chromium"
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
]  # fmt: skip
# What answers a question: a figure, a table, a chart, the grid; never a heading or a spinner.
USEFUL = (
    "[data-answer], [data-testid=stDataFrame] canvas, [data-grid] [data-cell],"
    " [data-testid=stVegaLiteChart] :is(canvas, svg.marks), .anchor-word"
)
WATCH = """
(selector) => {
  const began = performance.now();
  window.firstUseful = null;
  const look = () => {
    for (const each of document.querySelectorAll(selector)) {
      if (each.getClientRects().length) { window.firstUseful = performance.now(); return; }
    }
    requestAnimationFrame(look);
  };
  look();
}
"""
IDLE = "document.querySelector('[data-test-script-state=notRunning]') !== null"
WARM_UP_S = 10
ANCHOR = """
import streamlit as st
st.html("<span class='anchor-word'>word</span>")
"""


@contextmanager
def hud(warehouse: str, port: int) -> Iterator[int]:
    """Serve the pages; give the process id."""
    command = [sys.executable, "-m", "gauntlet", "hud", "--no-browser", "--port", str(port)]
    with served([*command, "--warehouse", warehouse], port) as pid:
        yield pid


@contextmanager
def anchor(port: int) -> Iterator[int]:
    """Serve a page that says one word."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "anchor.py"
        script.write_text(ANCHOR)
        options = ["--server.headless=true", "--server.fileWatcherType=none"]
        options += [f"--server.port={port}", "--browser.gatherUsageStats=false"]
        command = [sys.executable, "-m", "streamlit", "run", str(script), *options]
        with served(command, port) as pid:
            yield pid


@contextmanager
def served(command: list[str], port: int) -> Iterator[int]:
    import httpx

    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            try:
                if httpx.get(f"http://127.0.0.1:{port}/_stcore/health").is_success:
                    break
            except httpx.TransportError:
                time.sleep(0.1)
        yield process.pid
    finally:
        process.terminate()
        process.wait(20)


def until_drawn(page: "Page") -> tuple[float, float]:
    """Seconds from the beginning of the navigation to the first useful thing, and to the last."""
    page.wait_for_function("window.firstUseful !== null", timeout=60_000)
    page.wait_for_function(IDLE, timeout=60_000)
    first, last, began = page.evaluate("[window.firstUseful, performance.now(), window.began || 0]")
    return (first - began) / 1000, (last - began) / 1000


def addresses(warehouse: str) -> dict[str, str]:
    """Every page, and those with a subject, with subjects of this warehouse."""
    with open_store(warehouse) as store:
        commit = store.query("main_commits", limit=10)[9]["sha"]
        streaks = store.query("job_streaks")
        job = streaks[0]["job_key"] if streaks else store.query("longest_jobs")[0]["job_key"]
        tests = store.query("tests_in_trouble")
        queue = store.query("queues_now")[0]["queue"]
        group = store.query("main_grid", commits=10)[0]["group_key"]
    found = {each.title: f"{each.path}" for each in PAGES}
    found |= {
        "Main, a cell": f"?commit={commit}&group={group}",
        "Jobs, a job": f"jobs?job={job}",
        "Queues, a queue": f"queues?queue={queue}",
    }
    if tests:
        found["Jobs, a test"] = f"jobs?test={tests[0]['nodeid']}"
    return found


def useful(path: str) -> str:
    """What counts on a page; one that asks for a choice is useful when it asks."""
    return f"{USEFUL}, [data-testid=stAlert]" if path.startswith("compare") else USEFUL


def cold(browser: "Browser", root: str, path: str) -> tuple[float, float]:
    address = f"{root}/{path}"
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.add_init_script(f"({WATCH})({useful(path)!r})")
    page = context.new_page()
    page.goto(address, wait_until="commit")
    took = until_drawn(page)
    context.close()
    return took


def warm(browser: "Browser", root: str, path: str) -> tuple[float, ...]:
    """The page by a link from another page, and loaded anew; both in one browser."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    # A page that has none of what counts, so that what is seen is the new page's.
    other = "durations" if path.startswith("compare") else "compare"
    for address in (f"{root}/{path}", f"{root}/{other}"):
        page.goto(address)
        page.wait_for_function(IDLE, timeout=60_000)
        time.sleep(1.5)
    page.evaluate(f"({WATCH})({useful(path)!r})")
    page.evaluate(
        """(href) => {
          window.began = performance.now();
          history.pushState({}, "", href);
          window.dispatchEvent(new PopStateEvent("popstate", { state: {} }));
        }""",
        f"{root}/{path}",
    )
    by_link = until_drawn(page)
    time.sleep(0.5)
    context.add_init_script(f"({WATCH})({useful(path)!r})")
    page.goto(f"{root}/{path}", wait_until="commit")
    loaded = until_drawn(page)
    context.close()
    return (*by_link, *loaded)


def bench_pages(warehouse: str, rounds: int, only: str | None) -> None:
    port = 8791
    found = {
        name: path for name, path in addresses(warehouse).items() if only in (None, path, name)
    }
    took: dict[str, list[tuple[float, ...]]] = {}
    root = f"http://127.0.0.1:{port}"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for _ in range(rounds):
            with anchor(port):
                took.setdefault("(anchor)", []).append(cold(browser, root, "") * 3)
            with hud(warehouse, port):
                took.setdefault("Main, at once", []).append(cold(browser, root, ""))
            with hud(warehouse, port):
                time.sleep(WARM_UP_S)
                for name, path in found.items():
                    first = cold(browser, root, path)
                    took.setdefault(name, []).append((*first, *warm(browser, root, path)))
                    print(f"  {name:20} {took[name][-1]}", file=sys.stderr, flush=True)
        browser.close()
    heads = ("cold", "link", "loaded")
    print(f"{'seconds: first, all':20}" + "".join(f"{head:>16}" for head in heads))
    for name, rows in took.items():
        middle = [statistics.median(column) for column in zip(*rows, strict=True)]
        pairs = [f"{middle[i]:.2f}, {middle[i + 1]:.2f}" for i in range(0, len(middle), 2)]
        print(f"{name:20}" + "".join(f"{pair:>16}" for pair in pairs))


def resident_mib(pid: int) -> float:
    """Resident memory of a process in MiB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if "VmRSS" in line)


def bench_memory(warehouse: str, refreshes: int) -> None:
    """Load pages in turn, again and again; the server's memory after each tenth of them."""
    port = 8792
    with sync_playwright() as playwright, hud(warehouse, port) as pid:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page()
        paths = list(addresses(warehouse).values())
        print(f"{'refreshes':>10}{'MiB':>8}")
        for number in range(refreshes + 1):
            if number % max(1, refreshes // 10) == 0:
                print(f"{number:10}{resident_mib(pid):8.0f}", flush=True)
            page.goto(f"http://127.0.0.1:{port}/{paths[number % len(paths)]}")
            page.wait_for_function(IDLE, timeout=60_000)
        browser.close()


def bench_viewers(warehouse: str, viewers: int) -> None:
    """Open the first page for one viewer and for many at once, cold each time."""
    port = 8793
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for number in (1, viewers):
            with hud(warehouse, port):
                contexts = [browser.new_context() for _ in range(number)]
                pages = [context.new_page() for context in contexts]
                began = time.perf_counter()
                for page in pages:
                    page.goto(f"http://127.0.0.1:{port}/", wait_until="commit")
                for page in pages:
                    page.wait_for_selector(USEFUL, timeout=60_000)
                took = time.perf_counter() - began
                print(f"{number:3} viewers at once: the last sees the page after {took:.2f} s")
                for context in contexts:
                    context.close()
        browser.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="what", required=True)
    for name in ("pages", "viewers", "memory"):
        command = commands.add_parser(name)
        command.add_argument("--warehouse", required=True)
        command.add_argument("--rounds", type=int, default=3)
        command.add_argument("--page", help="one page alone, by path or title")
        command.add_argument("--viewers", type=int, default=10)
        command.add_argument("--refreshes", type=int, default=1000)
    given = parser.parse_args()
    match given.what:
        case "pages":
            bench_pages(given.warehouse, given.rounds, given.page)
        case "viewers":
            bench_viewers(given.warehouse, given.viewers)
        case _:
            bench_memory(given.warehouse, given.refreshes)


if __name__ == "__main__":
    main()
