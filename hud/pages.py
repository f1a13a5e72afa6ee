"""The pages, in the order in which people use them. Each is imported when it is first opened."""

from importlib import import_module

from gauntlet.hud.shell.page import Page
from gauntlet.hud.shell.view import View


def _page(path: str, title: str, icon: str, section: str, question: str) -> Page:
    def draw(view: View) -> None:
        import_module(f"gauntlet.hud.{path or 'main'}.page").draw(view)

    return Page(path=path, title=title, icon=icon, question=question, section=section, draw=draw)


PAGES = (
    _page("", "Main", "grid_on", "CI", "Is main healthy?"),
    _page("jobs", "Jobs and tests", "bug_report", "CI", "Broken or flaky, and since when?"),
    _page("queues", "Queues", "hourglass_empty", "CI", "Is a queue congested, and what helps?"),
    _page(
        "durations", "Durations and cost", "timer", "CI", "What takes long, and what does it cost?"
    ),
    _page("performance", "Performance", "speed", "Engine", "Did a recipe get slower, and when?"),
    _page("compare", "Compare", "compare_arrows", "Engine", "Is one build worse than another?"),
    _page("accuracy", "Accuracy", "fact_check", "Engine", "Does it answer worse, and where?"),
    _page("nightly", "Nightly", "nights_stay", "Engine", "What is new since last night?"),
    _page("releases", "Releases", "rocket_launch", "Ship", "What may ship, and what blocks?"),
    _page("run", "Run", "verified", "Ship", "Is this candidate fit to ship, and why?"),
    _page("fleet", "Fleet", "memory", "Machines", "What do the machines do?"),
    _page("health", "Health", "monitor_heart", "Machines", "Is Gauntlet itself in order?"),
)
