"""A real Chromium over a served HUD."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from ports import free_port, wait_listening

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-sync",
    "--disable-quic",
    "--no-first-run",
    "--disable-component-update",
)
IDLE = (
    "window.gauntletRouter === true"
    " && document.querySelector('[data-test-script-state=notRunning]') !== null"
)


@contextmanager
def chromium() -> Iterator:
    """A browser; the test is skipped where the machine has none."""
    from playwright.sync_api import sync_playwright

    names = ("chromium", "chromium-browser", "google-chrome")
    path = next((path for name in names if (path := shutil.which(name))), None)
    if path is None:
        pytest.skip("no Chromium on PATH; .ci/run installs it")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield browser
        browser.close()


@dataclass(frozen=True)
class Site:
    """A served HUD: its address, and the process behind it."""

    address: str
    process: subprocess.Popen

    @property
    def resident_mib(self) -> float:
        """Memory of the process in MiB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return next(int(line.split()[1]) / 1024 for line in status.splitlines() if "VmRSS" in line)


@contextmanager
def serving(*arguments: str, script: Path | None = None) -> Iterator[Site]:
    """Serve the HUD, or another script that draws it, on a free port."""
    port = free_port()
    if script is None:
        command = [sys.executable, "-m", "gauntlet", "hud", "--no-browser", "--port", str(port)]
        command += arguments
    else:
        options = ["--server.headless=true", f"--server.port={port}", "--server.address=127.0.0.1"]
        options += ["--server.fileWatcherType=none", "--browser.gatherUsageStats=false"]
        command = [sys.executable, "-m", "streamlit", "run", str(script), *options, "--"]
        command += arguments
    process = subprocess.Popen(command)
    try:
        wait_listening(port, process)
        yield Site(f"http://127.0.0.1:{port}", process)
    finally:
        process.terminate()
        process.wait(15)


@dataclass
class Visit:
    """One viewer; what went wrong in the page, and what it asked of other machines."""

    page: object
    errors: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)

    def open(self, address: str) -> "Visit":
        """Open an address and wait until it is drawn."""
        self.page.goto(address)
        return self.settled()

    def settled(self) -> "Visit":
        """Wait until the script has run and the heading is there."""
        self.page.locator("h1").first.wait_for(timeout=60_000)
        # A click is on its way for a moment before the script runs.
        self.page.wait_for_timeout(150)
        self.page.wait_for_function(IDLE, timeout=60_000)
        return self

    @property
    def exceptions(self) -> int:
        """How many parts of the page say that the program failed."""
        return self.page.locator("[data-testid=stException]").count()


@contextmanager
def visiting(browser, **settings) -> Iterator[Visit]:
    """A viewer with a fresh browser profile."""
    context = browser.new_context(**({"viewport": {"width": 1440, "height": 1200}} | settings))
    visit = Visit(context.new_page())
    visit.page.on("pageerror", lambda error: visit.errors.append(str(error)))

    def noted(request) -> None:
        if not request.url.startswith(("http://127.0.0.1", "data:", "blob:")):
            visit.outside.append(request.url)

    visit.page.on("request", noted)
    yield visit
    context.close()
