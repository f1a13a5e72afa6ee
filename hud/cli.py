"""``gauntlet hud``: serve the pages on this machine."""

import os
from pathlib import Path

import click
from click.core import ParameterSource

from gauntlet.warehouse.location import warehouse_option

_DEMO_FOLDER = Path(".gauntlet/demo")


@click.command()
@click.option("--port", type=click.IntRange(1, 65535), default=8501, show_default=True)
@click.option("--browser/--no-browser", default=True, help="Open a browser where there is one.")
@click.option(
    "--demo", is_flag=True, help="Over a made-up organisation of vLLM's size, in .gauntlet/demo."
)
@click.option(
    "--user-header", metavar="NAME", help="Let users act whom your auth proxy names in this header."
)
@click.option("--allow", metavar="USER", multiple=True, help="Who may act; once for each.")
@click.option(
    "--proxy-secret",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File with what the proxy sends in X-Gauntlet-Proxy-Secret.",
)
@warehouse_option
@click.pass_context
def hud(
    context: click.Context,
    *,
    port: int,
    browser: bool,
    demo: bool,
    user_header: str | None,
    allow: tuple[str, ...],
    proxy_secret: Path | None,
    location: str,
) -> None:
    """Open the pages over the warehouse in a browser (Ctrl-C ends it)."""
    from importlib.util import find_spec

    from gauntlet.core.errors import InfrastructureError, UsageError
    from gauntlet.hud.acting.actors import Actors

    if find_spec("streamlit") is None:
        raise UsageError("the pages need Streamlit", hint="pip install 'gauntlet[hud]'")
    Actors.of(user_header, allow, proxy_secret)  # refuses what does not fit, before anything starts
    if not _is_free(port):
        msg = f"port {port} is taken"
        raise InfrastructureError(msg, hint=f"choose another one: gauntlet hud --port {port + 1}")
    if demo:
        if context.get_parameter_source("location") is ParameterSource.COMMANDLINE:
            msg = "--demo with --warehouse: made-up rows never go into a warehouse of yours"
            raise UsageError(msg, hint="leave one of them out")
        location = _demo()
    click.echo(f"http://127.0.0.1:{port} shows {location}", err=True)
    acting = (user_header or "", str(proxy_secret.absolute()) if proxy_secret else "", *allow)
    from gauntlet.hud import serve

    serve.main([*_options(port, browser), "--", location, *acting])


def _demo() -> str:
    from concurrent.futures import ThreadPoolExecutor
    from importlib import import_module

    from gauntlet.core.clock import Stopwatch, utc_now
    from gauntlet.hud.made_up.fill import demo_folder, make_demo

    now, watch = utc_now(), Stopwatch()
    folder = demo_folder(_DEMO_FOLDER, now)
    click.echo("making eight days of CI and 45 nights of measurements", err=True)
    with ThreadPoolExecutor(1) as pool:
        making = pool.submit(make_demo, folder, now)
        import_module("gauntlet.hud.serve")  # takes seconds, and the store is busy elsewhere
        made = making.result()
    said = f"made in {watch.seconds:.0f} s" if made else "they were there already"
    click.echo(f"{said}: {folder}", err=True)
    return str(folder)


def _is_free(port: int) -> bool:
    import socket

    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def _options(port: int, browser: bool) -> list[str]:
    flags = {
        "server.address": "127.0.0.1",
        "server.port": str(port),
        "server.headless": "false" if browser and os.environ.get("DISPLAY") else "true",
        "server.fileWatcherType": "none",
        "browser.gatherUsageStats": "false",
        # The menu keeps the choice of dark or light, and leaves out what is for developers.
        "client.toolbarMode": "viewer",
        "client.showErrorDetails": "type",
        "theme.light.primaryColor": "#24568c",
        "theme.dark.primaryColor": "#8fbbe8",
        "theme.headingFontSizes": '["1.75rem", "1.35rem", "1.1rem", "1rem", "0.9rem", "0.9rem"]',
    }
    return [f"--{name}={value}" for name, value in flags.items()]
