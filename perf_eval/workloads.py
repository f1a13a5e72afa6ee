"""Load workloads: when requests arrive, what they say, and how long an answer may take.

A workload is the product of ``arrivals`` and ``prompts``. Arrivals decide when a request is sent,
prompts what it holds; any arrivals go with any prompts, apart from ``timed``, which needs prompts
that have timestamps.
"""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from gauntlet.perf_eval.part import RecipePart

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]*$")]
Rate = Annotated[float, Field(gt=0, le=1_000_000, description="requests a second")]
Tokens = Annotated[int, Field(ge=1, le=16_000_000)]
Streams = Annotated[int, Field(ge=1, le=65_536)]


class Range(RecipePart):
    """``min``..``max``, both included."""

    min: int = Field(ge=1)
    """Least, included."""
    max: int = Field(ge=1)
    """Most, included."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.max < self.min:
            msg = f"max ({self.max}) is less than min ({self.min})"
            raise ValueError(msg)
        return self


class TokenRange(Range):
    """Number of tokens, drawn evenly from the range.

    Written as ``{min, max}``, as one number for an exact length, or as
    ``{mean, range_ratio}`` for mean x (1 - ratio) .. mean x (1 + ratio).
    """

    @model_validator(mode="before")
    @classmethod
    def _short_forms(cls, value: object) -> object:
        if isinstance(value, int) and not isinstance(value, bool):
            return {"min": value, "max": value}
        if isinstance(value, dict) and "mean" in value:
            if set(value) - {"mean", "range_ratio"}:
                msg = "give {mean, range_ratio}, {min, max} or one number"
                raise ValueError(msg)
            mean, ratio = value["mean"], value.get("range_ratio", 0)
            if not isinstance(mean, int) or not isinstance(ratio, int | float):
                msg = "mean must be a whole number and range_ratio a number"
                raise ValueError(msg)
            if not 0 <= ratio < 1:
                msg = f"range_ratio must lie in 0..1 (1 excluded), got {ratio}"
                raise ValueError(msg)
            return {"min": max(1, round(mean * (1 - ratio))), "max": round(mean * (1 + ratio))}
        return value


class Source(RecipePart):
    """Where rows come from: a JSONL file, or ``generate`` many made from a seed."""

    file: Path | None = None
    """A JSONL file."""
    generate: int | None = Field(default=None, ge=1)
    """How many rows to make from the seed."""
    seed: int = Field(default=1, ge=0)
    """Seed of what is made; equal seeds give equal rows."""

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.file is None) == (self.generate is None):
            msg = "give either file or generate"
            raise ValueError(msg)
        return self


class Deadlines(RecipePart):
    """Limits after which a request counts as failed, in seconds.

    ``idle_s`` holds between two reads of one response, ``total_s`` for one request, ``load_s`` for
    the whole repetition (None: as long as the requests need at most).
    """

    connect_s: float = Field(default=5.0, gt=0)
    """Until the connection stands."""
    idle_s: float = Field(default=10.0, gt=0)
    """Between two reads of one response."""
    total_s: float = Field(default=60.0, gt=0)
    """For one request from its sending to its end."""
    load_s: float | None = Field(default=None, gt=0)
    """For the whole repetition; absent: as long as its requests need at most."""


class GoodputLimits(RecipePart):
    """Limits that one request must keep, in milliseconds; a failed request keeps none."""

    ttft_ms: float | None = Field(default=None, gt=0)
    """Until the first token."""
    tpot_ms: float | None = Field(default=None, gt=0)
    """Mean time of a token after the first."""
    e2e_ms: float | None = Field(default=None, gt=0)
    """Until the last token."""

    @model_validator(mode="after")
    def _one_at_least(self) -> Self:
        if self.ttft_ms is None and self.tpot_ms is None and self.e2e_ms is None:
            msg = "give at least one of ttft_ms, tpot_ms and e2e_ms"
            raise ValueError(msg)
        return self


class ClosedArrivals(RecipePart):
    """Closed loop: ``concurrency`` streams, each sending its next request when one ends.

    The streams start spread over ``stagger_s`` seconds, else requests of equal length end together
    for ever after and every wave queues behind itself. None: one stream each 20 ms, at most 2 s.
    """

    kind: Literal["closed"]
    """Which kind this is."""
    concurrency: Streams
    """Streams that are open at once."""
    stagger_s: float | None = Field(default=None, ge=0, le=3600)
    """Seconds over which the streams start; absent: 20 ms a stream, at most 2 s."""


class _Open(RecipePart):
    """What open loops share: ``max_concurrency`` holds requests back, and it shows as queueing."""

    max_concurrency: Streams | None = None
    """Most requests in flight; the others wait and show as queueing."""


class ConstantArrivals(_Open):
    """Open loop: one request every 1 / ``rate`` seconds."""

    kind: Literal["constant"]
    """Which kind this is."""
    rate: Rate
    """Requests a second."""


class PoissonArrivals(_Open):
    """Open loop: exponential gaps with mean 1 / ``rate``."""

    kind: Literal["poisson"]
    """Which kind this is."""
    rate: Rate
    """Requests a second."""


class GammaArrivals(_Open):
    """Open loop: gamma gaps with mean 1 / ``rate`` and shape ``burstiness``.

    1 is Poisson, less is burstier, more is more even (vLLM's and Triton's definition).
    """

    kind: Literal["gamma"]
    """Which kind this is."""
    rate: Rate
    """Requests a second."""
    burstiness: float = Field(gt=0, le=1000)
    """Shape of the gaps: 1 is Poisson, less is burstier."""


class RampArrivals(_Open):
    """Open loop: the rate goes from ``start_rate`` to ``end_rate`` over the workload."""

    kind: Literal["ramp"]
    """Which kind this is."""
    start_rate: Rate
    """Requests a second at the start."""
    end_rate: Rate
    """Requests a second at the end."""
    shape: Literal["linear", "exponential"] = "linear"
    """How the rate goes from one to the other."""
    gaps: Literal["constant", "poisson"] = "poisson"
    """How requests are spread at a given rate."""


class BurstArrivals(_Open):
    """Everything at once: TTFT is then the depth of the queue, and is labelled so."""

    kind: Literal["burst"]
    """Which kind this is."""


class TimedArrivals(_Open):
    """Open loop at the timestamps of a trace; ``time_scale`` multiplies the gaps.

    0.5 replays twice as fast. A rate is never read as a multiplier here.
    """

    kind: Literal["timed"]
    """Which kind this is."""
    time_scale: float = Field(default=1.0, gt=0, le=1000)
    """Factor on the gaps: 0.5 replays twice as fast."""


Arrivals = Annotated[
    ClosedArrivals
    | ConstantArrivals
    | PoissonArrivals
    | GammaArrivals
    | RampArrivals
    | BurstArrivals
    | TimedArrivals,
    Field(discriminator="kind"),
]


class RandomPrompts(RecipePart):
    """Random token ids of exactly the drawn length; no two requests share a prefix."""

    kind: Literal["random"]
    """Which kind this is."""
    prompt_tokens: TokenRange
    """Length of a prompt."""
    output_tokens: TokenRange
    """Length of an answer."""


class SharedPrefixPrompts(RecipePart):
    """``groups`` prefixes of ``prefix_tokens``, each followed by a suffix of its own."""

    kind: Literal["shared_prefix"]
    """Which kind this is."""
    groups: int = Field(ge=1)
    """How many prefixes."""
    prefix_tokens: TokenRange
    """Length of a prefix."""
    suffix_tokens: TokenRange
    """Length of what follows the prefix."""
    output_tokens: TokenRange
    """Length of an answer."""


class TracePrompts(RecipePart):
    """A slice of a trace in Mooncake's format: equal hash ids are equal blocks of tokens.

    ``rows`` after ``skip_rows``, or the rows of ``window_s`` (seconds from the trace's start).
    ``length_scale`` multiplies the token counts; a block has ``block_size`` tokens after scaling.
    """

    kind: Literal["trace"]
    """Which kind this is."""
    source: Source
    """Where the rows come from."""
    rows: int | None = Field(default=None, ge=1)
    """How many rows; absent: all that are left."""
    skip_rows: int = Field(default=0, ge=0)
    """Rows to leave out at the start."""
    window_s: tuple[float, float] | None = None
    """Rows between these two times, in seconds from the trace's start."""
    length_scale: float = Field(default=1.0, gt=0, le=1.0)
    """Factor on the lengths of prompts and answers."""
    block_size: int = Field(default=512, ge=1)
    """Tokens that one hash id stands for, after scaling."""
    max_output_tokens: int | None = Field(default=None, ge=1)
    """Most tokens of an answer."""

    @model_validator(mode="after")
    def _one_slice(self) -> Self:
        if self.window_s is not None:
            if self.rows is not None or self.skip_rows:
                msg = "give rows and skip_rows, or window_s"
                raise ValueError(msg)
            start, end = self.window_s
            if not 0 <= start < end:
                msg = f"window_s must be [start, end] with 0 <= start < end, got {[start, end]}"
                raise ValueError(msg)
        return self


class SharegptPrompts(RecipePart):
    """First question of conversations in ShareGPT's format (a JSON list, or JSONL), as text.

    Answers may end by themselves; ``output_tokens`` is the most that they may have.
    """

    kind: Literal["sharegpt"]
    """Which kind this is."""
    file: Path
    """JSON list or JSONL in ShareGPT's format."""
    output_tokens: TokenRange
    """Length of an answer."""
    min_characters: int = Field(default=1, ge=1)
    """Shortest question that is taken."""
    max_characters: int = Field(default=100_000, ge=1)
    """Longest question that is taken."""


class JsonlPrompts(RecipePart):
    """Rows of one's own: ``prompt`` (text), ``prompt_token_ids`` or ``messages``.

    A row may have ``max_tokens`` and ``timestamp`` (ms); ``output_tokens`` holds where it has no
    ``max_tokens``. ``ignore_eos`` asks for exactly that many tokens.
    """

    kind: Literal["jsonl"]
    """Which kind this is."""
    file: Path
    """JSONL file."""
    output_tokens: TokenRange = TokenRange(min=256, max=256)
    """Length of an answer."""
    ignore_eos: bool = False
    """Ask for exactly as many tokens as given."""


class QuestionPrompts(RecipePart):
    """Questions of an accuracy set as load: GSM8K's or BFCL's format, as text."""

    kind: Literal["questions"]
    """Which kind this is."""
    format: Literal["gsm8k", "bfcl"]
    """Format of the rows."""
    source: Source
    """Where the rows come from."""
    output_tokens: TokenRange = TokenRange(min=256, max=256)
    """Length of an answer."""


class ConversationPrompts(RecipePart):
    """Multi-turn conversations: each turn sends all turns before it, then ``turn_tokens`` more.

    ``requests`` of the workload counts turns. Between two turns of a conversation lie
    ``think_s`` seconds, drawn evenly; a conversation has one turn in flight at a time.
    """

    kind: Literal["conversation"]
    """Which kind this is."""
    turns: Range
    """Turns of one conversation."""
    system_tokens: TokenRange = TokenRange(min=1, max=1)
    """Length of what stands before the first turn."""
    turn_tokens: TokenRange
    """Length that each turn adds."""
    output_tokens: TokenRange
    """Length of an answer."""
    think_s: tuple[float, float] = (0.0, 0.0)
    """Least and most seconds between two turns."""

    @model_validator(mode="after")
    def _think_ordered(self) -> Self:
        if not 0 <= self.think_s[0] <= self.think_s[1]:
            msg = f"think_s must be [least, most] seconds, got {list(self.think_s)}"
            raise ValueError(msg)
        return self


Prompts = Annotated[
    RandomPrompts
    | SharedPrefixPrompts
    | TracePrompts
    | SharegptPrompts
    | JsonlPrompts
    | QuestionPrompts
    | ConversationPrompts,
    Field(discriminator="kind"),
]

_WITH_TIMESTAMPS = ("trace", "jsonl")


class Workload(RecipePart):
    """One load: ``requests`` many (None: all rows of the prompts' file or slice).

    ``hit_rate`` bounds the share of prompt tokens that the prefix cache may answer; None: what the
    prompts make possible by themselves, so that a replayed cache shows.
    """

    name: Name
    """Name in paths, results and objectives."""
    kind: Literal["load"] = "load"
    """Tells a load from an eval in results."""
    arrivals: Arrivals
    """When requests are sent."""
    prompts: Prompts
    """What they hold."""
    requests: int | None = Field(default=None, ge=1, le=10_000_000)
    """How many; absent: all rows of the prompts."""
    warmup_requests: int = Field(default=0, ge=0)
    """Requests before the first that counts, with prompts of their own."""
    endpoint: Literal["completions", "chat"] = "completions"
    """Which endpoint is asked; only completions takes prompts as token ids."""
    body: dict[str, str | int | float | bool | None] = Field(default_factory=dict)
    """Keys added to every request, such as temperature."""
    hit_rate_at_most: float | None = Field(default=None, ge=0, le=1)
    """Largest share of prompt tokens from the prefix cache; absent: what the prompts allow."""
    deadlines: Deadlines = Deadlines()
    """When a request counts as failed."""
    goodput: GoodputLimits | None = None
    """What a request must keep to count as good; needed for the metric goodput_per_s."""
    calibration: Literal["required", "when_possible", "off"] = "required"
    """Whether the client's own lag is measured first; required: else the result is invalid."""

    @model_validator(mode="after")
    def _parts_fit(self) -> Self:
        prompts, arrivals = self.prompts, self.arrivals
        if arrivals.kind == "timed" and prompts.kind not in _WITH_TIMESTAMPS:
            msg = f"arrivals of kind timed need prompts with timestamps, not {prompts.kind}"
            raise ValueError(msg)
        made = prompts.kind in {"random", "shared_prefix", "conversation"}
        if made and self.requests is None:
            msg = f"prompts of kind {prompts.kind} need requests"
            raise ValueError(msg)
        if prompts.kind == "conversation" and arrivals.kind != "closed":
            msg = "conversations need closed arrivals: concurrency counts open conversations"
            raise ValueError(msg)
        return self

    @property
    def concurrency(self) -> int | None:
        """Most requests in flight at once, None where nothing bounds them."""
        if isinstance(self.arrivals, ClosedArrivals):
            return self.arrivals.concurrency
        return self.arrivals.max_concurrency
