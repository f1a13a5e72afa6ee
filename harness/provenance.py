"""Where a number comes from, and which numbers may be compared."""

import os
import platform
from collections.abc import Mapping

from gauntlet.core.ids import digest

# Variables that change speed without changing a line of the engine.
_ENVIRONMENT = (
    "CUDA_VISIBLE_DEVICES",
    "LD_PRELOAD",
    "MALLOC_CONF",
    "MKL_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "VLLM_ATTENTION_BACKEND",
    "VLLM_CPU_KVCACHE_SPACE",
    "VLLM_CPU_OMP_THREADS_BIND",
)


def host_name() -> str:
    """Name of this machine."""
    return platform.node()


def environment_of(env: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the variables that may change a measurement, as they are set."""
    source = os.environ if env is None else env
    return {name: source[name] for name in _ENVIRONMENT if name in source}


def config_fingerprint(
    *,
    workload: Mapping[str, object],
    dataset_digest: str,
    engine_kind: str,
    model: str,
    client: str,
    client_version: str,
    point: str = "",
    configuration: Mapping[str, object] | None = None,
    accelerator: str | None = None,
    driver: str | None = None,
    env: Mapping[str, str] | None = None,
    drift: str = "",
) -> str:
    """Hash all that could change a number except the engine build; equal means comparable.

    ``drift`` says how the packages differ from those that the build was locked with. As locked
    they are a part of the build.
    """
    drifted = {"drift": drift} if drift else {}
    return digest(
        {
            **drifted,
            "workload": dict(workload),
            "dataset": dataset_digest,
            "engine_kind": engine_kind,
            "model": model,
            "point": point,
            "configuration": dict(configuration or {}),
            "accelerator": [accelerator, driver],
            "client": [client, client_version],
            "host": host_name(),
            "cpus": os.cpu_count(),
            "machine": platform.machine(),
            "environment": environment_of(env),
        }
    )
