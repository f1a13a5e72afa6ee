"""What every command that decides is given: definitions, changes and options, by flags."""

import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import click

from gauntlet.core.errors import ConfigError, UsageError
from gauntlet.core.yaml_file import read_text
from gauntlet.pipelines import base, changes, report, sources
from gauntlet.pipelines.changes import ChangeSet
from gauntlet.pipelines.decide import DecideRequest, DecisionResult, decide
from gauntlet.pipelines.decisions import Mode, Options
from gauntlet.pipelines.definitions.job import TIERS, Tier
from gauntlet.pipelines.fleet import fleet_text, parse_fleet
from gauntlet.pipelines.rendering.images import load_images

AUTO = "auto"
_PATH = click.Path(path_type=Path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """The flags of one command, as they were given. Names are those of the options."""

    definitions: Path | None
    engine_version: str | None
    config: str
    cache_dir: Path | None
    changes_file: str | None
    revision_range: str | None
    example: str | None
    checkout: Path | None
    target_branch: str | None
    state: Path | None
    may_fetch: bool
    tier: str
    nightly: bool
    labels: tuple[str, ...]
    keys: tuple[str, ...]
    run_all: bool
    hardware: str | None
    mode: Mode
    fleet: Path | None
    images: Path | None
    shard_plans: Path | None
    strict: bool


_OPTIONS = (
    click.option(
        "--definitions",
        "--engine-source",
        "definitions",
        type=_PATH,
        metavar="DIR",
        help="Root of a source tree of the engine.  [default: this folder]",
    ),
    click.option(
        "--engine-version",
        metavar="VERSION",
        help=f"Get this version's source from the package index instead, such as "
        f"{sources.DEFAULT_VERSION}.",
    ),
    click.option(
        "--config",
        default=sources.CONFIG_PATH,
        show_default=True,
        metavar="FILE",
        help="Pipeline configuration, relative to the tree.",
    ),
    click.option("--changes", "changes_file", metavar="FILE|-", help="Name-status lines."),
    click.option(
        "--git",
        "revision_range",
        metavar="BASE..HEAD|auto",
        help="Changes from git; `auto` finds the base by itself.",
    ),
    click.option("--example", metavar="NAME", help="A built-in change; see `examples`."),
    click.option(
        "--checkout", type=_PATH, metavar="DIR", help="Where --git looks.  [default: --definitions]"
    ),
    click.option(
        "--target-branch",
        envvar="BUILDKITE_PULL_REQUEST_BASE_BRANCH",
        metavar="BRANCH",
        help="--git auto: the branch that the pull request goes to.",
        show_envvar=True,
    ),
    click.option(
        "--state",
        type=_PATH,
        metavar="FILE",
        help="--git auto: the last commit that was built; `upload` keeps it up to date.",
    ),
    click.option(
        "--fetch/--no-fetch",
        "may_fetch",
        default=False,
        help="May a shallow clone be completed?  [default: no]",
    ),
    click.option(
        "--tier",
        type=click.Choice(TIERS),
        default=Tier.READY.title,
        show_default=True,
        help="Kind of build.",
    ),
    click.option("--nightly", is_flag=True, help="The same as --tier nightly."),
    click.option(
        "--label", "labels", multiple=True, metavar="L", help="A label of the pull request."
    ),
    click.option(
        "--key",
        "keys",
        multiple=True,
        metavar="KEY",
        # A build that somebody asked for because of one job: a probe of `gauntlet bisect`.
        envvar="GAUNTLET_ONLY_JOB",
        show_envvar=True,
        help="Only this job and what it needs.",
    ),
    click.option("--run-all", is_flag=True, help="Every job of the tier, whatever changed."),
    click.option("--hardware", metavar="TAG", help="Leave out jobs that are for other hardware."),
    click.option(
        "--mode",
        type=click.Choice(["default", "compatible"]),
        default="default",
        show_default=True,
        help="`compatible` applies vLLM's own rule.",
    ),
    click.option(
        "--fleet", type=_PATH, metavar="FILE", help="Devices and queues.  [default: built in]"
    ),
    click.option(
        "--images", type=_PATH, metavar="FILE", help="Images by digest: {VARIANT: REFERENCE}."
    ),
    click.option(
        "--shard-plans", type=_PATH, metavar="DIR", help="Plans of `shard plan`, one file a job."
    ),
    click.option("--strict", is_flag=True, help="Fail on definitions that cannot be read."),
    click.option(
        "--cache-dir",
        type=_PATH,
        envvar="GAUNTLET_CACHE_DIR",
        metavar="DIR",
        help="Where fetched sources are kept.",
    ),
)


def with_request(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options; the command gets the request, and nothing has been decided yet."""
    names = list(Inputs.__dataclass_fields__)

    @functools.wraps(command)
    def wrapped(**options: object) -> None:
        given = {name: options.pop(name) for name in names}
        inputs = Inputs(**given)  # type: ignore[arg-type]
        command(request=make_request(inputs), strict=inputs.strict, **options)

    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped


def with_decision(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options; the command gets the decision, after its problems were said."""

    @functools.wraps(command)
    def wrapped(*, request: DecideRequest, strict: bool, **options: object) -> None:
        command(result=decide_aloud(request, strict=strict), **options)

    return with_request(wrapped)


def decide_aloud(request: DecideRequest, *, strict: bool) -> DecisionResult:
    """Decide, and say on stderr what is wrong in the definitions.

    Raises ConfigError with all of it where that must not be.
    """
    result = decide(request)
    if strict and result.problems:
        hint = "without --strict each of these becomes one failing step, and the rest goes on"
        raise ConfigError(result.problems, hint=hint)
    for line in report.problem_lines(result):
        click.echo(line, err=True)
    return result


def make_request(inputs: Inputs) -> DecideRequest:
    """Read what the flags name. Raises UsageError or ConfigError for what cannot be read."""
    # The list first: it is quick to refuse, and a source may have to be fetched.
    changed = _changes(inputs)
    source = _source(inputs)
    fleet = read_text(inputs.fleet) if inputs.fleet else fleet_text()
    if inputs.fleet:
        # Here its file has a name; a recorded decision knows only the text.
        parse_fleet(fleet, file=str(inputs.fleet))
    return DecideRequest.from_source(
        source,
        changed,
        options=_options(inputs),
        config=inputs.config,
        fleet=fleet,
        images=load_images(inputs.images, parse_fleet(fleet).images) if inputs.images else None,
        shard_plans=_shard_plans(inputs.shard_plans) if inputs.shard_plans else (),
    )


def _shard_plans(folder: Path) -> tuple[str, ...]:
    if not folder.is_dir():
        msg = f"--shard-plans: no such folder: {folder}"
        raise UsageError(msg, hint="give the folder that `shard plan --out` wrote its plans to")
    return tuple(read_text(path) for path in sorted(folder.glob("*.json")))


def _options(inputs: Inputs) -> Options:
    tier = Tier[inputs.tier.upper()]
    return Options(
        mode=inputs.mode,
        tier=max(tier, Tier.NIGHTLY) if inputs.nightly else tier,
        labels=inputs.labels,
        keys=inputs.keys,
        run_all=inputs.run_all,
        hardware=inputs.hardware,
    )


def _changes(inputs: Inputs) -> ChangeSet:
    given = [o for o in (inputs.changes_file, inputs.revision_range, inputs.example) if o]
    asks_by_itself = inputs.nightly or inputs.run_all or inputs.keys
    if not given and (asks_by_itself or Tier[inputs.tier.upper()].runs_everything):
        return ChangeSet()
    if len(given) != 1:
        msg = "say what changed, in one way" if given else "say what changed"
        hint = "--changes FILE (or -), --git BASE..HEAD, --git auto or --example NAME"
        raise UsageError(msg, hint=hint)
    if inputs.example:
        return ChangeSet(files=changes.load_example(inputs.example))
    if inputs.revision_range:
        return _from_git(inputs, inputs.revision_range)
    if inputs.changes_file == "-":
        raw = sys.stdin.buffer.read()
        text = raw.decode("utf-8", "backslashreplace")
        return ChangeSet(files=changes.parse_changes(text, file="standard input"))
    return ChangeSet(files=changes.read_changes(Path(str(inputs.changes_file))))


def _from_git(inputs: Inputs, revision_range: str) -> ChangeSet:
    checkout = inputs.checkout or inputs.definitions
    if checkout is None and inputs.engine_version:
        msg = "--git needs --checkout: the clone whose changes are meant"
        raise UsageError(msg)
    # Buildkite sets the variable to nothing where there is no pull request.
    request = base.BaseRequest(
        repository=checkout or Path(),
        target=inputs.target_branch or None,
        state=inputs.state,
        may_fetch=inputs.may_fetch,
    )
    by_itself = revision_range == AUTO
    found = (
        base.build_changes(request) if by_itself else base.range_changes(request, revision_range)
    )
    if not any(path.endswith(".txt") for path in changes.changed_paths(found.files)):
        return found
    # Most changes touch no lock, and its models take time to build.
    from gauntlet.pipelines.lock_changes import with_locks

    return with_locks(found, request.repository)


def _source(inputs: Inputs) -> sources.EngineSource:
    if inputs.definitions is not None and inputs.engine_version is not None:
        msg = "say whose definitions in one way: --definitions DIR or --engine-version VERSION"
        raise UsageError(msg)
    if inputs.engine_version is None:
        return sources.open_source(inputs.definitions or Path(), config=inputs.config)
    folder = inputs.cache_dir or sources.default_cache()
    with report.progress("fetching the source") as update:
        return sources.fetch_source(
            version=inputs.engine_version, cache_dir=folder, progress=update
        )
