"""The use case behind ``gauntlet bench clients``: a server, its clients, their runs."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from gauntlet.core.errors import UsageError
from gauntlet.harness.clients.catalog import LoadRequest, Places, clients_of, loads_of, model_of
from gauntlet.harness.clients.compare import ClientRun, Comparison, compare
from gauntlet.harness.clients.tokenizer import write_word_tokenizer
from gauntlet.harness.load.known_timing import KnownTiming


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientsRequest:
    """What is asked for: a server by URL, or one of known timing; which clients; which loads.

    ``names`` empty: every client that is known. ``out`` None: result files are not kept.
    """

    base_url: str | None
    known_timing: bool
    load: LoadRequest
    places: Places
    ttft_ms: float = 50.0
    itl_ms: float = 10.0
    names: Sequence[str] = ()
    repetitions: int = 1
    model: str | None = None
    tokenizer: Path | None = None
    time_limit_s: float = 600.0
    out: Path | None = None


def compare_clients(
    request: ClientsRequest, *, tell: Callable[[ClientRun], object] = lambda _: None
) -> list[ClientRun]:
    """Run all of it.

    Raises UsageError for what does not fit, InfrastructureError where the server does not answer
    or, as NoCompilerError, cannot be built.
    """
    if (request.base_url is not None) == request.known_timing:
        msg = "give either --base-url URL or --known-timing"
        raise UsageError(msg)
    with ExitStack() as stack:
        folder = _folder(stack, request.out)
        server = None
        if request.known_timing:
            server = stack.enter_context(
                KnownTiming(workdir=folder, ttft_ms=request.ttft_ms, itl_ms=request.itl_ms)
            )
        url = server.base_url if server is not None else str(request.base_url)
        comparison = _comparison(request, url, folder)
        return compare(comparison, folder, server=server, tell=tell)


def _folder(stack: ExitStack, out: Path | None) -> Path:
    if out is None:
        return Path(stack.enter_context(TemporaryDirectory(prefix="gauntlet-clients-")))
    out.mkdir(parents=True, exist_ok=True)
    return out.absolute()


def _comparison(request: ClientsRequest, url: str, folder: Path) -> Comparison:
    tokenizer = request.tokenizer or write_word_tokenizer(folder / "words")
    chosen = clients_of(request.names, request.places)
    loads = loads_of(
        request.load,
        base_url=url,
        model=request.model or model_of(url),
        tokenizer=tokenizer.absolute(),
        limit_s=request.time_limit_s,
    )
    return Comparison(
        clients=chosen,
        loads=loads,
        repetitions=request.repetitions,
        limit_s=request.time_limit_s,
    )
