"""What every measurement of a session shares."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TypedDict

from gauntlet import __version__
from gauntlet.harness.engines.errors import EngineError
from gauntlet.harness.engines.running import RunningEngine
from gauntlet.harness.provenance import config_fingerprint, environment_of, host_name
from gauntlet.harness.schedule import Side, Slot, pair_seed
from gauntlet.perf_eval.evals import Eval
from gauntlet.perf_eval.workloads import Workload
from gauntlet.warehouse.rows.base import Row
from gauntlet.warehouse.rows.measurement import RepetitionRow, RepetitionStatus, series_of


class RepetitionKey(TypedDict):
    """What the rows of one repetition share."""

    run_id: str
    repetition_id: str
    series_id: str
    side: Side
    pair: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One repetition about to be made: which engine, which turn, which seed."""

    run_id: str
    recipe: str
    engine: RunningEngine
    slot: Slot
    seed: int
    workdir: Path
    point: str = ""
    accelerator: str | None = None
    driver: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    # How the engine is configured apart from which build it is; the same on both sides.
    configuration: Mapping[str, object] = field(default_factory=dict)
    # Identifies how the engine's packages differ from its lock; empty where they do not.
    drift: str = ""
    artifact: str | None = None
    build_id: str | None = None

    def seed_of(self, name: str) -> int:
        """Seed of the prompts that both sides of this pair get for ``name``."""
        return pair_seed(self.seed, self.slot.pair, self._at(name))

    @property
    def model(self) -> str:
        """The model that is asked for, also of an engine that never got ready."""
        try:
            return self.engine.endpoint.model
        except EngineError:
            return self.engine.spec.model or "unknown"

    @property
    def version(self) -> str | None:
        """Version of the engine as it says itself; None where it does not, or never got ready."""
        try:
            return self.engine.endpoint.version
        except EngineError:
            return None

    @property
    def image_digest(self) -> str | None:
        """Digest of the image that runs, or was to run; None where there is none."""
        try:
            return self.engine.identity.image_digest
        except EngineError:
            return self.engine.spec.image_digest

    def _at(self, name: str) -> str:
        return f"{name}@{self.point}" if self.point else name

    def repetition_id(self, name: str) -> str:
        """Identity of the repetition of ``name`` in this turn."""
        return f"{self.run_id}/{self._at(name)}/{self.slot.pair}/{self.slot.side}"

    def key(self, name: str) -> RepetitionKey:
        """The columns by which every row of this repetition is found."""
        return RepetitionKey(
            run_id=self.run_id,
            repetition_id=self.repetition_id(name),
            series_id=series_of(
                recipe=self.recipe,
                workload=self._at(name),
                model=self.model,
                accelerator=self.accelerator,
            ),
            side=self.slot.side,
            pair=self.slot.pair,
        )

    def row(
        self,
        task: Workload | Eval,
        *,
        status: RepetitionStatus,
        reasons: tuple[str, ...],
        client: str,
        client_version: str = __version__,
        client_path: str = "",
        plan_digest: str = "",
        dataset_digest: str,
        started_at: datetime,
        ended_at: datetime,
        completed: int,
        failed: int,
    ) -> RepetitionRow:
        """Make the repetition's row with its full provenance.

        ``plan_digest`` identifies every byte that was sent: equal for both sides of a pair.
        """
        spec = self.engine.spec
        workload = _comparable(task)
        told = {"client_path": client_path, "plan_digest": plan_digest}
        # The fingerprint says that a variable differs; only the row can say which.
        environment = environment_of(spec.environment)
        told |= {f"env.{name}": value for name, value in environment.items()}
        return RepetitionRow(
            **self.key(task.name),
            recipe=self.recipe,
            point=self.point,
            workload=task.name,
            kind="load" if task.kind == "load" else "eval",
            position=self.slot.position,
            status=status,
            reasons=reasons,
            config_fp=config_fingerprint(
                workload=workload,
                dataset_digest=dataset_digest,
                engine_kind=spec.kind,
                model=self.model,
                point=self.point,
                configuration=self.configuration,
                accelerator=self.accelerator,
                driver=self.driver,
                client=f"{client} {client_path}".strip(),
                client_version=client_version,
                env=environment,
                drift=self.drift,
            ),
            engine_kind=spec.kind,
            engine_version=self.version,
            engine_commit=spec.commit,
            image_digest=self.image_digest,
            model=self.model,
            host=host_name(),
            accelerator=self.accelerator,
            driver=self.driver,
            settings={**self.settings, **{key: value for key, value in told.items() if value}},
            artifact=self.artifact,
            build_id=self.build_id,
            client=client,
            client_version=client_version,
            dataset_digest=dataset_digest,
            seed=self.seed_of(task.name),
            started_at=started_at,
            ended_at=ended_at,
            completed=completed,
            failed=failed,
        )


def _comparable(task: Workload | Eval) -> dict[str, object]:
    """What a task says that may change a number; prompts count as the dataset's digest."""
    fields: dict[str, object] = task.model_dump(mode="json")
    if isinstance(task, Workload):
        fields.pop("prompts")
        fields.pop("calibration")
    return fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One repetition that was made: its row, and the rows of what was seen in it."""

    repetition: RepetitionRow
    rows: tuple[Row, ...]
