"""Responses on the wire: server-sent events whose bytes are almost all built in advance.

A chunk is one write to the transport in HTTP's chunked coding, about the cost of its system call;
the web framework's own write path would cost several times that.
"""

import asyncio
import json
import os
import socket
import struct
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gauntlet.harness.simulator.answers import CallToken, Reply, Token
from gauntlet.harness.simulator.faults import MID_STREAM, Fault, trip_token
from gauntlet.harness.simulator.scheduler import Generation

DONE = b"data: [DONE]\n\n"
# A client that does not read is cut off before it fills the memory.
_MAX_UNSENT_BYTES = 8 << 20
_MAX_CACHED = 50_000


class _JsonText(dict[str, bytes]):
    """Tokens' texts as JSON; emptied when it grows large."""

    def __missing__(self, text: str) -> bytes:
        if len(self) >= _MAX_CACHED:
            self.clear()
        raw = self[text] = json.dumps(text, ensure_ascii=False).encode("utf-8", "replace")
        return raw


_JSON = _JsonText()


@dataclass(slots=True, eq=False)
class Choice:
    """One prompt's reply within a response."""

    index: int
    reply: Reply
    generation: Generation


class Response:
    """A response in the making: collects its choices; the base of the streamed kind."""

    def __init__(
        self,
        *,
        chat: bool,
        model: str,
        transport: asyncio.Transport,
        abort: Callable[[Generation], None],
        fault: Fault | None,
    ) -> None:
        self.chat = chat
        self.model = model
        self.created = int(time.time())
        self.id = f"{'chatcmpl' if chat else 'cmpl'}-{uuid.uuid4().hex}"
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.failed = False
        self.choices: list[Choice] = []
        self._open = 0
        self._transport = transport
        self._abort = abort
        self._fault = fault if fault in MID_STREAM else None

    def add(self, reply: Reply, prompt: list[int], reply_ids: list[int], arrival: float) -> None:
        """Add a choice; its generation is then ready to be submitted."""
        index = len(self.choices)
        generation = Generation(
            prompt=prompt,
            reply=reply_ids,
            emit=self._emitter(index, reply),
            arrival_s=arrival,
            finish_reason="length" if reply.finish == "length" else "stop",
        )
        self.choices.append(Choice(index, reply, generation))
        self._open += 1

    def abort(self) -> None:
        """Drop what is still being generated."""
        for choice in self.choices:
            self._abort(choice.generation)

    def body(self) -> dict[str, Any]:
        """Response object of a request that is not streamed."""
        return {
            "id": self.id,
            "object": "chat.completion" if self.chat else "text_completion",
            "created": self.created,
            "model": self.model,
            "choices": [self._choice_body(choice) for choice in self.choices],
            "usage": self.usage(),
        }

    def usage(self) -> dict[str, Any]:
        """Token counts over all choices."""
        generations = [choice.generation for choice in self.choices]
        prompt = sum(len(generation.prompt) for generation in generations)
        completion = sum(generation.emitted for generation in generations)
        return {
            "prompt_tokens": prompt,
            "total_tokens": prompt + completion,
            "completion_tokens": completion,
            "prompt_tokens_details": {"cached_tokens": sum(g.cached for g in generations)},
        }

    def _emitter(self, index: int, reply: Reply) -> Callable[[int, float], None]:
        """Make what is called with each token's number; streams also write the token."""
        del index
        last = len(reply.tokens) - 1
        trip = trip_token(self._fault, len(reply.tokens)) if self._fault else -1

        def emit(number: int, _now: float) -> None:
            if number == trip:
                self._strike()
            elif number == last:
                self._close_choice()

        return emit

    def _close_choice(self) -> None:
        self._open -= 1
        if not self._open and not self.done.done():
            self._complete()

    def _complete(self) -> None:
        self.done.set_result(None)

    def _strike(self) -> None:
        """Let the request's fault happen."""
        if self._fault is Fault.DIE:
            os.write(2, b"simulated crash: the engine process ends in mid-response\n")
            os._exit(1)
        self.abort()
        if self._fault is Fault.RESET:
            reset(self._transport)
        elif self._fault is Fault.ERROR_EVENT:
            self._fail()
        # A stalled response is left as it is, its connection open.

    def _fail(self) -> None:
        self.failed = True
        self.done.set_result(None)

    def _choice_body(self, choice: Choice) -> dict[str, Any]:
        tokens = choice.reply.tokens
        text = "".join(token for token in tokens if isinstance(token, str))
        body: dict[str, Any] = {"index": choice.index}
        if self.chat:
            calls = _calls(tokens)
            body["message"] = {
                "role": "assistant",
                "content": None if calls and not text else text,
                "tool_calls": calls,
            }
        else:
            body["text"] = text
        finish = choice.reply.finish
        return {**body, "logprobs": None, "finish_reason": finish, "stop_reason": None}


