"""Ask and score categories of BFCL: ``python bfcl_worker.py REQUEST.json``.

Runs with the interpreter of bfcl-eval's own environment, so it imports nothing of this package.
The request is JSON: ``project`` (where results and scores go), ``model``, ``registry_name``,
``categories`` (name to most cases, or null), ``threads``, ``temperature``, ``maximum_steps`` and
``timeout_s`` (of one request). ``outcome.json`` says what became of each category.
"""

import json
import os
import sys
import threading
import traceback
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any


def main(path: str) -> None:
    """Generate and evaluate one category after the other; one that fails stops no other."""
    request = json.loads(Path(path).read_text(encoding="utf-8"))
    project = Path(request["project"])
    # bfcl-eval reads both when it is imported.
    os.environ["BFCL_PROJECT_ROOT"] = str(project)
    os.environ.setdefault("OPENAI_API_KEY", "EMPTY")
    _limit_steps(request["maximum_steps"])
    _register(request)
    outcome: dict[str, Any] = {"version": version("bfcl-eval"), "categories": {}}
    for category, most in request["categories"].items():
        outcome["categories"][category] = _run(request, category, most)
        (project / "outcome.json").write_text(json.dumps(outcome), encoding="utf-8")


def _run(request: dict[str, Any], category: str, most: int | None) -> dict[str, Any]:
    found: dict[str, Any] = {"total": None, "asked": None, "error": ""}
    try:
        found["total"], ids = _choose(category, most)
        found["asked"] = len([case for case in ids if "prereq" not in case])
        _write_cases(Path(request["project"]) / "cases.jsonl", category, set(ids))
        _generate(request, category, ids)
        _evaluate(request, category)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever it is, the next one goes on
        traceback.print_exc()
        found["error"] = f"{type(error).__name__}: {error}"
    return found


def _choose(category: str, most: int | None) -> tuple[int, list[str]]:
    """How many cases the category has, and the ids to ask with all that these depend on."""
    from bfcl_eval.utils import load_dataset_entry

    entries = load_dataset_entry(category)
    by_id = {entry["id"]: entry for entry in entries}
    cases = [entry["id"] for entry in entries if "prereq" not in entry["id"]]
    chosen: dict[str, None] = {}
    waiting = cases[:most]
    while waiting:
        case = waiting.pop()
        if case not in chosen:
            chosen[case] = None
            waiting += by_id.get(case, {}).get("depends_on", [])
    return len(cases), [entry["id"] for entry in entries if entry["id"] in chosen]


def _write_cases(path: Path, category: str, ids: set[str]) -> None:
    """Keep questions and accepted answers: result files hold neither for a right answer."""
    from bfcl_eval.utils import (
        is_relevance_or_irrelevance,
        load_dataset_entry,
        load_ground_truth_entry,
    )

    entries = load_dataset_entry(
        category, include_prereq=False, include_language_specific_hint=False
    )
    # Ids differ between the two files of some categories; their order does not.
    truths = [] if is_relevance_or_irrelevance(category) else load_ground_truth_entry(category)
    with path.open("a", encoding="utf-8") as stream:
        for number, entry in enumerate(entries):
            if entry["id"] in ids:
                truth = truths[number]["ground_truth"] if truths else None
                case = {"id": entry["id"], "question": entry["question"], "expected": truth}
                stream.write(json.dumps(case, ensure_ascii=False) + "\n")


def _generate(request: dict[str, Any], category: str, ids: list[str]) -> None:
    from bfcl_eval._llm_response_generation import main as generate
    from bfcl_eval.constants.eval_config import RESULT_PATH, TEST_IDS_TO_GENERATE_PATH

    TEST_IDS_TO_GENERATE_PATH.write_text(json.dumps({category: ids}), encoding="utf-8")
    generate(
        SimpleNamespace(
            model=[request["registry_name"]],
            test_category=[category],
            temperature=request["temperature"],
            include_input_log=False,
            exclude_state_log=True,
            num_gpus=1,
            num_threads=request["threads"],
            gpu_memory_utilization=0.9,
            backend="vllm",
            skip_server_setup=True,
            local_model_path=None,
            result_dir=RESULT_PATH,
            allow_overwrite=False,
            run_ids=True,
            enable_lora=False,
            max_lora_rank=None,
            lora_modules=None,
        )
    )


def _evaluate(request: dict[str, Any], category: str) -> None:
    from bfcl_eval.eval_checker.eval_runner import main as evaluate

    evaluate([request["registry_name"]], [category], None, None, partial_eval=True)


def _limit_steps(most: int) -> None:
    from bfcl_eval.constants import default_prompts
    from bfcl_eval.model_handler import base_handler

    default_prompts.MAXIMUM_STEP_LIMIT = most
    base_handler.MAXIMUM_STEP_LIMIT = most


def _register(request: dict[str, Any]) -> None:
    """Enter a model of our own: every registered one goes to its vendor's endpoint."""
    from bfcl_eval.constants.model_config import MODEL_CONFIG_MAPPING, ModelConfig

    MODEL_CONFIG_MAPPING[request["registry_name"]] = ModelConfig(
        model_name=request["model"],
        display_name=request["registry_name"],
        url="-",
        org="-",
        license="-",
        model_handler=_handler(request["timeout_s"]),
        is_fc_model=True,
        underscore_to_dot=True,
    )


def _handler(timeout_s: float) -> type:
    from bfcl_eval.model_handler.api_inference.openai_completion import OpenAICompletionsHandler

    seen = threading.local()

    class ChatHandler(OpenAICompletionsHandler):  # type: ignore[misc]
        """Chat completions, with the reason for which each answer ended kept beside it."""

        def _build_client_kwargs(self) -> dict[str, Any]:
            settings: dict[str, Any] = super()._build_client_kwargs()
            return {**settings, "timeout": timeout_s, "max_retries": 2}

        def inference(
            self, test_entry: dict[str, Any], include_input_log: bool, exclude_state_log: bool
        ) -> tuple[Any, dict[str, Any]]:
            seen.reasons = []
            result, metadata = super().inference(test_entry, include_input_log, exclude_state_log)
            return result, {**metadata, "finish_reason": list(seen.reasons)}

        def _query_FC(self, inference_data: dict[str, Any]) -> tuple[Any, float]:  # noqa: N802
            response, latency_s = super()._query_FC(inference_data)
            seen.reasons.append(response.choices[0].finish_reason)
            return response, latency_s

        def _parse_query_response_FC(self, api_response: Any) -> dict[str, Any]:  # noqa: ANN401, N802
            # No call is null with OpenAI and an empty list elsewhere, which the parent takes for
            # calls: it would drop the text, and with it every answer of the agentic categories.
            message = api_response.choices[0].message
            if not message.tool_calls:
                message.tool_calls = None
                message.content = message.content or ""
            parsed: dict[str, Any] = super()._parse_query_response_FC(api_response)
            return parsed

    return ChatHandler


if __name__ == "__main__":
    main(sys.argv[1])
