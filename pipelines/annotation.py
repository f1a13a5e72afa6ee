"""What a build says about itself: Markdown for Buildkite's annotation of it."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from gauntlet.pipelines.decide import DecisionResult
from gauntlet.pipelines.decisions import BLOCK, RUN, SKIP, Decision, Verb
from gauntlet.pipelines.estimate import Estimate, JobEstimate

# Buildkite takes 1 MiB; people read less.
_MOST_ROWS = 200
_MOST_KEYS = 40


def annotation(result: DecisionResult, expected: Estimate) -> str:
    """Say what runs, what waits, what does not, why, and what it will take."""
    return "\n".join(_lines(result, expected)) + "\n"


def _lines(result: DecisionResult, expected: Estimate) -> Iterator[str]:
    counts, changes = result.counts, result.request.changes
    waiting = f", {counts.blocked} wait for a person" if counts.blocked else ""
    yield f"#### {counts.selected} of {counts.jobs} jobs run{waiting}"
    yield ""
    if changes.unknown:
        yield f"**Everything runs, because it is not known what changed:** {_text(changes.unknown)}"
    else:
        between = (
            f" between `{changes.base[:12]}` and `{changes.head[:12]}`"
            if (changes.base and changes.head)
            else ""
        )
        yield f"For {counts.changed_files} changed file(s){between}."
    if result.plan.notice:
        yield ""
        yield _text(result.plan.notice)
    yield ""
    yield from _summary(result)
    yield from _expectation(expected)
    chosen = {verb: _of(result, verb) for verb in (RUN, BLOCK, SKIP)}
    yield from _jobs("What runs", chosen[RUN], expected)
    yield from _jobs("What waits for a person", chosen[BLOCK], expected)
    yield from _skipped(chosen[SKIP])
    if result.problems:
        yield from _details(
            f"Definitions that cannot be read ({len(result.problems)}): each is a failing step",
            (f"- {_text(str(problem))}" for problem in result.problems),
        )


def _of(result: DecisionResult, verb: Verb) -> list[Decision]:
    return [decision for decision in result.selection.decisions if decision.decision == verb]


def _summary(result: DecisionResult) -> Iterator[str]:
    reasons = result.summary_reasons()
    if not reasons:
        return
    yield "| jobs | by rule | for example because of |"
    yield "|---:|---|---|"
    for reason in reasons:
        yield f"| {reason.jobs} | {reason.rule} | {_code(reason.evidence)} |"
    yield ""


def _expectation(expected: Estimate) -> Iterator[str]:
    if not expected.running:
        return
    unmeasured = expected.running - expected.measured
    bound = "at most " if unmeasured else ""
    cost = f", {bound}${expected.cost:,.2f}" if expected.without_cost < expected.running else ""
    if cost and expected.without_cost:
        cost += f" (without {expected.without_cost} job(s) of unknown cost)"
    yield (
        f"**Expected:** {bound}{expected.job_minutes:,.0f} job-minutes{cost}. The longest chain "
        f"takes {bound}{expected.path_minutes:,.0f} min, if no job waits for a machine: "
        f"{' → '.join(map(_code, expected.path))}."
    )
    if unmeasured:
        yield (
            f"{unmeasured} of {expected.running} jobs were never measured and count with their "
            "time limit."
        )
    yield ""


def _jobs(title: str, decisions: Sequence[Decision], expected: Estimate) -> Iterator[str]:
    if not decisions:
        return
    rows = ["| job | why | min | $ |", "|---|---|---:|---:|"]
    for decision in decisions[:_MOST_ROWS]:
        figures = _figures(expected.jobs.get(decision.key))
        rows.append(f"| {_code(decision.key)} | {_text(decision.reasons[0].text)} | {figures} |")
    if len(decisions) > _MOST_ROWS:
        rows += ["", f"… and {len(decisions) - _MOST_ROWS} more; all are in `selection.json`"]
    yield from _details(f"{title} ({len(decisions)})", rows)


def _figures(job: JobEstimate | None) -> str:
    if job is None:
        return "| "
    copies = f"{job.copies} x " if job.copies > 1 else ""
    minutes = f"{job.minutes:.0f}" if job.measured else f"≤ {job.minutes:.0f}"
    cost = "?" if job.cost is None else f"{job.cost:.2f}"
    return f"{copies}{minutes} | {cost}"


def _skipped(decisions: Sequence[Decision]) -> Iterator[str]:
    if not decisions:
        return
    by_rule: dict[str, list[str]] = defaultdict(list)
    for decision in decisions:
        by_rule[decision.rule].append(decision.key)
    rows = []
    for rule, keys in sorted(by_rule.items(), key=lambda item: (-len(item[1]), item[0])):
        more = f" … and {len(keys) - _MOST_KEYS} more" if len(keys) > _MOST_KEYS else ""
        rows.append(f"- {len(keys)} by {rule}: {', '.join(map(_code, keys[:_MOST_KEYS]))}{more}")
    rows += ["", "`gauntlet pipelines why-not KEY` says what would start one of them."]
    yield from _details(f"What does not run ({len(decisions)})", rows)


def _details(title: str, rows: Iterable[str]) -> Iterator[str]:
    yield f"<details><summary>{title}</summary>"
    yield ""
    yield from rows
    yield ""
    yield "</details>"


def _code(text: str) -> str:
    """Text in a code span, whatever is in it: names of files are anybody's choice."""
    clean = " ".join(text.replace("|", "\\|").split())
    fence = "`" if "`" not in clean else "``"
    return f"{fence}{clean}{fence}" if fence == "`" else f"{fence} {clean} {fence}"


def _text(text: str) -> str:
    """Text that is neither HTML nor a cell's end."""
    clean = " ".join(text.split())
    for sign, code in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("|", "\\|"), ("*", "\\*")):
        clean = clean.replace(sign, code)
    return clean
