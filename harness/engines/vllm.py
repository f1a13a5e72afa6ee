"""Start a real vLLM server from its own virtual environment."""

import os
import socket
from collections.abc import Sequence
from pathlib import Path

from gauntlet.core.errors import UsageError
from gauntlet.harness.engines.launch import LaunchSpec

# Else a server asks hubs and telemetry hosts at start, and hangs where there is no way out.
_OFFLINE = {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}
# Else the chat endpoint refuses every request that offers tools.
_TOOL_CALLS = ("--enable-auto-tool-choice", "--tool-call-parser", "hermes")
_CPU = {"VLLM_TARGET_DEVICE": "cpu", "VLLM_CPU_KVCACHE_SPACE": "1"}


def vllm_launch(
    environment: Path,
    model: Path,
    *,
    side: str,
    arguments: Sequence[str] = (),
    cpu: bool = True,
    ready_timeout_s: float = 300.0,
    commit: str | None = None,
) -> LaunchSpec:
    """Describe ``vllm serve`` of the virtual environment ``environment`` on a local model.

    Raises UsageError where there is no vLLM or no model.
    """
    binary = environment / "bin" / "vllm"
    if not binary.exists():
        msg = f"no vLLM in {environment}"
        raise UsageError(msg, hint="make engine builds it (3.8 GB), or give --engine-venv")
    if not (model / "config.json").exists():
        raise UsageError(f"no model in {model}", hint="make engine makes a tiny one")
    port = free_port()
    argv = [str(binary), "serve", str(model), "--served-model-name", "tiny"]
    argv += ["--host", "127.0.0.1", "--port", str(port), *_TOOL_CALLS, *arguments]
    return LaunchSpec(
        kind="vllm",
        label=f"vllm {' '.join(arguments)}".strip(),
        argv=tuple(argv),
        env={**os.environ, **_OFFLINE, **(_CPU if cpu else {})},
        port=port,
        ready_timeout_s=ready_timeout_s,
        commit=commit,
        configuration=f"{side}: {' '.join(argv)}",
    )


def free_port() -> int:
    """Return a port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
