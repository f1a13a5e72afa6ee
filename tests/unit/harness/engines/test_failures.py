import pytest

from gauntlet.harness.engines.failures import RULES, classify
from gauntlet.harness.engines.runtime import Ended

# The end of every failed start of vLLM, whatever the cause.
CONSEQUENCE = (
    "(EngineCore pid=7) ERROR 11-29 23:54:31 [core.py:866] EngineCore failed to start.\n"
    "{cause}\n"
    "(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. "
    "Failed core proc(s): {{}}\n"
)
ENGINE = "(EngineCore pid=7) "
SHORT_ON_MEMORY = (
    "ValueError: Free memory on device (3.1/79.2 GiB) on startup is less than desired GPU memory "
    "utilization (0.9, 71.3 GiB). Decrease GPU memory utilization or reduce GPU memory used by "
    "other processes."
)
NO_KV = (
    "ValueError: To serve at least one request with the models's max seq len (131072), (16.00 GiB "
    "KV cache is needed, which is larger than the available KV cache memory (10.01 GiB)."
)
UNKNOWN_ARCHITECTURE = (
    "pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig\n"
    "  Value error, Model architectures ['FooForCausalLM'] are not supported for now."
)


@pytest.mark.parametrize(
    ("cause", "failure"),
    [
        (
            ENGINE + "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0"
            " has a total capacity of 79.25 GiB.",
            "out_of_memory",
        ),
        (
            "torch.cuda.OutOfMemoryError: HIP out of memory. Tried",
            "out_of_memory",
        ),
        ("RuntimeError: CUDA error: out of memory", "out_of_memory"),
        (SHORT_ON_MEMORY, "out_of_memory"),
        (NO_KV, "out_of_memory"),
        (
            "ValueError: No available memory for the cache blocks.",
            "out_of_memory",
        ),
        (ENGINE + "MemoryError", "out_of_memory"),
        (
            "RuntimeError: [enforce fail] DefaultCPUAllocator: can't allocate",
            "out_of_memory",
        ),
        ("OSError: [Errno 12] Cannot allocate memory", "out_of_memory"),
        ("kernel: Out of memory: Killed process 812 (VLLM::EngineCor)", "out_of_memory"),
        (
            (
                "OSError: [Errno 98] error while attempting to bind on address ('0.0.0.0', 8000): "
                "address already in use"
            ),
            "port_in_use",
        ),
        ("cannot listen on 127.0.0.1 port 80: the port is taken", "port_in_use"),
        (
            (
                "OSError: foo/bar is not a local folder and is not a valid model identifier on "
                "'https://huggingface.co/models'"
            ),
            "model_not_found",
        ),
        (
            (
                "huggingface_hub.errors.RepositoryNotFoundError: 401 Client Error. Not Found"
                " for url: https://huggingface.co/api/models/foo/bar."
            ),
            "model_not_found",
        ),
        (
            "Invalid repository ID or local directory: './m'",
            "model_not_found",
        ),
        ("RuntimeError: Cannot find any model weights with `./m`", "model_not_found"),
        (
            (
                "OSError: We couldn't connect to 'https://huggingface.co' to load the files, and "
                "couldn't find them in the cached files."
            ),
            "weights_download",
        ),
        (
            (
                "requests.exceptions.HTTPError: 429 Client Error: Too Many Requests for url: "
                "https://huggingface.co/api/models/org/m/revision/main"
            ),
            "weights_download",
        ),
        ("huggingface_hub.errors.GatedRepoError: 403 Client Error.", "weights_download"),
        ("huggingface_hub.errors.LocalEntryNotFoundError: An error happened", "weights_download"),
        (UNKNOWN_ARCHITECTURE, "unsupported"),
        (
            "ValueError: Bfloat16 is only supported on GPUs with compute capability >= 8.0",
            "unsupported",
        ),
        ("RuntimeError: Failed to infer device type, please set it", "unsupported"),
        (
            "RuntimeError: CUDA error: no kernel image is available for execution on the device",
            "unsupported",
        ),
        ("ImportError: /v/_C.abi3.so: undefined symbol: _ZN3c104cuda9SetDevice", "unsupported"),
        ("ImportError: libcudart.so.13: cannot open shared object file", "unsupported"),
        ("vllm serve: error: unrecognized arguments: --max-modle-len 2048", "bad_arguments"),
        ("vllm serve: error: argument --tp: invalid int value: 'two'", "bad_arguments"),
        (
            "pydantic_core._pydantic_core.ValidationError: 1 validation error for SchedulerConfig",
            "bad_arguments",
        ),
        (
            (
                "ValueError: User-specified max_model_len (99999) is greater than the derived "
                "max_model_len (max_position_embeddings=4096)"
            ),
            "bad_arguments",
        ),
        ("KeyError: 'invalid tool call parser: foo (chose from { hermes })'", "bad_arguments"),
        (
            "ValueError: World size (8) is larger than the number of available GPUs",
            "bad_arguments",
        ),
        ("x.yaml:3: timing.decode_step: unknown key; did you mean 'y'?", "bad_arguments"),
        (
            ENGINE + "torch.AcceleratorError: CUDA error: an illegal memory access was encountered",
            "cuda_error",
        ),
        (
            (
                "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:3690, "
                "unhandled cuda error, NCCL version 2.27"
            ),
            "cuda_error",
        ),
        ("RuntimeError: CUDA error: uncorrectable ECC error encountered", "cuda_error"),
        ("RuntimeError: No CUDA GPUs are available", "cuda_error"),
        ("!!!!!!! Segfault encountered !!!!!!!", "crash"),
        ("Fatal Python error: Aborted", "crash"),
        (ENGINE + "AssertionError: block table is full", "crash"),
        (
            "(EngineCore pid=7) ERROR 11-29 23:54:31 [core.py:866] KeyError: 'layers.0'",
            "crash",
        ),
    ],
)
def test_the_cause_is_found_above_its_consequences(cause, failure):
    log = "INFO 11-29 23:53:45 [api_server.py:1] starting\n" + CONSEQUENCE.format(cause=cause)
    found = classify(log, Ended(status=1))
    assert found.failure == failure, found
    assert found.line in log