class StreamedResponse(Response):
    """A response in server-sent events, one per token, written as each step ends."""

    include_usage = False

    def send(self, event: bytes) -> None:
        """Write bytes as one HTTP chunk."""
        transport = self._transport
        if transport.is_closing():
            return
        if transport.get_write_buffer_size() > _MAX_UNSENT_BYTES:
            transport.abort()
            return
        transport.write(b"%x\r\n%b\r\n" % (len(event), event))

    def _emitter(self, index: int, reply: Reply) -> Callable[[int, float], None]:
        head, tail = self._head(index), b',"logprobs":null,"finish_reason":null}]}\n\n'
        final = f',"logprobs":null,"finish_reason":"{reply.finish}","stop_reason":null}}]}}\n\n'
        tokens, last = reply.tokens, len(reply.tokens) - 1
        trip = trip_token(self._fault, len(tokens)) if self._fault else -1
        first = b""
        if self.chat:
            first = head + b'{"role":"assistant","content":""}' + tail
        send, fragment = self.send, self._fragment

        def emit(number: int, _now: float) -> None:
            if number == trip:
                self._strike()
            elif number == last:
                event = head + fragment(tokens[number], last=True) + final.encode()
                send(first + event if number == 0 else event)
                self._close_choice()
            elif number:
                send(head + fragment(tokens[number]) + tail)
            else:
                send(first + head + fragment(tokens[number]) + tail)

        return emit

    def _head(self, index: int) -> bytes:
        kind = "chat.completion.chunk" if self.chat else "text_completion"
        field = "delta" if self.chat else "text"
        return (
            f'data: {{"id":"{self.id}","object":"{kind}","created":{self.created},'
            f'"model":{json.dumps(self.model)},"choices":[{{"index":{index},"{field}":'
        ).encode()

    def _fragment(self, token: Token, *, last: bool = False) -> bytes:
        """Text of a completion's token, delta of a chat's."""
        if isinstance(token, CallToken):
            delta = {"tool_calls": [_call_delta(token)]}
            return json.dumps(delta, ensure_ascii=False, separators=(",", ":")).encode()
        if not self.chat:
            return _JSON[token]
        return b"{}" if last and not token else b'{"content":%b}' % _JSON[token]

    def _complete(self) -> None:
        if self.include_usage:
            usage: dict[str, Any] = {
                "id": self.id,
                "object": "chat.completion.chunk" if self.chat else "text_completion",
                "created": self.created,
                "model": self.model,
                "choices": [],
                "usage": self.usage(),
            }
            self.send(b"data: " + json.dumps(usage, separators=(",", ":")).encode() + b"\n\n")
        self.send(DONE)
        self.done.set_result(None)

    def _fail(self) -> None:
        error = {"message": "simulated engine error", "type": "InternalServerError", "code": 500}
        self.send(b"data: " + json.dumps({"error": error}).encode() + b"\n\n")
        self.send(DONE)
        super()._fail()


def reset(transport: asyncio.Transport) -> None:
    """Drop a connection with a TCP reset, unsent bytes and all."""
    sock = transport.get_extra_info("socket")
    if sock is not None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()


def _call_delta(token: CallToken) -> dict[str, Any]:
    if token.name is None:
        return {"index": token.call, "function": {"arguments": token.arguments}}
    return {
        "index": token.call,
        "id": f"chatcmpl-tool-{uuid.uuid4().hex}",
        "type": "function",
        "function": {"name": token.name, "arguments": token.arguments},
    }


def _calls(tokens: tuple[Token, ...]) -> list[dict[str, Any]]:
    calls: list[dict[str, Any]] = []
    for token in tokens:
        if not isinstance(token, CallToken):
            continue
        if token.name is None:
            calls[-1]["function"]["arguments"] += token.arguments
        else:
            calls.append({key: v for key, v in _call_delta(token).items() if key != "index"})
    return calls
