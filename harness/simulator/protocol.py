"""The OpenAI HTTP API's requests and errors, as vLLM understands and words them.

Requests may carry fields that nothing here looks at; an engine takes them too.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from gauntlet.harness.simulator import tokens
from gauntlet.harness.simulator.answers import Ask, ToolChoice
from gauntlet.harness.simulator.tools import Tool

_DEFAULT_MAX_TOKENS = 16
_MAX_STOPS = 64


class ApiError(Exception):
    """An answer that is an error: HTTP status and OpenAI's error object."""

    def __init__(
        self, status: int, message: str, *, kind: str = "BadRequestError", param: str | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"error": {"message": message, "type": kind, "param": param, "code": status}}


class _Body(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _StreamOptions(_Body):
    include_usage: bool = False


class _Function(_Body):
    name: str
    parameters: dict[str, Any] | None = None


class _Tool(_Body):
    function: _Function


class _Named(_Body):
    function: _Function


class _Message(_Body):
    role: str
    content: str | list[dict[str, Any]] | None = None
    tool_calls: list[dict[str, Any]] | None = None

    @property
    def text(self) -> str:
        """Text of a message whose content is text or a list of parts."""
        if isinstance(self.content, list):
            return "".join(str(part.get("text", "")) for part in self.content)
        return self.content or ""


class _Generate(_Body):
    model: str | None = None
    max_tokens: int | None = None
    min_tokens: Annotated[int, Field(ge=0)] = 0
    temperature: Annotated[float | None, Field(ge=0)] = None
    n: int | None = None
    seed: int | None = None
    stop: str | list[str] | None = None
    ignore_eos: bool = False
    stream: bool | None = False
    stream_options: _StreamOptions | None = None

    @property
    def stops(self) -> tuple[str, ...]:
        """Stop strings, without empty ones."""
        given = [self.stop] if isinstance(self.stop, str) else self.stop or []
        return tuple(stop for stop in given if stop)


class _Completion(_Generate):
    prompt: Any = None
    echo: bool | None = False


class _Chat(_Generate):
    messages: Annotated[list[_Message], Field(min_length=1)]
    max_completion_tokens: int | None = None
    tools: list[_Tool] | None = None
    tool_choice: str | _Named | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """One prompt of a request: its token ids and what to answer."""

    token_ids: list[int]
    ask: Ask


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """A valid generation request."""

    chat: bool
    prompts: tuple[Prompt, ...]
    stream: bool
    include_usage: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """What requests are checked against."""

    model: str
    max_model_len: int


BodyT = TypeVar("BodyT", bound=BaseModel)
_TOKEN_IDS = TypeAdapter(list[Annotated[int, Field(ge=0, strict=True)]])


def parse_completion(raw: bytes, served: Served) -> Work:
    """Read the body of ``POST /v1/completions``; raise ApiError where it cannot be served."""
    body = _validated(_Completion, raw)
    _check_common(body, served)
    if body.echo:
        raise ApiError(400, "echo is not supported", param="echo")
    prompts = []
    for prompt in _prompts(body.prompt):
        text = prompt if isinstance(prompt, str) else None
        ids = tokens.ids(tokens.split(prompt)) if isinstance(prompt, str) else prompt
        if not ids:
            raise ApiError(400, "The prompt is empty", param="prompt")
        limit = _token_limit(len(ids), body.max_tokens, _DEFAULT_MAX_TOKENS, served)
        prompts.append(Prompt(token_ids=ids, ask=_ask(body, text, ids, limit)))
    return _work(body, prompts, chat=False)


def parse_chat(raw: bytes, served: Served) -> Work:
    """Read the body of ``POST /v1/chat/completions``; raise ApiError where it cannot be served."""
    body = _validated(_Chat, raw)
    _check_common(body, served)
    ids = tokens.ids(tokens.split(_chat_text(body)))
    users = [message.text for message in body.messages if message.role == "user"]
    asked = body.max_completion_tokens or body.max_tokens
    limit = _token_limit(len(ids), asked, served.max_model_len, served)
    tools, choice = _tools(body)
    ask = _ask(body, users[-1] if users else "", ids, limit, tools=tools, tool_choice=choice)
    return _work(body, [Prompt(token_ids=ids, ask=ask)], chat=True)


def _validated(kind: type[BodyT], raw: bytes) -> BodyT:
    try:
        return kind.model_validate_json(raw)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        message = f"{where}: {first['msg']}" if where else str(first["msg"])
        raise ApiError(400, message, param=where or None) from error


def _check_common(body: _Generate, served: Served) -> None:
    if body.model is not None and body.model != served.model:
        message = f"The model `{body.model}` does not exist."
        raise ApiError(404, message, kind="NotFoundError", param="model")
    if body.n is not None and body.n != 1:
        raise ApiError(400, f"n must be 1, got {body.n}", param="n")
    if len(body.stops) > _MAX_STOPS:
        raise ApiError(400, f"at most {_MAX_STOPS} stop strings are supported", param="stop")
    if body.stream_options is not None and not body.stream:
        message = "Stream options can only be defined when `stream=True`."
        raise ApiError(400, message, param="stream_options")


def _prompts(value: object) -> list[str] | list[list[int]]:
    """Tell the four forms of a prompt apart: text, texts, token ids, lists of token ids."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, list) and value:
        kinds = set(map(type, value))
        if kinds == {str}:
            return value
        if kinds == {int}:
            return [_token_ids(value)]
        if kinds == {list}:
            return [_token_ids(item) for item in value]
    message = "prompt must be a text, a list of texts, token ids or lists of token ids"
    raise ApiError(400, message, param="prompt")


def _token_ids(value: list[Any]) -> list[int]:
    try:
        return _TOKEN_IDS.validate_python(value)
    except ValidationError as error:
        raise ApiError(400, "prompt: token ids must be integers >= 0", param="prompt") from error


def _token_limit(prompt: int, asked: int | None, default: int, served: Served) -> int:
    """Tokens that may be generated; raise ApiError where they do not fit the context."""
    length = served.max_model_len
    if asked is not None and asked < 1:
        raise ApiError(400, f"max_tokens must be at least 1, got {asked}.", param="max_tokens")
    if prompt >= length or prompt + (asked or 0) > length:
        requested = "" if asked is None else f" and {asked} output tokens were requested"
        message = (
            f"This model's maximum context length is {length} tokens. However, the prompt has "
            f"{prompt} input tokens{requested}. Shorten the prompt or ask for fewer tokens."
        )
        raise ApiError(400, message, param="input_tokens")
    return min(default, length - prompt) if asked is None else asked


def _ask(
    body: _Generate,
    text: str | None,
    ids: Sequence[int],
    limit: int,
    *,
    tools: tuple[Tool, ...] = (),
    tool_choice: ToolChoice = "auto",
) -> Ask:
    return Ask(
        text=text,
        key=tokens.prompt_hash(ids) ^ hash(body.seed or 0),
        max_tokens=limit,
        min_tokens=min(body.min_tokens, limit),
        ignore_eos=body.ignore_eos,
        stop=body.stops,
        tools=tools,
        tool_choice=tool_choice,
    )


def _tools(body: _Chat) -> tuple[tuple[Tool, ...], ToolChoice]:
    offered = tuple(
        Tool(name=tool.function.name, parameters=tool.function.parameters or {})
        for tool in body.tools or ()
    )
    choice = body.tool_choice
    if isinstance(choice, _Named):
        named = tuple(tool for tool in offered if tool.name == choice.function.name)
        if not named:
            message = f"tool_choice names {choice.function.name!r}, which is not among the tools"
            raise ApiError(400, message, param="tool_choice")
        return named, "required"
    if choice in (None, "auto"):
        return offered, "auto"
    if choice == "none":
        return offered, "none"
    if choice == "required":
        return offered, "required"
    raise ApiError(400, f"unknown tool_choice {choice!r}", param="tool_choice")


def _chat_text(body: _Chat) -> str:
    """Apply the chat template: each message between marks, tools in front."""
    parts = []
    if body.tools:
        tools = [tool.model_dump() for tool in body.tools]
        parts.append(f"<|tools|>\n{json.dumps(tools, ensure_ascii=False)}<|end|>\n")
    for message in body.messages:
        calls = json.dumps(message.tool_calls) if message.tool_calls else ""
        parts.append(f"<|{message.role}|>\n{message.text}{calls}<|end|>\n")
    return "".join([*parts, "<|assistant|>\n"])


def _work(body: _Generate, prompts: list[Prompt], *, chat: bool) -> Work:
    return Work(
        chat=chat,
        prompts=tuple(prompts),
        stream=bool(body.stream),
        include_usage=body.stream_options is not None and body.stream_options.include_usage,
    )
