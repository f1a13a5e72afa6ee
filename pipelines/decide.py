"""The whole decision in one call: definitions and changes in, selection and pipeline out."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from gauntlet.core.errors import InfrastructureError, Problem
from gauntlet.pipelines import artifacts
from gauntlet.pipelines.artifacts import Engine
from gauntlet.pipelines.changes import ChangeSet
from gauntlet.pipelines.decisions import Options, Selection
from gauntlet.pipelines.definitions.files import DefinitionFiles, read_files
from gauntlet.pipelines.definitions.job import Definitions, Tier
from gauntlet.pipelines.definitions.loader import parse_definitions
from gauntlet.pipelines.fleet import fleet_text, parse_fleet
from gauntlet.pipelines.plan import Plan, fail_steps, fleet_problems, make_plan
from gauntlet.pipelines.rendering.images import ImageSource
from gauntlet.pipelines.rendering.pipeline import render
from gauntlet.pipelines.rendering.yaml_text import to_yaml
from gauntlet.pipelines.selection import select
from gauntlet.pipelines.sources import CONFIG_PATH, EngineSource
from gauntlet.pipelines.validation import step_problems, structure_problems, validate_pipeline


@dataclass(frozen=True, slots=True, kw_only=True)
class DecideRequest:
    """All that a decision depends on; two equal requests give equal bytes.

    ``images`` are references by digest, by variant, of images that exist already.
    ``shard_plans`` are texts of plans by which jobs run in shards. ``root`` is the tree that the
    definitions were read from, where there is one: it decides nothing.
    """

    engine: Engine
    files: DefinitionFiles
    changes: ChangeSet
    fleet: str
    options: Options = field(default_factory=Options)
    images: Mapping[str, str] = field(default_factory=dict)
    shard_plans: tuple[str, ...] = ()
    root: Path | None = field(default=None, compare=False)

    @classmethod
    def from_source(
        cls,
        source: EngineSource,
        changes: ChangeSet,
        *,
        options: Options | None = None,
        config: str = CONFIG_PATH,
        fleet: str | None = None,
        images: Mapping[str, str] | None = None,
        shard_plans: tuple[str, ...] = (),
    ) -> "DecideRequest":
        """Read the definitions of a source tree.

        Raises UsageError for a missing folder, ConfigError for an unreadable configuration.
        """
        return cls(
            engine=Engine(name=source.name, version=source.version),
            files=read_files(source.root, config),
            changes=changes,
            options=options or Options(),
            fleet=fleet or fleet_text(),
            images=images or {},
            shard_plans=shard_plans,
            root=source.root,
        )

    def parameters_json(self) -> str:
        """Text of parameters.json, from which the decision can be made again anywhere."""
        return artifacts.parameters_json(
            engine=self.engine,
            files=self.files,
            changes=self.changes,
            options=self.options,
            fleet=self.fleet,
            images=self.images,
            shard_plans=self.shard_plans,
        )

    @classmethod
    def from_parameters(cls, path: Path) -> "DecideRequest":
        """Take up a recorded decision again. Raises ConfigError for a file that is not one."""
        parameters = artifacts.load_parameters(path)
        return cls(
            engine=parameters.engine,
            files=parameters.files(),
            changes=parameters.change_set(),
            options=parameters.selection_options(),
            fleet=parameters.fleet,
            images=parameters.images,
            shard_plans=parameters.shard_plans,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Sizes of a decision. ``jobs`` counts mirrors, ``groups`` all groups of the definitions."""

    jobs: int
    selected: int
    blocked: int
    groups: int
    selected_groups: int
    changed_files: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryReason:
    """How many jobs run first of all by one rule, with one example of what set it off."""

    rule: str
    evidence: str
    jobs: int


@dataclass(frozen=True, kw_only=True)
class DecisionResult:
    """What was decided, from the definitions to the pipeline's text.

    ``sharding`` says of every job with a shard plan how it runs.
    """

    request: DecideRequest
    definitions: Definitions
    selection: Selection
    plan: Plan
    problems: tuple[Problem, ...]
    pipeline_yaml: str
    sharding: tuple[str, ...] = ()

    @cached_property
    def counts(self) -> Counts:
        """Sizes for "N of M jobs"."""
        return Counts(
            jobs=len(self.selection.decisions),
            selected=len(self.selection.selected),
            blocked=len(self.selection.blocked),
            groups=len(self.definitions.groups),
            selected_groups=len(self.plan.groups),
            changed_files=len(self.request.changes.files),
        )

    @property
    def docs_only(self) -> bool:
        """Whether nothing runs because documentation is all that changed."""
        return self.selection.docs_only

    def summary_reasons(self) -> tuple[SummaryReason, ...]:
        """Rules by which jobs run, most jobs first, each with its commonest evidence."""
        evidence: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        for decision in self.selection.decisions:
            if decision.runs:
                evidence[decision.rule][decision.evidence] += 1
        reasons = [
            SummaryReason(
                rule=rule,
                evidence=min(seen, key=lambda item: (-seen[item], item)),
                jobs=sum(seen.values()),
            )
            for rule, seen in evidence.items()
        ]
        return tuple(sorted(reasons, key=lambda reason: (-reason.jobs, reason.rule)))

    def selection_json(self) -> str:
        """Text of selection.json."""
        return artifacts.selection_json(self.selection, len(self.definitions.groups))


def decide(request: DecideRequest) -> DecisionResult:
    """Make a decision. Pure: the same request gives the same bytes, anywhere, offline.

    Raises ConfigError where the configuration or the fleet cannot be read. Broken jobs are no
    error: they become failing steps and are listed in ``problems``.
    """
    definitions = parse_definitions(request.files)
    fleet = parse_fleet(request.fleet)
    selection = select(definitions, request.changes, request.options)
    plan, sharding = _shared_out(make_plan(definitions, selection, fleet), request.shard_plans)
    images = _image_source(definitions, request)
    # What the definitions pass on as it is (retry, tags) may still be nothing that Buildkite
    # takes: that costs the step, not the pipeline.
    pipeline = render(plan, images)
    refused = step_problems(pipeline, fleet=fleet)
    if refused:
        plan = fail_steps(plan, refused)
        pipeline = render(plan, images)
        wrong = validate_pipeline(pipeline, fleet=fleet, complete=True)
    else:
        wrong = structure_problems(pipeline)
    if wrong:
        msg = "the pipeline does not fit Buildkite:\n" + "\n".join(map(str, wrong))
        raise InfrastructureError(msg, hint="this is a fault of Gauntlet: please report it")
    return DecisionResult(
        request=request,
        definitions=definitions,
        selection=selection,
        plan=plan,
        problems=(
            *definitions.problems,
            *fleet_problems(definitions, fleet),
            *refused.values(),
        ),
        pipeline_yaml=to_yaml(pipeline),
        sharding=sharding,
    )


def _shared_out(plan: Plan, texts: tuple[str, ...]) -> tuple[Plan, tuple[str, ...]]:
    if not texts:
        return plan, ()
    # Most decisions know no shard plan, and its models take time to build.
    from gauntlet.pipelines.sharding.apply import shard_steps

    return shard_steps(plan, texts)


def _image_source(definitions: Definitions, request: DecideRequest) -> ImageSource:
    """Name the repositories: builds of the main branch push to one of their own."""
    repositories = definitions.repositories
    kind = "main" if request.options.tier >= Tier.MERGE else "premerge"
    return ImageSource(
        registry=definitions.registry,
        repository=repositories.get(kind),
        main_repository=repositories.get("main"),
        digests=request.images,
    )
