"""One request of a load, built to the last byte before the clock starts."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

Scalar = str | int | float | bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRequest:
    """One request: its JSON body and what its answer has to be.

    ``prompt_tokens`` is None for text, which only the server's tokenizer can count.
    ``output_tokens`` is how many tokens are asked: exactly that many if ``exact``, at most
    otherwise. ``conversation`` and ``turn`` place it; ``think_s`` lies between the end of the turn
    before and this one. ``due_s`` is the time that the data themselves give (a trace's timestamp).
    ``shared_tokens`` of the prompt were sent before by this very load, at best in the cache.
    """

    index: int
    body: bytes
    prompt_tokens: int | None
    output_tokens: int
    exact: bool = True
    conversation: int | None = None
    turn: int = 0
    think_s: float = 0.0
    due_s: float | None = None
    shared_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What all requests of a load have in common: model, endpoint and extra body fields."""

    model: str
    chat: bool = False
    extra: Mapping[str, Scalar] | None = None

    def body(self, prompt: "Prompt", output_tokens: int, *, exact: bool) -> bytes:
        """JSON body of one streamed request.

        Raises ValueError for token ids at the chat endpoint, which takes text only.
        """
        fields: dict[str, object] = {
            "model": self.model,
            "max_tokens": output_tokens,
            "temperature": 0,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if exact:
            fields["ignore_eos"] = True
        if not self.chat:
            fields["prompt"] = list(prompt) if not isinstance(prompt, str) else prompt
        elif isinstance(prompt, str):
            fields["messages"] = [{"role": "user", "content": prompt}]
        elif _are_messages(prompt):
            fields["messages"] = list(prompt)
        else:
            msg = "the chat endpoint takes text, not token ids"
            raise ValueError(msg)
        fields.update(self.extra or {})
        return json.dumps(fields, separators=(",", ":")).encode()


Prompt = str | Sequence[int] | Sequence[Mapping[str, str]]


def _are_messages(prompt: Prompt) -> bool:
    return bool(prompt) and isinstance(prompt[0], Mapping)


def token_count(prompt: Prompt) -> int | None:
    """Tokens of a prompt of ids; None for text, which only the server can count."""
    ids = not isinstance(prompt, str) and bool(prompt) and isinstance(prompt[0], int)
    return len(prompt) if ids else None


def completion_body(model: str, prompt: Sequence[int], output_tokens: int) -> bytes:
    """Body of a streamed completion that yields exactly ``output_tokens`` tokens."""
    return Ask(model=model).body(prompt, output_tokens, exact=True)


def chains_of(planned: Iterable[PlannedRequest]) -> list[list[PlannedRequest]]:
    """Group requests into chains: the turns of one conversation in order, or one request alone."""
    chains: dict[object, list[PlannedRequest]] = {}
    for request in planned:
        key = ("alone", request.index) if request.conversation is None else request.conversation
        chains.setdefault(key, []).append(request)
    return [sorted(chain, key=lambda request: request.turn) for chain in chains.values()]


def plan_digest(planned: Sequence[PlannedRequest], due_s: Sequence[float] = ()) -> str:
    """SHA-256 (hex) over everything that is sent, and when."""
    digest = hashlib.sha256()
    for request in planned:
        digest.update(f"{request.index}:{request.conversation}:{request.think_s}:".encode())
        digest.update(request.body)
    digest.update(repr(list(due_s)).encode())
    return digest.hexdigest()
