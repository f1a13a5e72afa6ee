"""``gauntlet bisect``."""

import json
import math
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from gauntlet.analyzer.options import json_option

if TYPE_CHECKING:
    from gauntlet.analyzer.culprits.answer import Answer
    from gauntlet.analyzer.culprits.bisect import BisectRequest
    from gauntlet.analyzer.culprits.metric import Levels
    from gauntlet.analyzer.culprits.ways import BuildkiteWay
    from gauntlet.analyzer.reverts.branch import RevertBranch

_RATE = click.FloatRange(0, 1, max_open=True)
_POSITIVE = click.FloatRange(0, min_open=True)


@click.command(context_settings={"ignore_unknown_options": False})
@click.option("--good", required=True, metavar="COMMIT", help="It passes there.")
@click.option("--bad", required=True, metavar="COMMIT", help="It fails there.")
@click.option(
    "--repo",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=Path(),
    metavar="DIR",
    help="The repository, or a folder in it, in which the command then runs.  [default: .]",
)
@click.option("--flake-rate", type=_RATE, help="How often it fails where nothing is broken.")
@click.option(
    "--p-fail",
    type=click.FloatRange(0, 1, min_open=True),
    help="How often it fails where it is broken.",
)
@click.option("--jobs", type=click.IntRange(1, 8), default=1, show_default=True, help="At once.")
@click.option("--timeout", type=_POSITIVE, default=3600.0, show_default=True, help="s for a run.")
@click.option(
    "--hang",
    type=click.Choice(["failed", "infra"]),
    default="failed",
    show_default=True,
    help="What a run over --timeout says.",
)
@click.option("--build-command", metavar="CMD", help="Runs first; its failure: unbuildable.")
@click.option("--metric", default="", metavar="KEY", help="Search a step of this number in JSON.")
@click.option("--before", type=_POSITIVE, help="With --metric: its level before the step.")
@click.option("--after", type=_POSITIVE, help="With --metric: its level after the step.")
@click.option(
    "--noise-percent",
    type=_POSITIVE,
    default=2.0,
    show_default=True,
    help="With --before and --after: how much one run varies.",
)
@click.option("--budget-runs", type=click.IntRange(1), default=200, show_default=True)
@click.option("--budget-minutes", type=_POSITIVE, help="Of all runs together.")
@click.option("--budget-money", type=_POSITIVE, help="Needs --price-per-minute.")
@click.option("--price-per-minute", type=_POSITIVE, help="Of one run.")
@click.option(
    "--journal",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Keep the runs here.  [default: in the repository's .git]",
)
@click.option("--restart", is_flag=True, help="Forget the runs of an earlier search.")
@click.option("--dry-run", is_flag=True, help="Print range, prior and first runs; run nothing.")
@click.option(
    "--via",
    type=click.Choice(["command", "buildkite"]),
    default="command",
    show_default=True,
    help="Run COMMAND here, or --job at Buildkite.",
)
@click.option("--job", default="", metavar="KEY", help="With --via buildkite: the job to run.")
@click.option(
    "--mode",
    type=click.Choice(["targeted", "existing"]),
    help="A build of the job alone for each run, or the job of the commit's own build.",
)
@click.option("--branch", metavar="NAME", help="Under which builds are made.")
@click.option("--organization", metavar="SLUG", help="At Buildkite; or in --policy.")
@click.option("--pipeline", metavar="SLUG", help="At Buildkite; or in --policy.")
@click.option(
    "--policy",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A policy that names organization, pipeline and the variable with the token.",
)
@click.option("--revert-branch", metavar="NAME", help="Leave a branch on --bad without a culprit.")
@json_option
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def bisect(
    context: click.Context,
    /,
    dry_run: bool,
    revert_branch: str | None,
    as_json: bool,
    **options: Any,  # noqa: ANN401
) -> None:
    """Find the commit since which COMMAND fails, and prove it: it fails there, its parent passes.

    Flaky commands, commits that cannot be built and failures that come and go are allowed. Exit
    statuses are those of git bisect run: 0 passed, 125 cannot tell, else failed. The same call
    continues a search that was stopped. Exit 0: culprit verified; 3: no commit did it; 5: not
    proven (a range, or the budget is used up).

    COMMAND stands after --. With --via buildkite --job KEY runs that job of the pipeline, and
    there is no COMMAND (token: BUILDKITE_API_TOKEN, or the variable that --policy names).
    """
    from gauntlet.analyzer.culprits.bisect import bisect as run_bisect
    from gauntlet.analyzer.culprits.bisect import plan_bisect
    from gauntlet.core.proc import terminable

    request = _request(**options)
    if dry_run:
        plan = plan_bisect(request)
        click.echo(json.dumps(plan.plain(), indent=2) if as_json else "\n".join(plan.lines()))
        return
    with terminable():
        found = run_bisect(request, lambda line: click.echo(line, err=True))
    reverted = _reverted(request, found, revert_branch) if revert_branch else None
    shown = found.plain() | ({"revert": asdict(reverted)} if reverted else {})
    click.echo(json.dumps(shown, indent=2) if as_json else "\n".join(found.lines()))
    if reverted is not None and not as_json:
        click.echo("\n".join(revert_lines(reverted)))
    context.exit(exit_code(found))


def exit_code(found: "Answer") -> int:
    """0: a culprit is verified; 3: no commit did it; 5: nothing is proven."""
    from gauntlet.core.errors import ExitCode

    match found.outcome:
        case "culprit":
            return ExitCode.OK
        case "nobody" | "environment":
            return ExitCode.NOTHING_SELECTED
        case "range" | "exhausted":
            return ExitCode.INVALID_MEASUREMENT


def _reverted(request: "BisectRequest", found: "Answer", name: str) -> "RevertBranch | None":
    """Take back the first proven culprit; None where there is none."""
    from gauntlet.analyzer.reverts.branch import plan_revert

    if not found.culprits:
        return None
    commit, _ = found.culprits[0]
    message = f'Revert "{commit.title}"\n\nThis reverts commit {commit.sha}.'
    return plan_revert(request.repository, commit.sha, base=request.bad, name=name, message=message)


def revert_lines(reverted: "RevertBranch") -> list[str]:
    """Say where the revert is, or what has to be reverted before it."""
    if reverted.clean:
        return [f"revert: branch {reverted.name}, on {reverted.base[:10]}"]
    files = ", ".join(reverted.conflicts)
    if not reverted.dependent:
        return [f"revert: does not apply, conflicts in {files}"]
    return [
        f"revert: does not apply alone, later commits changed {files} too; in this order:",
        *(f"  git revert {sha[:10]}" for sha in reverted.order),
    ]


def _request(
    *,
    good: str,
    bad: str,
    repo: Path,
    flake_rate: float | None,
    p_fail: float | None,
    jobs: int,
    timeout: float,
    hang: Literal["failed", "infra"],
    build_command: str | None,
    metric: str,
    before: float | None,
    after: float | None,
    noise_percent: float,
    budget_runs: int,
    budget_minutes: float | None,
    budget_money: float | None,
    price_per_minute: float | None,
    journal: Path | None,
    restart: bool,
    via: str,
    command: tuple[str, ...],
    **buildkite: Any,  # noqa: ANN401
) -> "BisectRequest":
    from gauntlet.analyzer.culprits.bisect import BisectRequest
    from gauntlet.analyzer.culprits.run import Budget
    from gauntlet.analyzer.culprits.seen import Target
    from gauntlet.analyzer.culprits.worktrees import Command
    from gauntlet.core.errors import UsageError

    if budget_money is not None and price_per_minute is None:
        raise UsageError("--budget-money needs --price-per-minute")
    way = _way(via, command, metric, jobs=jobs, **buildkite)
    return BisectRequest(
        repository=repo,
        good=good,
        bad=bad,
        way=way,
        target=Target(job=buildkite["job"]) if way else None,
        command=Command(
            argv=command,
            build=tuple(shlex.split(build_command or "")),
            timeout_s=timeout,
            build_timeout_s=timeout,
            hang=hang,
        ),
        flake=flake_rate,
        broken=p_fail,
        jobs=jobs,
        metric=metric,
        levels=_levels(metric, before, after, noise_percent),
        budget=Budget(
            runs=budget_runs,
            minutes=budget_minutes,
            money=budget_money,
            price_per_minute=price_per_minute,
        ),
        journal=journal,
        restart=restart,
    )


def _way(
    via: str,
    command: tuple[str, ...],
    metric: str,
    *,
    jobs: int,
    job: str,
    mode: Literal["targeted", "existing"] | None,
    policy: Path | None,
    **names: str | None,
) -> "BuildkiteWay | None":
    """The way to Buildkite; None where the command is run here."""
    from gauntlet.analyzer.acting.policy import load_policy
    from gauntlet.analyzer.culprits.ways import buildkite_way
    from gauntlet.core.errors import UsageError

    given = {key: value for key, value in names.items() if value}
    if via == "command":
        if not command:
            hint = "write it after --: gauntlet bisect --good A --bad B -- pytest tests/test_a.py"
            raise UsageError("no COMMAND is given", hint=hint)
        other = [f"--{key}" for key, value in {"job": job, "mode": mode, **given}.items() if value]
        if other:
            raise UsageError(f"{', '.join(other)}: only with --via buildkite")
        return None
    if not job:
        raise UsageError("--via buildkite needs --job KEY", hint="the key of the step that fails")
    if command or metric:
        what = "COMMAND" if command else "--metric"
        raise UsageError(f"{what} and --via buildkite exclude each other", hint="give --job alone")
    rules = load_policy(policy)
    settings = rules.buildkite.model_copy(update=given)
    return buildkite_way(settings, mode=mode or rules.probes.mode, at_once=jobs)


def _levels(
    metric: str, before: float | None, after: float | None, noise_percent: float
) -> "Levels | None":
    from gauntlet.analyzer.culprits.metric import Levels
    from gauntlet.core.errors import UsageError

    if (before is None) != (after is None) or (before is not None and not metric):
        msg = "--before and --after go together, and with --metric"
        raise UsageError(msg, hint="without them the levels are measured at both ends")
    if before is None or after is None:
        return None
    if math.isclose(before, after):
        raise UsageError(f"--before and --after are the same, {before:g}: there is no step")
    return Levels(before=math.log(before), after=math.log(after), sd=noise_percent / 100)
