"""What Buildkite refuses in a step although its schema takes it."""

from collections.abc import Iterator, Mapping, Sequence

from gauntlet.core.errors import nearest
from gauntlet.pipelines.checks.findings import Finding
from gauntlet.pipelines.checks.interpolation import accident, read, texts
from gauntlet.pipelines.checks.steps import StepView
from gauntlet.pipelines.definitions.keys import key_fault
from gauntlet.pipelines.fleet import Fleet

MAX_RETRIES = 10


def step_findings(view: StepView, fleet: Fleet | None) -> Iterator[Finding]:
    """Yield everything that keeps a step, or the upload that it is in, from working."""
    fields = view.fields
    if view.key is not None and (fault := key_fault(view.key)):
        yield _finding(view, "key", fault, repr(view.key))
    if view.kind == "command":
        yield from _concurrency(view)
        if fields.get("matrix") is not None and fields.get("parallelism") is not None:
            yield _finding(view, "parallelism", "a step has parallelism or a matrix, not both")
        yield from _retries(view)
        yield from _soft_fail(view)
        if fleet is not None:
            yield from _queue(view, fleet)
    yield from _refused_text(view)


def step_warnings(view: StepView, known: Sequence[str]) -> Iterator[Finding]:
    """Yield variables of a step that become something else at upload than they look like."""
    names = (name for text in texts(_own(view)) for name in read(text).names)
    for name in dict.fromkeys(names):
        why = accident(name, known)
        if why is not None:
            yield Finding(path=view.path, where=view.name, message=f"${name} {why}")


def _own(view: StepView) -> object:
    """The step as it is written, a group without its members."""
    if view.kind == "group" and isinstance(view.written, Mapping):
        return {name: value for name, value in view.written.items() if name != "steps"}
    return view.written


def _concurrency(view: StepView) -> Iterator[Finding]:
    limit = view.fields.get("concurrency") is not None
    group = view.fields.get("concurrency_group") is not None
    if limit != group:
        yield _finding(view, "concurrency", "concurrency and concurrency_group come together")
    elif view.fields.get("concurrency_method") is not None and not group:
        yield _finding(view, "concurrency_method", "needs concurrency and concurrency_group")


def _retries(view: StepView) -> Iterator[Finding]:
    retry = view.fields.get("retry")
    automatic = retry.get("automatic") if isinstance(retry, Mapping) else None
    rules = automatic if isinstance(automatic, list) else [automatic]
    for rule in rules:
        limit = rule.get("limit") if isinstance(rule, Mapping) else None
        if isinstance(limit, int) and limit > MAX_RETRIES:
            message = f"a job is retried {MAX_RETRIES} times at most"
            yield _finding(view, "retry", message, str(limit))


def _soft_fail(view: StepView) -> Iterator[Finding]:
    rules = view.fields.get("soft_fail")
    for rule in rules if isinstance(rules, list) else ():
        if not isinstance(rule, Mapping) or set(rule) != {"exit_status"}:
            yield _finding(view, "soft_fail", "expected a list of {exit_status: N}", repr(rule))


def _queue(view: StepView, fleet: Fleet) -> Iterator[Finding]:
    queue = _queue_of(view.fields.get("agents"))
    if queue is not None and queue not in fleet.queues and "$" not in queue:
        yield Finding(
            path=(*view.path, "agents"),
            where=f"{view.name}.agents.queue",
            message="no agents serve this queue, so the job would wait for ever",
            value=repr(queue),
            nearest=nearest(queue, fleet.queues),
        )


def _queue_of(agents: object) -> str | None:
    """Queue in either form of ``agents``: a mapping, or a list of ``name=value``."""
    if isinstance(agents, list):
        pairs = [item.partition("=") for item in agents if isinstance(item, str)]
        agents = {name: value for name, _, value in pairs}
    queue = agents.get("queue") if isinstance(agents, Mapping) else None
    return queue if isinstance(queue, str) else None


def _refused_text(view: StepView) -> Iterator[Finding]:
    for text in texts(_own(view)):
        fault = read(text).fault
        if fault is not None:
            message = f"the agent cannot upload this text: {fault}; write $$ for a dollar sign"
            yield Finding(path=view.path, where=view.name, message=message, value=_shown(text))


def _finding(view: StepView, field: str, message: str, value: str | None = None) -> Finding:
    return Finding(
        path=(*view.path, field), where=f"{view.name}.{field}", message=message, value=value
    )


def _shown(text: str) -> str:
    return repr(text) if len(text) <= 80 else f"{text[:77]!r}..."
