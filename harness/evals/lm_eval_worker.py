"""Run one lm-eval task in a process of its own: ``python -m ...lm_eval_worker REQUEST.json``.

A process, because lm-eval configures logging and warnings of whoever imports it. The library
rather than its command line, because the latter first reads the 14,000 task files that it ships,
which takes longer than the whole evaluation.
"""

import json
import sys
from pathlib import Path

from gauntlet.core.files import write_atomic
from gauntlet.core.yaml_file import StrictModel


class WorkerRequest(StrictModel):
    """What to evaluate; ``model_arguments`` are those of lm-eval's ``local-completions``."""

    task: str
    task_folder: str
    model_arguments: dict[str, str | int | None]
    seed: int
    samples: str


def main(path: str) -> None:
    """Evaluate and write the samples, one JSON object a line, as lm-eval's own log has them."""
    from lm_eval import simple_evaluate
    from lm_eval.tasks import TaskManager

    request = WorkerRequest.model_validate_json(Path(path).read_bytes())
    results = simple_evaluate(
        model="local-completions",
        model_args=request.model_arguments,
        tasks=[request.task],
        task_manager=TaskManager(include_path=request.task_folder, include_defaults=False),
        batch_size=1,
        log_samples=True,
        # The interval comes from paired samples of two builds, not from a bootstrap of one.
        bootstrap_iters=0,
        random_seed=request.seed,
        numpy_random_seed=request.seed,
        torch_random_seed=request.seed,
        fewshot_random_seed=request.seed,
    )
    samples = results["samples"][request.task]
    lines = "".join(json.dumps(sample, default=str) + "\n" for sample in samples)
    write_atomic(Path(request.samples), lines)


if __name__ == "__main__":
    main(sys.argv[1])
