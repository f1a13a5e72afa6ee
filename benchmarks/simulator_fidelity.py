"""Does the simulator take the time it is told to take, and what does it cost?

Prints, for 1, 4, 16 and 64 concurrent streams: configured and measured time per output token and
time to first token (medians over requests, ms), and CPU seconds of the simulator per 1,000 chunks.
The client reads raw sockets and does nothing per chunk but take the time. Keep the prompt short:
long prefills of some streams lengthen the steps of others, as in a real engine, and the settings
of this table do not count that.

    python benchmarks/simulator_fidelity.py [--step-ms 10] [--tokens 200] [--prompt 32]
"""

import argparse
import asyncio
import itertools
import json
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import uvloop

from gauntlet.core.proc import Service

OVERHEAD_MS, PREFILL_MS, PER_SEQ_MS = 2.0, 0.02, 0.02
FRESH = itertools.count(1)
SETTINGS = {
    "timing.request_overhead_ms": OVERHEAD_MS,
    "timing.prefill_ms_per_token": PREFILL_MS,
    "timing.decode_ms_per_seq": PER_SEQ_MS,
    "timing.noise_cv": 0,
    "timing.startup_s": 0,
}


async def http(port: int, request: bytes) -> tuple[bytes, list[float]]:
    """Send a request on a connection of its own; return the answer and the time of each read."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    parts, times = [], []
    while part := await reader.read(1 << 16):
        times.append(time.perf_counter())
        parts.append(part)
    writer.close()
    return b"".join(parts), times


async def get_state(port: int) -> dict:
    request = b"GET /simulator/state HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    answer, _ = await http(port, request)
    return json.loads(answer.split(b"\r\n\r\n", 1)[1])


async def stream(port: int, prompt: list[int], tokens: int) -> tuple[float, float]:
    """Run one request; return its TTFT and TPOT in ms. The first read holds the headers."""
    body = {"prompt": prompt, "max_tokens": tokens, "ignore_eos": True, "stream": True}
    raw = json.dumps(body).encode()
    head = "POST /v1/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
    started = time.perf_counter()
    answer, times = await http(port, f"{head}Content-Length: {len(raw)}\r\n\r\n".encode() + raw)
    count = answer.count(b'"text":')
    assert count == tokens, f"{count} chunks for {tokens} tokens"
    first, last = times[1], times[-1]
    return (first - started) * 1000, (last - first) / (tokens - 1) * 1000


async def level(port: int, streams: int, rounds: int, prompt: int, tokens: int) -> list[tuple]:
    """Keep ``streams`` requests in flight; every prompt is new, so that no prefix is cached."""
    results = []
    for _ in range(rounds):
        prompts = [[next(FRESH)] * prompt for _ in range(streams)]
        results += await asyncio.gather(*(stream(port, ids, tokens) for ids in prompts))
    return results


def ttft_ms(streams: int, step_ms: float, prompt: int) -> float:
    """Median TTFT that the model gives for requests that all come within one step.

    The first is alone in its step; the others, which hold the median, share the next.
    """
    alone = OVERHEAD_MS + step_ms + PREFILL_MS * prompt
    if streams == 1:
        return alone
    return alone + step_ms + PER_SEQ_MS + PREFILL_MS * prompt * (streams - 1)


async def measure(port: int, step_ms: float, prompt: int, tokens: int) -> None:
    print("streams  TPOT set  measured  error %   TTFT set  measured   CPU s/1000 chunks  CPU %")
    await level(port, 1, 2, prompt, tokens)
    for streams, rounds in ((1, 4), (4, 3), (16, 2), (64, 2)):
        before, began = await get_state(port), time.perf_counter()
        results = await level(port, streams, rounds, prompt, tokens)
        after, seconds = await get_state(port), time.perf_counter() - began
        cpu = after["cpu_s"] - before["cpu_s"]
        tpot_set = step_ms + PER_SEQ_MS * streams
        ttft, tpot = (median(values) for values in zip(*results, strict=True))
        print(
            f"{streams:7d} {tpot_set:9.3f} {tpot:9.3f} {100 * (tpot / tpot_set - 1):8.2f} "
            f"{ttft_ms(streams, step_ms, prompt):10.2f} {ttft:9.2f} "
            f"{1000 * cpu / (len(results) * tokens):19.4f} {100 * cpu / seconds:6.1f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--step-ms", type=float, default=10.0)
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--prompt", type=int, default=32)
    options = parser.parse_args()
    settings = {**SETTINGS, "timing.decode_step_ms": options.step_ms}
    with tempfile.TemporaryDirectory() as folder:
        port_file = Path(folder) / "port"
        argv = [sys.executable, "-m", "gauntlet", "simulator", "--port-file", str(port_file)]
        argv += [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]
        with Service(argv, log=Path(folder) / "log") as service:
            deadline = time.monotonic() + 15
            while not port_file.exists():
                if service.returncode is not None or time.monotonic() > deadline:
                    sys.exit(service.log_tail())
                time.sleep(0.05)
            port = int(port_file.read_text())
            uvloop.run(measure(port, options.step_ms, options.prompt, options.tokens))


if __name__ == "__main__":
    main()
