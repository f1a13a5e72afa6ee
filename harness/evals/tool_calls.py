"""Function-calling tasks in BFCL's format over the chat endpoint.

A call is right where its function and every argument match one of the accepted values exactly;
arguments with an accepted empty string may be missing. Whole categories of BFCL are bfcl-eval's
(``kind: bfcl``); this is the short check that needs no environment of its own.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import httpx
import uvloop

from gauntlet import __version__
from gauntlet.core.ids import digest
from gauntlet.harness.engines.launch import Endpoint
from gauntlet.harness.evals.outcome import Asked, Score, Tool
from gauntlet.harness.evals.samples import Sample, clustered_stderr, mean
from gauntlet.perf_eval.evals import ToolCallEval
from gauntlet.perf_eval.questions import ToolTask

CLIENT_NAME = "gauntlet-tool-calls"
_ANSWER_TEXT = 300


def chat_tools(functions: Sequence[Mapping[str, Any]]) -> list[dict[str, object]]:
    """Translate BFCL's function descriptions into the chat endpoint's ``tools``."""
    return [
        {"type": "function", "function": _json_schema_types(function)} for function in functions
    ]


def _json_schema_types(node: object) -> object:
    """BFCL writes Python's type names where JSON Schema has its own."""
    names = {"dict": "object", "float": "number", "tuple": "array"}
    if isinstance(node, Mapping):
        return {
            key: names.get(value, value)
            if key == "type" and isinstance(value, str)
            else _json_schema_types(value)
            for key, value in node.items()
        }
    if isinstance(node, list):
        return [_json_schema_types(item) for item in node]
    return node


def ask_tool_tasks(endpoint: Endpoint, task: ToolCallEval, tasks: Sequence[ToolTask]) -> Asked:
    """Ask every task once and return one sample each, in order."""
    # A loop of Python's own that an interrupt meets half made prints a traceback when it goes.
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.get_loop()
        samples = runner.run(_ask_all(endpoint, task, tasks))
    score = Score(
        task=task.name,
        metric="accuracy",
        value=mean(sample.score for sample in samples if sample.score is not None),
        stderr=clustered_stderr(samples),
        n=sum(sample.score is not None for sample in samples),
    )
    return Asked(
        tool=Tool(name=CLIENT_NAME, version=__version__),
        dataset_digest=digest([item.model_dump() for item in tasks]),
        samples=tuple(samples),
        scores=(score,),
        max_tokens=task.max_tokens,
    )


async def _ask_all(
    endpoint: Endpoint, task: ToolCallEval, tasks: Sequence[ToolTask]
) -> list[Sample]:
    gate = asyncio.Semaphore(task.concurrency)
    limits = httpx.Limits(max_connections=task.concurrency)
    async with httpx.AsyncClient(
        base_url=endpoint.base_url, timeout=task.timeout_s, limits=limits, trust_env=False
    ) as client:

        async def ask(item: ToolTask) -> Sample:
            async with gate:
                return await _ask(client, endpoint.model, task.max_tokens, item)

        return list(await asyncio.gather(*(ask(item) for item in tasks)))


async def _ask(client: httpx.AsyncClient, model: str, max_tokens: int, item: ToolTask) -> Sample:
    expected = json.dumps(item.ground_truth, sort_keys=True)
    try:
        response = await client.post(
            "/v1/chat/completions",
            json={
                "model": model,
                "messages": item.question[0],
                "tools": chat_tools(item.function),
                "temperature": 0,
                "max_tokens": max_tokens,
            },
        )
        response.raise_for_status()
        body = response.json()
        choice = body["choices"][0]
        sample = judge_message(item, choice["message"])
        usage = body.get("usage") or {}
    except httpx.HTTPStatusError as error:
        return _failed(item, expected, f"HTTP {error.response.status_code}")
    except (httpx.HTTPError, ValueError, LookupError) as error:
        return _failed(item, expected, f"{type(error).__name__}: {error}".rstrip(": "))
    return replace(
        sample,
        finish_reason=choice.get("finish_reason"),
        output_tokens=usage.get("completion_tokens"),
    )


def _failed(item: ToolTask, expected: str, error: str) -> Sample:
    return Sample(
        item_id=item.id,
        status="error",
        score=None,
        answer="",
        expected=expected,
        error=error,
        question=_question(item),
    )


def _question(item: ToolTask) -> str:
    return "\n".join(str(message.get("content", "")) for message in item.question[0])


def judge_message(item: ToolTask, message: Mapping[str, Any]) -> Sample:
    """Score one answer; arguments that are not a JSON object are ``unparsable`` and wrong."""
    expected = json.dumps(item.ground_truth, sort_keys=True)
    calls = message.get("tool_calls") or []
    parsed: list[tuple[str, dict[str, Any]]] = []
    for call in calls:
        try:
            arguments = json.loads(call["function"]["arguments"])
        except (ValueError, LookupError, TypeError):
            arguments = None
        if not isinstance(arguments, dict):
            return Sample(
                item_id=item.id,
                status="unparsable",
                score=0.0,
                answer=json.dumps(call)[:_ANSWER_TEXT],
                expected=expected,
                question=_question(item),
                response=json.dumps(message),
            )
        parsed.append((str(call["function"]["name"]), arguments))
    answer = json.dumps([{name: arguments} for name, arguments in parsed], sort_keys=True)
    return Sample(
        item_id=item.id,
        status="scored",
        score=1.0 if calls_match(parsed, item.ground_truth) else 0.0,
        answer=answer if parsed else f"no call: {message.get('content')}"[:_ANSWER_TEXT],
        expected=expected,
        question=_question(item),
        response=json.dumps(message),
        empty="call" if item.ground_truth and not parsed else "",
    )


def calls_match(
    calls: Sequence[tuple[str, dict[str, Any]]],
    truth: Sequence[Mapping[str, Mapping[str, Sequence[Any]]]],
) -> bool:
    """Whether the calls are the expected ones, in any order."""
    open_calls = list(truth)
    for name, arguments in calls:
        for index, expected in enumerate(open_calls):
            if name in expected and _arguments_match(arguments, expected[name]):
                del open_calls[index]
                break
        else:
            return False
    return not open_calls


def _arguments_match(arguments: Mapping[str, Any], accepted: Mapping[str, Sequence[Any]]) -> bool:
    if set(arguments) - set(accepted):
        return False
    for name, values in accepted.items():
        if name not in arguments:
            if "" not in values:
                return False
        elif not any(_same(arguments[name], value) for value in values):
            return False
    return True


def _same(given: object, value: object) -> bool:
    """Equal in value and kind: True is not 1, but 3.0 is 3."""
    if isinstance(given, bool) or isinstance(value, bool):
        return given is value
    return bool(given == value)
