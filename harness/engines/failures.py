"""Why an engine ended, told from the end of its log by vLLM's words; the first rule wins.

Causes stand before consequences: every death of a worker ends in the same last lines of the process
above it, and says nothing.
"""

import re
from dataclasses import dataclass
from typing import Literal

from gauntlet.harness.engines.runtime import Ended

FailureClass = Literal[
    "out_of_memory",
    "cuda_error",
    "port_in_use",
    "model_not_found",
    "bad_arguments",
    "weights_download",
    "unsupported",
    "killed",
    "crash",
    "unknown",
]


@dataclass(frozen=True, slots=True)
class Rule:
    """A line that names a cause, and what it means."""

    name: str
    failure: FailureClass
    pattern: re.Pattern[str]
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A class with the rule that chose it and the line that it was chosen by."""

    failure: FailureClass
    rule: str
    why: str
    line: str = ""

    def __str__(self) -> str:
        return f"{self.failure} ({self.why})"


def _rule(name: str, failure: FailureClass, pattern: str, why: str) -> Rule:
    return Rule(name, failure, re.compile(pattern), why)


RULES: tuple[Rule, ...] = (
    _rule(
        "port-in-use",
        "port_in_use",
        r"\[Errno 98\]|(?i:address already in use)|EADDRINUSE|the port is taken",
        "another program listens on its port",
    ),
    _rule(
        "gpu-out-of-memory",
        "out_of_memory",
        r"OutOfMemoryError|(?:CUDA|HIP) out of memory|(?:CUDA|HIP) error: out of memory"
        r"|cudaErrorMemoryAllocation|hipErrorOutOfMemory",
        "the accelerator has no memory left",
    ),
    _rule(
        "gpu-memory-taken",
        "out_of_memory",
        r"Free memory on device .*less than desired GPU memory utilization"
        r"|Error in memory profiling\. Initial free memory",
        "somebody else holds memory of the accelerator",
    ),
    _rule(
        "no-room-for-kv-cache",
        "out_of_memory",
        r"No available memory for the cache blocks|larger than the (?:available KV cache memory"
        r"|maximum number of tokens that can be stored in KV cache)",
        "weights leave too little memory for the KV cache",
    ),
    _rule(
        "shared-memory",
        "out_of_memory",
        r"insufficient shared memory|No space left on device: '/dev/shm"
        r"|unable to (?:open|allocate) shared memory",
        "shared memory (/dev/shm) is too small",
    ),
    _rule(
        "host-out-of-memory",
        "out_of_memory",
        r"^\W*(?:\S+ )*MemoryError\b|DefaultCPUAllocator: can't allocate|Cannot allocate memory"
        r"|Out of memory: Killed process|oom[-_]kill|std::bad_alloc",
        "the host has no memory left",
    ),
    _rule(
        "no-such-model",
        "model_not_found",
        r"RepositoryNotFoundError|RevisionNotFoundError|HFValidationError"
        r"|Repo id must be in the form"
        r"|is not a (?:local folder and is not a )?valid model identifier"
        r"|Invalid repository ID or local directory"
        r"|does not appear to have a file named config\.json"
        r"|Cannot find any model weights|(?:C|c)an't load the configuration of",
        "there is no such model, or its folder is incomplete",
    ),
    _rule(
        "gated-model",
        "weights_download",
        r"GatedRepoError|Access to model .* is restricted|You are trying to access a gated repo",
        "the hub wants a token with access to this model",
    ),
    _rule(
        "hub-unreachable",
        "weights_download",
        r"LocalEntryNotFoundError|HfHubHTTPError|OfflineModeIsEnabled"
        r"|We couldn't connect to 'https?:"
        r"|(?:Client|Server) Error: .* for url: https?://\S*(?:huggingface|hf\.co|modelscope)"
        r"|(?:huggingface\.co|hf\.co|modelscope\.cn)\S*.*(?:Max retries|Read timed out|Connection)"
        r"|Max retries exceeded .*(?:huggingface|hf\.co|modelscope)",
        "the weights could not be fetched from the hub",
    ),
    _rule(
        "weights-disk-full",
        "weights_download",
        r"Not enough free disk space to download|Data processing error: .*No space left",
        "there is no room on disk for the weights",
    ),
    _rule(
        "unsupported-model",
        "unsupported",
        r"Model architectures .* (?:are not supported|failed to be inspected)"
        r"|Transformers does not recognize this architecture"
        r"|Unknown quantization method|has no vLLM implementation",
        "this build does not know the model's architecture or quantisation",
    ),
    _rule(
        "unsupported-hardware",
        "unsupported",
        r"no kernel image is available|only supported on GPUs with compute capability"
        r"|is not supported (?:for|on|by) (?:the current|this) (?:GPU|device|platform|hardware)"
        r"|Minimum capability: \d+|Failed to infer device type|No valid attention backend"
        r"|CUDA driver version is insufficient|driver on your system is too old",
        "this build does not suit the accelerator or its driver",
    ),
    _rule(
        "broken-build",
        "unsupported",
        r"undefined symbol|version `(?:GLIBC|GLIBCXX|CXXABI)_\S+' not found"
        r"|ImportError: lib\S+: cannot open shared object|exec format error",
        "a binary of this build does not fit the machine",
    ),
    _rule(
        "argument-refused",
        "bad_arguments",
        r"error: (?:unrecognized arguments|argument |the following arguments are required"
        r"|ambiguous option)|validation errors? for \w*(?:Config|Args)\b"
        r"|invalid tool call parser|invalid reasoning parser|No such option|Missing option"
        r"|unknown key; |unknown key$",
        "an argument or setting is wrong",
    ),
    _rule(
        "argument-does-not-fit",
        "bad_arguments",
        r"User-specified max_model_len .* is greater than|must be divisible by (?:the )?tensor"
        r"|World size .* is larger than the number of available GPUs"
        r"|does not support (?:pipeline parallelism|LoRA)|Cannot find the chat template",
        "an argument does not fit the model or the machine",
    ),
    _rule(
        "gpu-lost",
        "cuda_error",
        r"GPU has fallen off the bus|uncorrectable ECC error|NVRM: Xid|No CUDA GPUs are available"
        r"|CUDA-capable device\(s\) is/are busy|unable to determine the device handle",
        "the accelerator is lost or broken",
    ),
    _rule(
        "collective",
        "cuda_error",
        r"NCCL (?:error|WARN .*(?:unhandled|failed))|ncclUnhandledCudaError|ncclSystemError"
        r"|ncclRemoteError|Watchdog caught collective operation timeout",
        "communication between accelerators failed",
    ),
    _rule(
        "gpu-error",
        "cuda_error",
        r"(?:CUDA|HIP|CUDA driver) error\b|AcceleratorError|device-side assert"
        r"|illegal memory access|CUBLAS_STATUS_|CUDNN_STATUS_|hipError\w+|cudaError\w+",
        "a kernel or the driver failed",
    ),
    _rule(
        "fatal-signal",
        "crash",
        r"Fatal Python error|[Ss]egfault encountered|Segmentation fault|\*\*\* SIG\w+"
        r"|terminate called after throwing|core dumped|Bus error|Illegal instruction",
        "a native part of the engine crashed",
    ),
    _rule(
        "uncaught-error",
        "crash",
        r"^(?:\([^)]*\) )?(?:ERROR \S+ \S+ \[[^\]]*\] )?(?:\w+\.)*\w+(?:Error|Exception)(?::|$)",
        "an error in the engine that nobody caught",
    ),
)

# Words of errors in warnings and explanations are no errors.
_HARMLESS = re.compile(r"\b(?:DEBUG|INFO|WARNING)\b(?: \d\d-\d\d|:)")
_OOM_REASONS = ("OOMKilled", "OutOfMemory")


def classify(log_tail: str, ended: Ended | None = None) -> Failure | None:
    """Name the cause of an end from the log's last lines and how it ended.

    None where nothing is wrong that these could show: no rule fits, and it did not end.
    """
    if ended is not None and any(word in ended.reason for word in _OOM_REASONS):
        why = "the platform killed it over its memory limit"
        return Failure(failure="out_of_memory", rule="platform-oom", why=why, line=ended.reason)
    lines = [line for line in log_tail.splitlines() if not _HARMLESS.search(line)]
    for rule in RULES:
        # The latest: a log may hold an earlier start too.
        for line in reversed(lines):
            if rule.pattern.search(line):
                return Failure(
                    failure=rule.failure, rule=rule.name, why=rule.why, line=line.strip()[:500]
                )
    return None if ended is None else _by_status(ended)


def _by_status(ended: Ended) -> Failure:
    number = ended.signal_name
    if number in {"SIGKILL", "SIGTERM", "SIGINT", "SIGHUP"}:
        why = f"{number} from outside, without a word in its log"
        if number == "SIGKILL":
            why += "; the kernel kills so where the host has no memory left (dmesg tells)"
        return Failure(failure="killed", rule="signal-from-outside", why=why)
    if number is not None:
        return Failure(failure="crash", rule="signal", why=f"{number}, without a word in its log")
    reason = ended.reason or "its log does not say why"
    return Failure(failure="unknown", rule="none", why=reason)
