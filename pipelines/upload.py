"""Upload a pipeline in chunks, each exactly once, however often the step that does it is retried.

An upload cannot be taken back and is not idempotent. So the build itself keeps a ledger, in its
meta-data: each chunk is entered before it is sent and marked when it is in. A step that starts
again leaves out what is in. Of a chunk that was entered and not marked nobody knows; it is sent
again, and Buildkite, which takes no step key twice, says whether it was in.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from gauntlet.core.errors import ExternalServiceError
from gauntlet.pipelines.agent import (
    Agent,
    AgentRefusedError,
    AgentUnreachableError,
    AnnotationStyle,
)
from gauntlet.pipelines.chunks import Chunk

T = TypeVar("T")
Sleep = Callable[[float], None]
Outcome = Literal["uploaded", "already in", "uploaded, unmarked"]

# Seconds before the second, third and fourth attempt.
DELAYS = (2.0, 5.0, 15.0)
_ENTERED, _IN = "entered", "in"


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation:
    """Markdown for the page of the build; a context shows one annotation at a time."""

    body: str
    context: str = "gauntlet"
    style: AnnotationStyle = "info"


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadReport:
    """What became of each chunk; ``not_annotated`` says why the annotation is missing, or None."""

    chunks: tuple[tuple[Chunk, Outcome], ...]
    not_annotated: str | None = None


class UploadError(ExternalServiceError):
    """Some chunks are in the build and some are not; ``uploaded`` and ``missing`` say which."""

    def __init__(
        self, uploaded: Sequence[Chunk], missing: Sequence[Chunk], cause: ExternalServiceError
    ) -> None:
        self.uploaded = tuple(uploaded)
        self.missing = tuple(missing)
        lines = [f"chunk {missing[0].number} was not uploaded: {cause.message}"]
        lines += [f"  in the build: chunk {_described(chunk)}" for chunk in uploaded]
        lines += [f"  not in it: chunk {_described(chunk)}" for chunk in missing]
        hint = "run the same step again: it leaves out what is in the build already"
        super().__init__("\n".join(lines), hint=hint)


def upload(
    chunks: Sequence[Chunk],
    agent: Agent,
    *,
    build_id: str,
    annotation: Annotation | None = None,
    sleep: Sleep = time.sleep,
) -> UploadReport:
    """Bring chunks into the build of the running job, in their order, each exactly once.

    Raises UploadError where one cannot be brought in; those after it are then not tried. A failed
    annotation is reported, not raised: the build is what matters.
    """
    done: list[tuple[Chunk, Outcome]] = []
    for position, chunk in enumerate(chunks):
        try:
            done.append((chunk, _bring_in(chunk, agent, build_id, sleep)))
        except ExternalServiceError as error:
            uploaded = [one for one, _ in done]
            raise UploadError(uploaded, chunks[position:], error) from error
    return UploadReport(chunks=tuple(done), not_annotated=_annotate(annotation, agent, sleep))


def ledger_key(build_id: str, chunk: Chunk) -> str:
    """Where the build's meta-data says what became of a chunk."""
    return f"gauntlet:upload:{build_id}:{chunk.number}:{chunk.digest[:32]}"


def _bring_in(chunk: Chunk, agent: Agent, build_id: str, sleep: Sleep) -> Outcome:
    key = ledger_key(build_id, chunk)
    state = _persist(lambda: agent.get_metadata(key), sleep)
    if state == _IN:
        return "already in"
    _persist(lambda: agent.set_metadata(key, _ENTERED), sleep)
    outcome = _send(chunk, agent, sleep, uncertain=state == _ENTERED)
    try:
        _persist(lambda: agent.set_metadata(key, _IN), sleep)
    except ExternalServiceError:
        # It is in, and entered: another attempt finds that out by asking again.
        return "uploaded, unmarked"
    return outcome


def _send(chunk: Chunk, agent: Agent, sleep: Sleep, *, uncertain: bool) -> Outcome:
    """Send a chunk; ``uncertain`` says that an earlier attempt may have brought it in."""
    for delay in (*DELAYS, None):
        if uncertain and not chunk.has_keys:
            message = "it may be in the build, and no step of it has a key by which to tell"
            raise AgentUnreachableError(message)
        try:
            agent.upload(chunk.text)
        except AgentRefusedError as error:
            if uncertain and error.key_taken:
                return "already in"
            raise
        except AgentUnreachableError:
            if delay is None:
                raise
            uncertain = True
            sleep(delay)
        else:
            break
    return "uploaded"


def _persist(call: Callable[[], T], sleep: Sleep) -> T:
    """Call again, a few times, while Buildkite does not answer."""
    for delay in DELAYS:
        try:
            return call()
        except AgentUnreachableError:
            sleep(delay)
    return call()


def _annotate(annotation: Annotation | None, agent: Agent, sleep: Sleep) -> str | None:
    if annotation is None:
        return None
    body, context, style = annotation.body, annotation.context, annotation.style
    try:
        _persist(lambda: agent.annotate(body, context=context, style=style), sleep)
    except (AgentRefusedError, AgentUnreachableError) as error:
        return error.message
    return None


def _described(chunk: Chunk) -> str:
    return f"{chunk.number} ({chunk.jobs} jobs: {', '.join(chunk.units)})"
