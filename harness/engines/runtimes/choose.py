"""Pick the adapter of a placement."""

from pathlib import Path

from gauntlet.harness.engines.launch import Container, External, LaunchSpec, LocalProcess, Pod
from gauntlet.harness.engines.runtime import Runtime
from gauntlet.harness.engines.runtimes.docker import DockerRuntime
from gauntlet.harness.engines.runtimes.external import ExternalRuntime
from gauntlet.harness.engines.runtimes.kubernetes import KubernetesRuntime
from gauntlet.harness.engines.runtimes.process import ProcessRuntime


def runtime_for(spec: LaunchSpec, log: Path) -> Runtime:
    """Make the adapter for ``spec``; nothing is started. Raises UsageError for a bad URL."""
    match spec.where:
        case LocalProcess():
            return ProcessRuntime(spec, log)
        case Container():
            return DockerRuntime(spec, spec.where, log)
        case Pod():
            return KubernetesRuntime(spec, spec.where, log)
        case External():
            return ExternalRuntime(spec.where.url)