@pytest.mark.parametrize(
    "line",
    [
        "WARNING 11-29 23:53:45 [u.py:299] This can cause errors like `OSError: [Errno 98] x`.",
        "INFO 11-29 23:53:45 [a.py:1] If you see CUDA out of memory, lower max_num_seqs.",
        '(APIServer pid=1) INFO:     127.0.0.1:50248 - "POST /v1/completions HTTP/1.1" 200 OK',
    ],
)
def test_words_of_errors_in_warnings_are_no_errors(line):
    assert classify(line) is None
    assert classify(line, Ended(status=0)).failure == "unknown"


@pytest.mark.parametrize(
    ("ended", "failure", "said"),
    [
        (Ended(status=137), "killed", "SIGKILL"),
        (Ended(status=143), "killed", "SIGTERM"),
        (Ended(status=139), "crash", "SIGSEGV"),
        (Ended(status=137, reason="OOMKilled"), "out_of_memory", "memory limit"),
        (Ended(status=None, reason="the container was removed"), "unknown", "was removed"),
        (Ended(status=3), "unknown", "does not say"),
    ],
    ids=["kill", "term", "segv", "oom-killed", "removed", "silent"],
)
def test_without_a_word_in_the_log_the_status_tells(ended, failure, said):
    found = classify("all is well\n", ended)
    assert found.failure == failure
    assert said in found.why


def test_a_healthy_server_has_no_class(shared):
    assert classify((shared / "data" / "h200" / "server.log").read_text()) is None


def test_rules_have_names_of_their_own_and_say_why():
    assert len({rule.name for rule in RULES}) == len(RULES)
    assert all(rule.why for rule in RULES)


@pytest.mark.parametrize(
    ("ended", "text"),
    [
        (Ended(status=1), "with status 1"),
        (Ended(status=137), "with status 137 (SIGKILL)"),
        (Ended(status=137, reason="OOMKilled"), "with status 137 (SIGKILL, OOMKilled)"),
        (Ended(status=None, reason="removed"), "(removed)"),
        (Ended(status=250), "with status 250"),
        (Ended(status=None), "without a status"),
    ],
    ids=["plain", "signal", "reason", "no-status", "no-signal", "nothing"],
)
def test_an_end_in_words(ended, text):
    assert str(ended) == text
