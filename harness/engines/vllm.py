"""Start a real vLLM server: from its own virtual environment, or the command of one in an image."""

import re
from collections.abc import Sequence
from pathlib import Path

from gauntlet.core.errors import UsageError
from gauntlet.harness.engines.launch import GpuVendor, LaunchSpec
from gauntlet.harness.engines.ports import free_port

# A server of a test tells nobody about itself.
_QUIET = {"VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}
# Else a server asks the hub at start even for a local model, and hangs where there is no way out.
_OFFLINE = {"HF_HUB_OFFLINE": "1"}
_CPU = {"VLLM_TARGET_DEVICE": "cpu", "VLLM_CPU_KVCACHE_SPACE": "1"}
# Else the prefix cache cannot be reset between repetitions, nor the settings be asked.
_DEV_MODE = {"VLLM_SERVER_DEV_MODE": "1"}
_STOP_GRACE_S = 10.0
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(?:/[A-Za-z0-9][\w.-]*)?")


def serve_arguments(
    model: str,
    *,
    host: str,
    port: int,
    served_name: str | None = None,
    revision: str | None = None,
    tool_call_parser: str | None = None,
    arguments: Sequence[str] = (),
) -> list[str]:
    """Arguments of ``vllm serve``, also those of vLLM's images.

    Without ``tool_call_parser`` the chat endpoint refuses requests that offer tools.
    """
    argv = [model, "--host", host, "--port", str(port)]
    if served_name is not None:
        argv += ["--served-model-name", served_name]
    if revision is not None:
        argv += ["--revision", revision]
    if tool_call_parser is not None:
        argv += ["--enable-auto-tool-choice", "--tool-call-parser", tool_call_parser]
    return [*argv, *arguments]


def server_environment(*, cpu: bool, local: bool) -> dict[str, str]:
    """Variables that every vLLM server gets; ``local``: its model is a folder of this machine."""
    return {**_QUIET, **_DEV_MODE, **(_OFFLINE if local else {}), **(_CPU if cpu else {})}


def vllm_launch(
    environment: Path,
    model: Path | str,
    *,
    side: str,
    arguments: Sequence[str] = (),
    served_name: str | None = None,
    revision: str | None = None,
    tool_call_parser: str | None = None,
    cpu: bool = True,
    gpus: Sequence[str] = (),
    vendor: GpuVendor = "nvidia",
    ready_timeout_s: float = 300.0,
    commit: str | None = None,
) -> LaunchSpec:
    """Describe ``vllm serve`` of the virtual environment ``environment``.

    ``model`` is a folder, or the name of a model on the hub (``organisation/name``).
    Raises UsageError where there is no vLLM or no model.
    """
    binary = environment / "bin" / "vllm"
    if not binary.exists():
        msg = f"no vLLM in {environment}"
        raise UsageError(msg, hint="make engine builds it (3.8 GB), or give --engine-venv")
    name, local = _resolve_model(model)
    port = free_port()
    argv = [str(binary), "serve"]
    argv += serve_arguments(
        name,
        host="127.0.0.1",
        port=port,
        served_name=served_name,
        revision=revision,
        tool_call_parser=tool_call_parser,
        arguments=arguments,
    )
    return LaunchSpec(
        kind="vllm",
        label=f"vllm {' '.join(arguments)}".strip(),
        argv=tuple(argv),
        env=server_environment(cpu=cpu, local=local),
        port=port,
        model=served_name or name,
        gpus=tuple(gpus),
        vendor=vendor,
        ready_timeout_s=ready_timeout_s,
        stop_grace_s=_STOP_GRACE_S,
        commit=commit,
        configuration=f"{side}: {' '.join(argv)}",
    )


def _resolve_model(model: Path | str) -> tuple[str, bool]:
    """Name of the model for the command line, and whether it is a folder of this machine."""
    folder = Path(model)
    if isinstance(model, Path) or folder.is_dir() or not _HUB_ID.fullmatch(model):
        if not (folder / "config.json").exists():
            hint = "give a folder with a config.json, or organisation/name; make engine makes one"
            raise UsageError(f"no model in {model}", hint=hint)
        return str(model), True
    return model, False
