"""Entry points: the only place that catches our errors and turns them into exit codes."""

import errno
import os
import sys
from collections.abc import Sequence

import click

from gauntlet.core.errors import ExitCode, GauntletError


def main(arguments: Sequence[str] | None = None) -> None:
    """Run ``gauntlet`` and exit with the documented code."""
    sys.exit(run(list(sys.argv[1:] if arguments is None else arguments)))


def release_main() -> None:
    """Run ``release``, which is ``gauntlet release``."""
    main(["release", *sys.argv[1:]])


def run(arguments: list[str]) -> int:
    """Run one command line; return its exit code and print errors to stderr."""
    from gauntlet.cli import gauntlet

    try:
        status = gauntlet.main(args=arguments, prog_name="gauntlet", standalone_mode=False)
        sys.stdout.flush()
    except GauntletError as error:
        click.echo(f"error: {error.message}", err=True)
        if error.hint:
            click.echo(f"hint: {error.hint}", err=True)
        return int(error.exit_code)
    except click.ClickException as error:
        error.show()
        return int(ExitCode.USAGE)
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        return int(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output left (``| head``); nothing is wrong, and nobody listens.
        sys.stderr.close()
        return int(ExitCode.OK)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        # What is left in the buffer would fail again when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        click.echo("error: no space is left for the output", err=True)
        return int(ExitCode.INFRASTRUCTURE)
    return int(status or ExitCode.OK)


if __name__ == "__main__":
    main()
