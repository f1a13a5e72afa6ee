"""A Docker client under the SDK's names: containers are processes of this machine.

Of the command, the container's port is replaced by the one that is published on the host, as
there is no network of its own here.
"""

import subprocess
import sys
import time

SIGNALLED = 128


class NotFound(Exception):  # noqa: N818 - the SDK's name
    __module__ = "docker.errors"


class Image:
    id = "sha256:local"

    def __init__(self):
        self.attrs = {"RepoDigests": ["registry/small@sha256:fake"]}


class Container:
    image = Image()

    def __init__(self, argv, labels):
        self.id = "c0ffee"
        self.labels = labels
        self.status = "created"
        self.removed = False
        self.oom = False
        self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.attrs = {}

    def reload(self):
        if self.removed:
            raise NotFound(self.id)
        code = self.process.poll()
        self.status = "running" if code is None else "exited"
        self.attrs = {
            "State": {
                "Pid": self.process.pid if code is None else 0,
                "ExitCode": 0 if code is None else SIGNALLED - code if code < 0 else code,
                "OOMKilled": self.oom,
                "Error": "",
            },
        }

    def logs(self, *, stream, follow):
        assert stream
        assert follow
        yield from self.process.stdout

    def stop(self, *, timeout):
        self.process.terminate()
        try:
            self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()

    def remove(self, *, force):
        if self.removed:
            raise NotFound(self.id)
        assert force
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.removed = True


class Containers:
    def __init__(self):
        self.all = []

    def run(self, image, command, *, detach, **options):
        assert detach
        ((inner, (host, port)),) = options["ports"].items()
        assert host == "127.0.0.1"
        if image == "unstartable":
            sleep = [sys.executable, "-c", "import time; time.sleep(60)"]
            self.all.append(Container(sleep, options["labels"]))
            raise NotFound("could not select device driver with capabilities: [[gpu]]")
        inner = inner.removesuffix("/tcp")
        argv = [sys.executable, *(str(port) if part == inner else part for part in command)]
        container = Container(argv, options["labels"])
        self.all.append(container)
        return container

    def list(self, *, all, filters):  # noqa: A002 - the SDK's name
        assert all
        key, _, value = filters["label"].partition("=")
        return [c for c in self.all if not c.removed and c.labels.get(key) == value]


class Client:
    def __init__(self):
        self.containers = Containers()

    def close(self):
        for container in self.containers.all:
            if not container.removed:
                container.remove(force=True)
        deadline = time.monotonic() + 5
        while any(c.process.poll() is None for c in self.containers.all):
            assert time.monotonic() < deadline
