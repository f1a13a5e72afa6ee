"""Names of tests: the node id by which a test is known, and the number that stands for it."""

from collections.abc import Iterable
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from gauntlet.warehouse.reports.varint import encode_length, encode_text

NAME_COLUMNS = ("test_id", "repository", "nodeid", "file", "batch")
# Tests whose rows are kept in memory, about 170 MB of them.
_MOST_KNOWN = 400_000


def nodeid_prefix(classname: str, file: str) -> str:
    """Return what stands before the ``::`` of a name, by the two attributes that may say it.

    Where ``file`` is the module that ``classname`` begins with, this is pytest's own node id:
    ``tests/a/test_b.py`` and ``tests.a.test_b.TestC`` give ``tests/a/test_b.py::TestC``. A file
    without a class name stands for itself. In every other case the class name is taken as it is:
    a file that does not fit it is where an inherited test was written (often a path inside
    ``site-packages``), not where it belongs.
    """
    path = file.replace("\\", "/").removeprefix("./")
    if not path:
        return classname
    if not classname:
        return path
    module = _module_of(path)
    if classname == module:
        return path
    if classname.startswith(f"{module}."):
        return f"{path}::{classname[len(module) + 1 :].replace('.', '::')}"
    return classname


def make_nodeid(classname: str, name: str, file: str) -> str:
    """Build the node id of a test from the attributes of its report (see ``nodeid_prefix``).

    pytest names a file that it could not collect like a module, without a class name; its node id
    is the file.
    """
    prefix = nodeid_prefix(classname, file)
    if not classname and prefix and name == _module_of(prefix):
        return prefix
    return f"{prefix}::{name}" if prefix else name


def _module_of(path: str) -> str:
    return path.removesuffix(".py").replace("/", ".")


def file_of(nodeid: str) -> str:
    """Return the file that a node id begins with, or "" where it begins with a class."""
    head = nodeid.partition("::")[0]
    return head if "/" in head or head.endswith(".py") else ""


class _Names(dict[str, bytes]):
    """Rows of the table ``tests`` for one repository, each made once per process."""

    def __init__(self, repository: str) -> None:
        super().__init__()
        self._start = blake2b(f"{repository}\0".encode(), digest_size=8)
        self._repository = encode_text(repository)
        self._files: dict[str, bytes] = {}

    def __missing__(self, nodeid: str) -> bytes:
        name = nodeid.encode()
        hasher = self._start.copy()
        hasher.update(name)
        head = nodeid.partition("::")[0]
        file = self._files.get(head)
        if file is None:
            file = self._files[head] = encode_text(file_of(nodeid))
        parts = (hasher.digest(), self._repository, encode_length(len(name)), name, file)
        row = self[nodeid] = b"".join(parts)
        return row


_KNOWN: dict[str, _Names] = {}


def forget_names() -> None:
    """Start anew, as in a new process; the ids will be the same."""
    _KNOWN.clear()


def name_rows(repository: str, nodeids: Iterable[str]) -> list[bytes]:
    """Return the rows of ``tests`` in RowBinary, in this order and without their batch.

    The first 8 bytes of a row are the test id.
    """
    if sum(map(len, _KNOWN.values())) > _MOST_KNOWN:
        _KNOWN.clear()
    known = _KNOWN.setdefault(repository, _Names(repository))
    return list(map(known.__getitem__, nodeids))


def ids_of(rows: Iterable[bytes]) -> npt.NDArray[np.uint64]:
    """Return the test ids of rows of ``tests``, in their order."""
    return np.frombuffer(b"".join([row[:8] for row in rows]), "<u8")


def test_id(repository: str, nodeid: str) -> int:
    """Return the number (UInt64) of a test: the same in every process and on every machine."""
    return int(ids_of(name_rows(repository, (nodeid,)))[0])


# pytest collects whatever is called test_*; this is no test.
test_id.__test__ = False  # type: ignore[attr-defined]
