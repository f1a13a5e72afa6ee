"""Run one lm-eval task in a process of its own: ``python -m ...lm_eval_worker REQUEST.json``.

A process, because lm-eval configures logging and warnings of whoever imports it. The library
rather than its command line, because the latter first reads the 14,000 task files that it ships,
which takes longer than the whole evaluation; they are read only for a task that is lm-eval's own.
"""

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from gauntlet.core.files import write_atomic
from gauntlet.core.ids import digest
from gauntlet.core.yaml_file import StrictModel

if TYPE_CHECKING:
    from gauntlet.harness.evals.lm_eval_model import Recorder

Scalar = bool | int | float | str | None

OUTCOME = "outcome.json"
# Questions have one of these names in the data of nearly every task.
_QUESTION_KEYS = ("question", "problem", "prompt", "query", "input")
# What of a task's configuration decides what the model reads.
_PROMPT_KEYS = (
    "description",
    "doc_to_choice",
    "doc_to_target",
    "doc_to_text",
    "fewshot_config",
    "fewshot_delimiter",
    "fewshot_split",
    "gen_prefix",
    "target_delimiter",
)
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
# Few-shot examples are drawn with this seed in every repeat: repeats ask the same prompts.
_PROMPT_SEED = 1234


class WorkerRequest(StrictModel):
    """What to evaluate. ``definition`` is the task's file, None for one of lm-eval's own.

    ``arguments`` are those of lm-eval's API model; ``concurrency`` and ``attempts`` hold for
    requests, ``seeds`` for repeats. Results are written to ``folder``.
    """

    task: str
    definition: str | None
    include_path: str | None = None
    data: dict[str, str] = Field(default_factory=dict)
    chat: bool = False
    apply_chat_template: bool = False
    arguments: dict[str, Scalar]
    concurrency: int
    attempts: int = 3
    generation: dict[str, bool | int | float | str | list[str]] = Field(default_factory=dict)
    fewshot: int | None = None
    limit: int | None = None
    seeds: tuple[int, ...]
    folder: str


class SampleLine(StrictModel):
    """One document under one filter, as lm-eval judged it, with the exchange that it came from."""

    task: str
    doc_id: int
    filter: str
    question: str
    prompt: str
    doc_hash: str
    target: str
    response: str
    answer: str
    scores: dict[str, float]
    finish_reason: str | None
    output_tokens: int | None
    error: str


class TaskOutcome(StrictModel):
    """What lm-eval says of one task: its set-up, and its own results by ``metric,filter``."""

    version: str
    prompt_digest: str
    fewshot: int | None
    max_tokens: int | None
    documents: int
    results: dict[str, float]


class WorkerOutcome(StrictModel):
    """What the last repeat says of every task; its version is that of the running lm-eval."""

    lm_eval_version: str
    tasks: dict[str, TaskOutcome]


def samples_file(folder: Path, seed: int) -> Path:
    """Where the samples of one repeat are."""
    return folder / f"samples-{seed}.jsonl"


def responses_file(folder: Path, seed: int) -> Path:
    """Where the exchanges of one repeat are, in the order in which they ended."""
    return folder / f"responses-{seed}.jsonl"


def main(path: str) -> None:
    """Evaluate once a seed and write samples, exchanges and the outcome."""
    request = WorkerRequest.model_validate_json(Path(path).read_bytes())
    outcome: WorkerOutcome | None = None
    for seed in request.seeds:
        outcome = _evaluate(request, seed)
    if outcome is not None:
        write_atomic(Path(request.folder) / OUTCOME, outcome.model_dump_json())


def _evaluate(request: WorkerRequest, seed: int) -> WorkerOutcome:
    from lm_eval import simple_evaluate

    from gauntlet.harness.evals.lm_eval_model import Recorder, RecordingChat, RecordingCompletions

    folder = Path(request.folder)
    manager, spec = _task(request)
    kind = RecordingChat if request.chat else RecordingCompletions
    # At least two, because lm-eval takes another path for one; the model's own gate holds.
    model = kind(**request.arguments, num_concurrent=max(2, request.concurrency), seed=seed)
    model.recorder = Recorder(responses_file(folder, seed))
    model.attempts, model.concurrency = request.attempts, request.concurrency
    try:
        results = simple_evaluate(
            model=model,
            tasks=[spec],
            task_manager=manager,
            num_fewshot=request.fewshot,
            limit=request.limit,
            gen_kwargs=request.generation or None,
            apply_chat_template=request.apply_chat_template,
            batch_size=1,
            log_samples=True,
            # The error is computed from the samples, clustered by question.
            bootstrap_iters=0,
            random_seed=seed,
            numpy_random_seed=seed,
            torch_random_seed=seed,
            fewshot_random_seed=_PROMPT_SEED,
        )
    finally:
        model.recorder.close()
    lines = [
        line
        for task, samples in results["samples"].items()
        for line in _lines(task, samples, model.recorder)
    ]
    text = "".join(line.model_dump_json() + "\n" for line in lines)
    write_atomic(samples_file(folder, seed), text)
    return _outcome(results)


