"""The commands of a step: the job's own, byte for byte, behind what makes its results come back.

Buildkite joins the commands of a step with newlines and runs them as one script, under ``-e``.
"""

import shlex
from collections.abc import Sequence

from gauntlet.pipelines.definitions.job import Job
from gauntlet.pipelines.fleet import Placement
from gauntlet.pipelines.rendering.variables import escape

ARTIFACTS = "gauntlet-results/*"
_END = "GAUNTLET_COMMANDS"
_COMMANDS_FILE = '"$GAUNTLET_RESULTS/commands.sh"'

# Runs in the checkout, before any `cd`. The folder is open to all because a container writes it
# as root and the agent, which is not root, has to clean it up. A job may start pytest many times,
# in one command or from a script: a stand-in for it on PATH gives every process a report of its
# own, whose name holds the process id. What the job itself asks for wins over that.
_PRELUDE = r"""
export GAUNTLET_RESULTS="$PWD/gauntlet-results"
rm -rf "$GAUNTLET_RESULTS" && mkdir -m 777 "$GAUNTLET_RESULTS" "$GAUNTLET_RESULTS/bin" || exit 75
if pytest=$(command -v pytest); then
  shim="$GAUNTLET_RESULTS/bin/pytest"
  printf '#!/bin/sh\nreport=%s/junit-$$.xml\n' "$GAUNTLET_RESULTS" > "$shim"
  printf 'PYTEST_ADDOPTS="--junitxml=$report $PYTEST_ADDOPTS" exec %s "$@"\n' "$pytest" >> "$shim"
  chmod 755 "$shim"
  export PATH="$GAUNTLET_RESULTS/bin:$PATH"
fi
"""
PRELUDE = escape(_PRELUDE.strip())


def reports(job: Job) -> bool:
    """Whether a job has results to bring back; building an image has none."""
    return not job.image


def script(job: Job, placement: Placement, commands: Sequence[str]) -> list[str]:
    """Put a job's commands, as they are, into the script that runs them."""
    own = [*_directory(job), *commands]
    if placement.transport == "bare" and placement.device.wrapper is not None:
        own = _wrapped(placement.device.wrapper, own)
    if not reports(job):
        return own
    setup = placement.device.setup if placement.gpus else ()
    return [PRELUDE, *setup, *own]


def say(lines: Sequence[str]) -> str:
    """A shell command that prints lines as they are, whatever is in them."""
    quoted = " ".join(shlex.quote(line) for line in lines)
    # To the agent a backslash and a dollar sign are one escape: close and open the quotes between.
    return escape(f"printf '%s\\n' {quoted}".replace("\\$", "\\''$"))


def _directory(job: Job) -> list[str]:
    """Where the job's commands start.

    A job over several nodes starts in the checkout: its script takes the directory to the nodes.
    """
    if job.working_dir is None or job.num_nodes:
        return []
    return [f"cd {shlex.quote(job.working_dir)}"]


def _wrapped(wrapper: str, commands: Sequence[str]) -> list[str]:
    """Write the commands to a file and hand that to a script, which starts the container itself."""
    file = escape(_COMMANDS_FILE)
    return [
        f"cat > {file} <<'{_END}'",
        "set -e",
        *commands,
        _END,
        wrapper.replace("{commands}", file),
    ]
