import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from unit.pipelines.factories import sdist, write_tree

from gauntlet.core.errors import ExternalServiceError, UsageError
from gauntlet.pipelines.archive import unpack_definitions
from gauntlet.pipelines.sources import SourcePin, fetch_source, load_pins, open_source

MEMBERS = {
    "engine-1.0/.buildkite/ci_config.yaml": "name: x\n",
    "engine-1.0/.buildkite/run.sh": "true\n",
    "engine-1.0/engine/a.py": "",
    "engine-1.0/README.md": "",
}


class Index:
    """A package index on a local port; ``sha256`` is what it announces."""

    def __init__(self, tarball, sha256=None):
        self.body = tarball.read_bytes()
        self.sha256 = sha256 or hashlib.sha256(self.body).hexdigest()
        self.requests = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_port}/simple"

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _handler(self):
        index = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                index.requests.append(self.path)
                link = f"/files/engine-1.0.tar.gz#sha256={index.sha256}"
                page = f'<a href="{link}">engine-1.0.tar.gz</a>'.encode()
                found = {"/simple/engine/": ("text/html", page)}
                found["/files/engine-1.0.tar.gz"] = ("application/gzip", index.body)
                kind, body = found.get(self.path, (None, b""))
                self.send_response(200 if kind else 404)
                self.send_header("Content-Type", kind or "text/plain")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        return Handler


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def tarball(tmp_path):
    return sdist(tmp_path / "engine-1.0.tar.gz", MEMBERS)


def fetch(cache, index, **options):
    arguments = {"name": "engine", "version": "1.0", "pins": {}} | options
    return fetch_source(cache_dir=cache, index_url=index.url, **arguments)


def leftovers(cache):
    return [path.name for path in (cache / "engine-sources").iterdir() if path.name[0] == "."]


def test_a_source_is_fetched_once_and_then_read_from_the_cache(tmp_path, tarball):
    seen = []
    with Index(tarball) as index:
        first = fetch(tmp_path / "c", index, progress=lambda *now: seen.append(now))
        asked = len(index.requests)
        second = fetch(tmp_path / "c", index)
        assert len(index.requests) == asked == 2
    assert first == second
    assert first.files == (
        ".buildkite/ci_config.yaml",
        ".buildkite/run.sh",
        "README.md",
        "engine/a.py",
    )
    assert sorted(path.name for path in first.root.iterdir() if path.is_dir()) == [".buildkite"]
    assert seen[-1][0] == len(tarball.read_bytes())
    assert leftovers(tmp_path / "c") == []


@pytest.mark.parametrize(
    ("announced", "pinned"),
    [
        pytest.param("0" * 64, None, id="other than the index announces"),
        pytest.param(None, "0" * 64, id="other than is known"),
    ],
)
def test_a_wrong_hash_is_refused_and_leaves_nothing(tmp_path, tarball, announced, pinned):
    pins = {}
    if pinned:
        size = tarball.stat().st_size
        pins["engine", "1.0"] = SourcePin(name="engine", version="1.0", sha256=pinned, size=size)
    with Index(tarball, announced) as index, pytest.raises(ExternalServiceError):
        fetch(tmp_path / "c", index, pins=pins)
    assert list((tmp_path / "c" / "engine-sources").iterdir()) == []


def test_a_pinned_file_that_was_altered_in_the_cache_is_fetched_again(tmp_path, tarball):
    digest = hashlib.sha256(tarball.read_bytes()).hexdigest()
    pin = SourcePin(name="engine", version="1.0", sha256=digest, size=tarball.stat().st_size)
    store = tmp_path / "c" / "engine-sources"
    store.mkdir(parents=True)
    (store / "engine-1.0.tar.gz").write_bytes(b"half")
    with Index(tarball) as index:
        assert fetch(tmp_path / "c", index, pins={("engine", "1.0"): pin}).version == "1.0"


def test_an_unknown_version_names_the_ones_there_are(tmp_path, tarball):
    with Index(tarball) as index, pytest.raises(UsageError) as caught:
        fetch(tmp_path / "c", index, version="1.1")
    assert "nearest: 1.0" in caught.value.hint


def test_an_unknown_project_is_a_usage_error(tmp_path, tarball):
    with Index(tarball) as index, pytest.raises(UsageError, match="no project"):
        fetch(tmp_path / "c", index, name="motor")


def test_without_a_network_the_error_says_what_else_to_give(tmp_path, tarball):
    with Index(tarball) as index:
        pass
    with pytest.raises(ExternalServiceError, match="no connection") as caught:
        fetch(tmp_path / "c", index)
    assert "--engine-source DIR" in caught.value.hint
    assert "127.0.0.1" not in caught.value.message


@pytest.mark.parametrize(
    "version", [pytest.param("new", id="word"), pytest.param("../1", id="path")]
)
def test_a_version_that_is_none_is_refused(tmp_path, version):
    with pytest.raises(UsageError, match="not a version"):
        fetch_source(version=version, cache_dir=tmp_path)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("engine-1.0/../../evil", id="parent"),
        pytest.param("/etc/evil", id="absolute"),
        pytest.param("engine-1.0/.buildkite/../../../evil", id="parent below"),
    ],
)
def test_an_archive_that_leaves_its_folder_is_refused(tmp_path, name):
    path = sdist(tmp_path / "engine-1.0.tar.gz", MEMBERS | {name: "x"})
    with pytest.raises(ExternalServiceError, match="not safe"):
        unpack_definitions(path, tmp_path / "engine-1.0")
    assert list(tmp_path.iterdir()) == []


def test_links_are_left_out(tmp_path):
    links = {"engine-1.0/.buildkite/link.yaml": "/etc/passwd"}
    path = sdist(tmp_path / "engine-1.0.tar.gz", MEMBERS, links=links)
    unpack_definitions(path, tmp_path / "engine-1.0")
    assert not (tmp_path / "engine-1.0/.buildkite/link.yaml").exists()
    assert "link.yaml" not in (tmp_path / "engine-1.0/FILES.txt").read_text()


def test_half_an_archive_is_refused_and_removed(tmp_path):
    path = sdist(tmp_path / "engine-1.0.tar.gz", MEMBERS)
    path.write_bytes(path.read_bytes()[:-60])
    with pytest.raises(ExternalServiceError, match="not a whole archive"):
        unpack_definitions(path, tmp_path / "engine-1.0")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_listed_without_its_repository(tmp_path):
    root = write_tree(tmp_path)
    (root / ".git").mkdir()
    (root / ".git/HEAD").write_text("")
    assert open_source(root).files == (
        ".buildkite/areas/areas.yaml",
        ".buildkite/ci_config.yaml",
        ".buildkite/images/images.yaml",
    )


@pytest.mark.parametrize("make", [pytest.param(True, id="empty"), pytest.param(False, id="none")])
def test_a_folder_without_definitions_says_what_was_expected(tmp_path, make):
    root = tmp_path / "tree"
    if make:
        root.mkdir()
    with pytest.raises(UsageError) as caught:
        open_source(root)
    assert "source tree" in caught.value.hint


def test_known_versions_are_pinned():
    pins = load_pins()
    assert pins["vllm", "0.25.0"].sha256.startswith("7e04e2b3")
    assert pins["vllm", "0.25.0"].size == 37732784