def _task(request: WorkerRequest) -> tuple[Any, str]:
    """The task manager, and what to load from it: a file with what the request overrides."""
    from lm_eval.tasks import TaskManager

    own = request.definition is None
    manager = TaskManager(include_path=request.include_path, include_defaults=own)
    definition = request.definition
    if definition is None:
        if request.task not in manager.task_index:
            msg = f"lm-eval has no task {request.task!r}"
            raise SystemExit(msg)
        if not request.data:
            return manager, request.task
        definition = str(manager.task_index[request.task].yaml_path)
    overlay: dict[str, object] = {"include": definition, "task": request.task}
    if request.data:
        data = {"data_files": request.data}
        overlay |= {"dataset_path": "json", "dataset_name": None, "dataset_kwargs": data}
    path = write_atomic(Path(request.folder) / "tasks" / "task.yaml", json.dumps(overlay))
    return manager, str(path)


def _lines(
    task: str, samples: Sequence[Mapping[str, Any]], recorder: "Recorder"
) -> Iterator[SampleLine]:
    from gauntlet.harness.evals.lm_eval_model import prompt_text

    seen: Counter[str] = Counter()
    number: dict[tuple[str, int], int] = {}
    for sample in samples:
        prompt = prompt_text(sample["arguments"][0][0])
        response = _first(sample["resps"])
        place = (prompt, int(sample["doc_id"]))
        if place not in number:
            number[place] = seen[prompt]
            seen[prompt] += 1
        exchange = recorder.find(prompt, response, number[place])
        yield SampleLine(
            task=task,
            doc_id=sample["doc_id"],
            filter="" if sample["filter"] == "none" else sample["filter"],
            question=_question(sample["doc"]),
            prompt=prompt,
            doc_hash=sample["doc_hash"],
            target=str(sample["target"]),
            response=response,
            answer=_first(sample["filtered_resps"]),
            scores=_numbers({name: sample.get(name) for name in sample["metrics"]}),
            finish_reason=exchange.finish_reason if exchange else None,
            output_tokens=exchange.output_tokens if exchange else None,
            error=exchange.error if exchange else "",
        )


def _outcome(results: Mapping[str, Any]) -> WorkerOutcome:
    import lm_eval

    tasks = {}
    effective: Mapping[str, Mapping[str, int]] = results.get("n-samples", {})
    for task in results["samples"]:
        config = results["configs"].get(task, {})
        generation = config.get("generation_kwargs") or {}
        limit = generation.get("max_tokens", generation.get("max_gen_toks"))
        tasks[task] = TaskOutcome(
            version=str(results["versions"].get(task, "")),
            prompt_digest=_prompt_digest(config),
            fewshot=results["n-shot"].get(task),
            max_tokens=int(limit) if limit is not None else None,
            documents=effective.get(task, {}).get("original", 0),
            results=_numbers(results["results"][task]),
        )
    return WorkerOutcome(lm_eval_version=lm_eval.__version__, tasks=tasks)


def _prompt_digest(config: Mapping[str, Any]) -> str:
    parts = {key: config.get(key) for key in _PROMPT_KEYS}
    return digest(_ADDRESS.sub("", json.dumps(parts, sort_keys=True, default=str)))


def _numbers(values: Mapping[str, Any]) -> dict[str, float]:
    return {
        name: float(value)
        for name, value in values.items()
        if isinstance(value, int | float) and not name.startswith(("alias", "sample_len"))
    }


def _first(value: object) -> str:
    """The first answer, however deep lm-eval nested it."""
    while isinstance(value, list | tuple) and value:
        value = value[0]
    return "" if value is None or value == [] else str(value)


def _question(document: object) -> str:
    if isinstance(document, dict):
        for key in _QUESTION_KEYS:
            if isinstance(document.get(key), str):
                return str(document[key])
    return ""


if __name__ == "__main__":
    main(sys.argv[1])
