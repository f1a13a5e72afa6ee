"""lm-eval's API models, with what they throw away kept: why an answer ended, and how long it was.

Imported in the worker's process alone. lm-eval gives up a whole evaluation at the first request
that keeps failing; here such a request becomes a lost sample with its own error.
"""

import asyncio
import copy
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TextIO

import aiohttp
from lm_eval.models.openai_completions import LocalChatCompletion, LocalCompletionsAPI

_RETRIED = frozenset({408, 425, 429, 500, 502, 503, 504})
_FIRST_PAUSE_S = 0.5
# With so many lost requests and no answer at all, the rest need not be tried.
_HOPELESS = 20
_ERROR_TEXT = 500


class ApiGaveUpError(Exception):
    """No request came through."""


class _RequestError(Exception):
    def __init__(self, message: str, *, again: bool) -> None:
        super().__init__(message)
        self.again = again


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One request that came to an end: its answer, or its error."""

    prompt: str
    text: str = ""
    finish_reason: str | None = None
    output_tokens: int | None = None
    error: str = ""


class Recorder:
    """Every exchange, in memory by prompt, and on disk at once."""

    def __init__(self, path: Path) -> None:
        self._stream: TextIO = path.open("w", encoding="utf-8", buffering=1)
        self._by_prompt: dict[str, list[Exchange]] = defaultdict(list)
        self._answers = 0
        self._errors = 0

    def add(self, exchange: Exchange) -> None:
        """Keep one exchange. Raises ApiGaveUpError where there were only errors so far."""
        self._by_prompt[exchange.prompt].append(exchange)
        self._stream.write(json.dumps(asdict(exchange), ensure_ascii=False) + "\n")
        self._answers += not exchange.error
        self._errors += bool(exchange.error)
        if not self._answers and self._errors >= _HOPELESS:
            raise ApiGaveUpError(exchange.error)

    def find(self, prompt: str, text: str, number: int) -> Exchange | None:
        """The exchange of a prompt that gave ``text``; ``number`` tells equal ones apart."""
        found = self._by_prompt.get(prompt, [])
        same = [exchange for exchange in found if exchange.text == text]
        candidates = same or found
        return candidates[number % len(candidates)] if candidates else None

    def close(self) -> None:
        """Close the file."""
        self._stream.close()


def prompt_text(context: object) -> str:
    """Text of a prompt, also where lm-eval wraps the messages of a chat in a tuple of one."""
    return str(context[0]) if isinstance(context, tuple | list) else str(context)


class _Recording(LocalCompletionsAPI):  # type: ignore[misc]
    """What both endpoints share; ``recorder`` and the limits are set after construction."""

    recorder: Recorder
    attempts: int
    concurrency: int
    _gate: asyncio.Semaphore | None = None

    async def get_batched_requests(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        self._gate = asyncio.Semaphore(self.concurrency)  # belongs to the running loop
        return await super().get_batched_requests(*args, **kwargs)

    async def amodel_call(
        self,
        session: aiohttp.ClientSession,
        sem: asyncio.Semaphore,
        messages: Sequence[object],
        *,
        generate: bool = True,
        gen_kwargs: Mapping[str, Any] | None = None,
        **kwargs: Any,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401
        """Ask once, again where that may help; a request that stays lost is an empty answer."""
        if not generate or self._gate is None:
            return await super().amodel_call(
                session, sem, messages, generate=generate, gen_kwargs=gen_kwargs, **kwargs
            )
        payload = self._create_payload(
            self.create_message(list(messages)),
            generate=True,
            gen_kwargs=copy.deepcopy(dict(gen_kwargs or {})),
            seed=self._seed,
        )
        prompt = prompt_text(messages[0])
        async with self._gate:
            exchange = await self._exchange(session, payload, prompt)
        self.recorder.add(exchange)
        return [exchange.text]

    async def _exchange(
        self, session: aiohttp.ClientSession, payload: Mapping[str, Any], prompt: str
    ) -> Exchange:
        for attempt in range(self.attempts):
            try:
                return self._parsed(await self._post(session, payload), prompt)
            except _RequestError as error:
                if not error.again or attempt == self.attempts - 1:
                    return Exchange(prompt=prompt, error=str(error)[:_ERROR_TEXT])
                await asyncio.sleep(_FIRST_PAUSE_S * 2**attempt)
        return Exchange(prompt=prompt, error="no attempt was made")

    async def _post(
        self, session: aiohttp.ClientSession, payload: Mapping[str, Any]
    ) -> dict[str, Any]:
        try:
            async with session.post(self.base_url, json=payload, headers=self.header) as response:
                body = await response.text()
                if not response.ok:
                    said = f"HTTP {response.status}: {_message_of(body)}"
                    raise _RequestError(said, again=response.status in _RETRIED)
        except TimeoutError as error:
            said = f"no answer after {self.timeout} s"
            raise _RequestError(said, again=False) from error
        except aiohttp.ClientError as error:
            said = f"{type(error).__name__}: {error}".rstrip(": ")
            raise _RequestError(said, again=True) from error
        try:
            parsed: dict[str, Any] = json.loads(body)
        except ValueError as error:
            said = f"the answer is not JSON: {body[:80]}"
            raise _RequestError(said, again=False) from error
        return parsed

    def _parsed(self, outputs: dict[str, Any], prompt: str) -> Exchange:
        try:
            choice = outputs["choices"][0]
            text = self.parse_generations(outputs=outputs)[0]
            usage = outputs.get("usage") or {}
            return Exchange(
                prompt=prompt,
                text=text or "",
                finish_reason=choice.get("finish_reason"),
                output_tokens=usage.get("completion_tokens"),
            )
        except (LookupError, TypeError, AttributeError) as error:
            said = f"the answer has no choice: {json.dumps(outputs)[:80]}"
            raise _RequestError(said, again=False) from error


class RecordingCompletions(_Recording):
    """``/v1/completions``."""


class RecordingChat(_Recording, LocalChatCompletion):  # type: ignore[misc]
    """``/v1/chat/completions``."""


def _message_of(body: str) -> str:
    """The API's own message, where the body is its error object."""
    try:
        found = json.loads(body)
        return str(found["error"]["message"] if "error" in found else found["message"])
    except (ValueError, LookupError, TypeError):
        return body.strip()[:_ERROR_TEXT]
