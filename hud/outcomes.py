"""States of jobs and tests as the HUD says them, and where commits are hosted (pure)."""

from collections.abc import Iterable

from gauntlet.hud.shell.links import web_address

WORST_FIRST = ("failed", "infra", "flaky", "running", "blocked", "passed", "not run")
SHORT_SHA = 10
CLASSES = {
    "failed": "f",
    "infra": "i",
    "flaky": "y",
    "running": "r",
    "blocked": "b",
    "passed": "p",
    "not run": "n",
}
BAD = ("failed", "timed_out", "expired")
BLOCKED = ("blocked", "blocked_failed", "waiting_failed", "broken")
_ENDED = {"passed": "passed", "canceled": "not run", "skipped": "not run"}
LINK_COLOUR = "light-dark(#1f5f9e,#86b8ee)"  # contrast of at least 4.5 with either page
_HOSTED = "https://github.com/"


def worst(states: Iterable[str]) -> str:
    """The state that matters most; "not run" of none."""
    return min(states, key=_rank, default="not run")


def _rank(state: str) -> int:
    return WORST_FIRST.index(state) if state in WORST_FIRST else 0


def count(number: int, noun: str) -> str:
    """A number with its noun, such as ``1 flip`` or ``3 flips``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def commit_address(repository: str, sha: str) -> str | None:
    """Address of a commit where the repository's name says where it is hosted, else None."""
    if not sha:
        return None
    base = repository.removesuffix("/").removesuffix(".git")
    if base.count("/") == 1 and not base.startswith("/"):
        base = _HOSTED + base
    return web_address(f"{base}/commit/{sha}") if base.count("/") > 1 else None


def pull_request_address(repository: str, number: int | None) -> str | None:
    """Address of a pull request where the repository's name says where it is hosted, else None."""
    commit = commit_address(repository, "x") if number is not None else None
    return commit and f"{commit.removesuffix('/commit/x')}/pull/{number}"


def attempt_state(state: str, *, soft_failed: bool, failure_class: str | None) -> str:
    """The state of one attempt as the HUD says it. A soft failure is no failure."""
    if soft_failed:
        return "passed"
    if state in BAD:
        return "infra" if (failure_class or "").startswith("infra_") else "failed"
    if state in BLOCKED:
        return "blocked"
    return _ENDED.get(state, "running")
