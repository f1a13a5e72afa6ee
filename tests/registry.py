"""A real registry on loopback with storage of its own, which a test may stop and start again."""

import shutil
import time
from contextlib import contextmanager

import httpx
import pytest
from ports import free_port

from gauntlet.core.proc import Service

PROGRAM = "docker-registry"


class Registry:
    """Listens on one port for all its life, and forgets nothing while it is stopped."""

    def __init__(self, folder):
        self.folder, self.port, self._service = folder, free_port(), None
        self.place = f"docker://127.0.0.1:{self.port}"
        folder.mkdir(parents=True, exist_ok=True)
        self._settings = folder / "registry.yml"
        self._settings.write_text(
            "version: 0.1\nlog: {level: error, accesslog: {disabled: true}}\n"
            f"storage: {{filesystem: {{rootdirectory: {folder / 'storage'}}}, "
            "delete: {enabled: true}}\n"
            f"http: {{addr: '127.0.0.1:{self.port}'}}\n"
        )

    def start(self):
        command = [PROGRAM, "serve", str(self._settings)]
        self._service = Service(command, log=self.folder / "registry.log", grace=0.5)
        url = f"http://127.0.0.1:{self.port}/v2/"
        transport = httpx.HTTPTransport(retries=0)
        with httpx.Client(transport=transport, trust_env=False) as client:
            for _ in range(600):
                assert self._service.returncode is None, self._service.log_tail()
                try:
                    if client.get(url).is_success:
                        return
                except httpx.TransportError:
                    time.sleep(0.02)
        raise AssertionError("the registry never listened")

    def stop(self):
        if self._service is not None:
            self._service.close()
            self._service = None


@contextmanager
def running_registry(folder):
    """Run one until the end; skip the test where the program is not installed."""
    if shutil.which(PROGRAM) is None or shutil.which("skopeo") is None:
        pytest.skip(f"{PROGRAM} and skopeo are not installed")
    registry = Registry(folder)
    registry.start()
    try:
        yield registry
    finally:
        registry.stop()
