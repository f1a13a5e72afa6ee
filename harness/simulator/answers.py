"""Which answer a request gets: known and right, known and wrong, or random words.

Whether a known question is answered right depends on a hash of the question alone: ``u < accuracy``
with u uniform in [0, 1). Two simulators of accuracies 0.90 and 0.80 therefore disagree on exactly
the questions with u in [0.80, 0.90), as two builds of one engine would on a paired test set.
"""

import random
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Literal, NamedTuple

from gauntlet.harness.simulator.config import AnswersConfig
from gauntlet.harness.simulator.knowledge import Knowledge
from gauntlet.harness.simulator.tokens import WORDS, int_hash, split, unit_hash
from gauntlet.harness.simulator.tools import (
    Tool,
    ToolCall,
    forced_call,
    right_calls,
    wrong_calls,
)

Finish = Literal["stop", "length", "tool_calls"]
ToolChoice = Literal["none", "auto", "required"]
# The end-of-sequence token: counted, without a text.
EOS = ""


class CallToken(NamedTuple):
    """A token of a function call: the first of a call names it, the others carry arguments."""

    call: int
    name: str | None
    arguments: str


Token = str | CallToken


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What a request wants answered, and how much of it.

    ``text`` is the prompt or the last user message, None for a prompt of token ids; ``key`` is a
    hash of everything that makes requests differ.
    """

    text: str | None
    key: int
    max_tokens: int
    min_tokens: int = 0
    ignore_eos: bool = False
    stop: tuple[str, ...] = ()
    tools: tuple[Tool, ...] = ()
    tool_choice: ToolChoice = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The tokens to come, at least one, and why they end."""

    tokens: tuple[Token, ...]
    finish: Finish

    def truncated(self) -> "Reply":
        """Cut to half, as an engine does that runs into a limit too early."""
        return Reply(tokens=self.tokens[: max(1, len(self.tokens) // 2)], finish="length")


class Answerer:
    """Plans replies; the only state is the random source of flips."""

    def __init__(
        self, config: AnswersConfig, knowledge: Knowledge, *, seed: int, wrong_call_every: int = 0
    ) -> None:
        self._config = config
        self._knowledge = knowledge
        self._seed = seed
        self._wrong_call_every = wrong_call_every
        self._tool_replies = 0
        self._flips = random.Random(f"flips:{seed}")  # noqa: S311 - simulated mistakes

    def reply(self, ask: Ask) -> Reply:
        """Plan the whole reply to one request."""
        tokens = self._known(ask)
        if tokens is None:
            tokens = self._forced(ask)
        if tokens is None:
            tokens = self._free_text(ask)
        if ask.ignore_eos or len(tokens) < ask.min_tokens:
            tokens = self._prolonged(tokens, ask)
        return _finished(tokens, ask)

    def _known(self, ask: Ask) -> list[Token] | None:
        if ask.text is None:
            return None
        if ask.tools and ask.tool_choice != "none":
            return self._known_calls(ask, ask.text)
        found = self._knowledge.find_maths(ask.text)
        if found is None:
            return None
        question, line = found
        right = self._right("maths", question, self._config.accuracy)
        return self._reasoning(question, line if right else wrong_line(line))

    def _known_calls(self, ask: Ask, text: str) -> list[Token] | None:
        found = self._knowledge.find_tools(text, [tool.name for tool in ask.tools])
        if found is None:
            return None
        question, fact = found
        right = self._right("tools", question, self._config.tool_accuracy)
        self._tool_replies += 1
        if self._wrong_call_every and self._tool_replies % self._wrong_call_every == 0:
            right = False
        if right:
            calls = right_calls(fact, ask.tools)
        else:
            calls = wrong_calls(fact, ask.tools, question=question)
        return _call_tokens(calls) or None

    def _right(self, kind: str, question: str, accuracy: float) -> bool:
        right = unit_hash("accuracy", kind, question) < accuracy
        flipped = self._config.flip_rate and self._flips.random() < self._config.flip_rate
        return right != bool(flipped)

    def _reasoning(self, question: str, line: str) -> list[Token]:
        mean = self._config.verbosity
        rng = random.Random(int_hash("reasoning", question))  # noqa: S311 - filler
        count = max(0, round(rng.gauss(mean, mean / 4)))
        return [*rng.choices(WORDS, k=count), *split(f".\n{line}"), EOS]

    def _forced(self, ask: Ask) -> list[Token] | None:
        """Call the first tool where the request insists on a call."""
        if not ask.tools or ask.tool_choice != "required":
            return None
        return _call_tokens([forced_call(ask.tools[0])])

    def _free_text(self, ask: Ask) -> list[Token]:
        rng = self._words_of(ask)
        drawn = 1 + int(rng.expovariate(1 / self._config.free_text_tokens))
        count = ask.max_tokens if ask.ignore_eos else min(drawn, ask.max_tokens)
        return [*rng.choices(WORDS, k=count), EOS]

    def _prolonged(self, tokens: list[Token], ask: Ask) -> list[Token]:
        """Go on with words where the end-of-sequence token would be."""
        wanted = ask.max_tokens if ask.ignore_eos else ask.min_tokens
        kept = [token for token in tokens if token != EOS]
        missing = max(0, wanted - len(kept))
        return [*kept, *self._words_of(ask).choices(WORDS, k=missing), EOS]

    def _words_of(self, ask: Ask) -> random.Random:
        return random.Random(f"words:{self._seed}:{ask.key}")  # noqa: S311 - filler


def wrong_line(line: str) -> str:
    """Turn an answer line, such as ``#### 18``, into one with a number near by."""
    head, _, number = line.rpartition(" ")
    try:
        value = Decimal(number.replace(",", "").lstrip("$"))
        value += 1 + int_hash("near", line) % 9
    except InvalidOperation:
        return f"{head} unknown".lstrip()
    return f"{head} {value}".lstrip()


def _call_tokens(calls: list[ToolCall]) -> list[Token]:
    tokens: list[Token] = []
    for index, call in enumerate(calls):
        tokens.append(CallToken(index, call.name, ""))
        tokens += [CallToken(index, None, piece) for piece in split(call.arguments)]
    return [*tokens, EOS] if tokens else []


def _finished(tokens: list[Token], ask: Ask) -> Reply:
    """Cut at the first stop string, then at the limit; name the reason."""
    if ask.stop and (cut := _cut_at_stop(tokens, ask.stop)) and len(cut) <= ask.max_tokens:
        return Reply(tokens=tuple(cut), finish="stop")
    if ask.ignore_eos or len(tokens) > ask.max_tokens:
        return Reply(tokens=tuple(tokens[: ask.max_tokens]), finish="length")
    called = any(isinstance(token, CallToken) for token in tokens)
    return Reply(tokens=tuple(tokens), finish="tool_calls" if called else "stop")


def _cut_at_stop(tokens: list[Token], stops: tuple[str, ...]) -> list[Token] | None:
    """Tokens up to the one that completes a stop string, without the string's own text."""
    texts = [token if isinstance(token, str) else "" for token in tokens]
    text = "".join(texts)
    places = [(text.find(stop) + len(stop), text.find(stop)) for stop in stops if stop in text]
    if not places:
        return None
    end, start = min(places)
    cut: list[Token] = []
    position = 0
    for token, piece in zip(tokens, texts, strict=True):
        cut.append(token if isinstance(token, CallToken) else piece[: max(0, start - position)])
        position += len(piece)
        if position >= end:
            break
    return cut
