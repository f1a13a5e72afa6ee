"""What a revert says of itself: the commit's message, the pull request's title and body."""

from collections.abc import Sequence

from gauntlet.analyzer.culprits.model import Commit
from gauntlet.analyzer.incidents.incident import Incident
from gauntlet.analyzer.incidents.words import reproduce
from gauntlet.analyzer.reverts.branch import RevertBranch
from gauntlet.services.escape import code, one_line, plain

_LONGEST_TITLE = 120
_TESTS_SHOWN = 10
_FOOTER = (
    "Opened as a draft by a program, with the proof above. If a fix is quicker than a revert, close"
    " this and say so: the program counts how often it was right."
)


def commit_message(culprit: Commit, incident: Incident) -> str:
    """The message of the revert; git's own words first, so that other programs find it."""
    return "\n".join(
        [
            f'Revert "{one_line(culprit.title)}"',
            "",
            f"This reverts commit {culprit.sha}.",
            "",
            f"It broke {incident.summary}.",
            f"Incident: {incident.incident_id}",
        ]
    )


def title(culprit: Commit) -> str:
    """The title of the pull request."""
    number = f" (#{culprit.pull_request})" if culprit.pull_request else ""
    plain = one_line(culprit.title).removesuffix(number)
    return f'Revert "{plain[:_LONGEST_TITLE]}"{number}'


def body(culprit: Commit, incident: Incident, hud_url: str) -> str:
    """The body of the pull request, in Markdown: what broke, the proof, how to see it oneself."""
    change = f"#{culprit.pull_request}" if culprit.pull_request else code(culprit.sha[:10])
    lines = [
        f"{change} ({code(culprit.sha[:10])}) broke {code(incident.summary)}.",
        "",
        "### Proof",
        "",
        *(f"- {plain(each)}" for each in incident.reasons),
        "",
        "### What fails",
        "",
        f"- class: {incident.failure_class}",
        f"- jobs: {', '.join(map(code, incident.jobs))}",
        *(f"- test: {code(test)}" for test in incident.tests[:_TESTS_SHOWN]),
        *([f"- line: {code(incident.line)}"] if incident.line else []),
        *([f"- newest run: {incident.url}"] if incident.url.startswith("https://") else []),
        f"- last good: {code(incident.last_good or 'not known')}",
        f"- first bad: {code(incident.first_bad)}",
    ]
    if command := reproduce(incident):
        lines += ["", "### See it yourself", "", "```sh", command, "```"]
    if hud_url:
        lines += ["", f"[The incident in the HUD]({hud_url.rstrip('/')}/)"]
    lines += [
        "",
        "---",
        _FOOTER,
    ]
    return "\n".join(lines)


def plan_text(branch: RevertBranch, titles: Sequence[str]) -> str:
    """What to do where the revert does not apply by itself."""
    files = ", ".join(code(path) for path in branch.conflicts)
    if not branch.dependent:
        return f"The revert does not apply: conflicts in {files}. It needs a person."
    lines = [
        f"The revert does not apply alone: later commits changed {files} too. In this order:",
        "",
    ]
    lines += [
        f"{number}. `git revert {sha[:10]}` {plain(text)}"
        for number, (sha, text) in enumerate(zip(branch.order, titles, strict=True), start=1)
    ]
    return "\n".join(lines)
