"""A ``kubectl`` over a folder (``FAKE_KUBE``) instead of a cluster: one pod, which is a process.

Of the container's arguments, its port is replaced by a free one of this machine; port-forward leads
there, as it leads into a real pod.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

STATE = Path(os.environ["FAKE_KUBE"])
POD, PID, PORT, LOG, ENDED = (STATE / n for n in ("pod.json", "pid", "port", "log", "ended"))


def say(text):
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def apply():
    pod = json.load(sys.stdin)
    assert (pod["apiVersion"], pod["kind"]) == ("v1", "Pod")
    POD.write_text(json.dumps(pod))
    LOG.touch()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        PORT.write_text(str(probe.getsockname()[1]))
    subprocess.Popen(
        [sys.executable, __file__, "kubelet"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    say(f"pod/{pod['metadata']['name']} created")


def kubelet():
    (container,) = json.loads(POD.read_text())["spec"]["containers"]
    inner = str(container["ports"][0]["containerPort"])
    argv = [PORT.read_text() if part == inner else part for part in container["args"]]
    with LOG.open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, *argv], stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
        PID.write_text(str(process.pid))
        code = process.wait()
    ENDED.write_text(str(128 - code if code < 0 else code))


def get():
    if not POD.exists():
        return
    state, phase = {"waiting": {"reason": "ContainerCreating"}}, "Pending"
    if ENDED.exists():
        code = int(ENDED.read_text())
        state, phase = {"terminated": {"exitCode": code, "reason": "Error"}}, "Failed"
    elif PID.exists():
        state, phase = {"running": {}}, "Running"
    container = {"name": "engine", "state": state, "imageID": "registry/image@sha256:fake"}
    status = {"phase": phase, "podIP": "127.0.0.1", "containerStatuses": [container]}
    say(json.dumps({"kind": "Pod", "status": status}))


def logs():
    with LOG.open("rb") as log:
        while True:
            over = ENDED.exists() or not POD.exists()
            sys.stdout.buffer.write(log.read())
            sys.stdout.flush()
            if over:
                return
            time.sleep(0.02)


def forward(ports):
    listener = socket.create_server(("127.0.0.1", int(ports.partition(":")[0])))
    say("Forwarding")
    while True:
        client, _ = listener.accept()
        try:
            pod = socket.create_connection(("127.0.0.1", int(PORT.read_text())))
        except OSError:
            client.close()
            continue
        for source, target in ((client, pod), (pod, client)):
            threading.Thread(target=pipe, args=(source, target), daemon=True).start()


def pipe(source, target):
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
    for end in (source, target):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


def delete(grace):
    if not POD.exists():
        return
    pid = int(PID.read_text())
    for number, wait_s in ((signal.SIGTERM, grace), (signal.SIGKILL, 5)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
        deadline = time.monotonic() + wait_s
        while not ENDED.exists() and time.monotonic() < deadline:
            time.sleep(0.02)
    POD.unlink()


def main():
    words = [word for word in sys.argv[1:] if not word.startswith("--namespace=")]
    match words:
        case ["apply", "--filename=-"]:
            apply()
        case ["kubelet"]:
            kubelet()
        case ["get", "pod", _, "--output=json", "--ignore-not-found"]:
            get()
        case ["logs", "--follow", "--container=engine", *_]:
            logs()
        case ["port-forward", _, ports, "--address=127.0.0.1"]:
            forward(ports)
        case ["delete", "pod", _, "--ignore-not-found", grace, "--wait=true", _]:
            delete(int(grace.partition("=")[2]))
        case _:
            sys.exit(f"error: unknown command {words}")


if __name__ == "__main__":
    main()
