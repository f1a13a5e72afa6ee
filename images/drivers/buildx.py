"""``docker buildx bake`` with the bake file that is written from ``images.yaml``."""

from collections.abc import Mapping

from gauntlet.core.files import write_atomic
from gauntlet.core.proc import CommandError, run
from gauntlet.images.bake import context_variable
from gauntlet.images.drivers.port import BuildStep
from gauntlet.images.model import BAKE

_ENV = "env"


class Buildx:
    """The driver. Each step is one target for one platform, exported as an OCI layout."""

    name = "buildx"

    def __init__(self, variables: Mapping[str, str]) -> None:
        """Take the variables of the bake file, which say where in the history we are."""
        self._variables = dict(variables)

    def commands(self, step: BuildStep) -> list[list[str]]:
        """One call of bake; its variables stand before it, as a shell would take them."""
        contexts = {context_variable(name): str(path) for name, path in step.contexts.items()}
        variables = sorted({**self._variables, **contexts}.items())
        return [[_ENV, *(f"{name}={value}" for name, value in variables), *_bake(step)]]

    def build(self, step: BuildStep) -> None:
        """Build one image. Raises CommandError with the last lines of the builder."""
        (command,) = self.commands(step)
        step.layout.mkdir(parents=True, exist_ok=True)
        try:
            done = run(command, cwd=step.root, timeout=step.timeout_s, supervised=True)
        except CommandError as error:
            said = f"{error.result.stdout}{error.result.stderr}" if error.result else ""
            write_atomic(step.log, said)
            raise
        write_atomic(step.log, f"{done.stdout}{done.stderr}")


def _bake(step: BuildStep) -> list[str]:
    settings = {
        "platform": [step.platform],
        # A layout, as buildah writes it: what comes after is the same for both.
        "output": [f"type=oci,dest={step.layout},tar=false,rewrite-timestamp=true"],
        "tags": [step.tag],
        "cache-from": [f"type=registry,ref={ref}" for ref in step.cache_from],
        "cache-to": [f"type=registry,ref={ref},mode=max,compression=zstd" for ref in step.cache_to],
        "secrets": [f"id={name},src={path}" for name, path in sorted(step.secrets.items())],
    }
    words = ["docker", "buildx", "bake", "--file", BAKE, "--progress", "plain"]
    # Provenance would hold a clock, and make a list of a single image.
    words += ["--provenance=false", "--sbom=false"]
    for key, values in settings.items():
        for number, value in enumerate(values):
            sign = "=" if number == 0 else "+="
            words += ["--set", f"{step.target}.{key}{sign}{value}"]
    maps = {"args": {**step.args, **step.bases}, "labels": step.labels}
    for key, pairs in maps.items():
        for name in sorted(pairs):
            words += ["--set", f"{step.target}.{key}.{name}={pairs[name]}"]
    return [*words, step.target]
