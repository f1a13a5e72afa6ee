import gzip
import tracemalloc
import zlib

import lz4.frame
import pytest
from backports import zstd
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.warehouse.server.body import PIECE_BYTES, decoder, new_spool, pieces, store
from gauntlet.warehouse.server.job import read_job
from gauntlet.warehouse.server.protocol import RefusedError, parse_request

ENCODERS = {
    "lz4": lz4.frame.compress,
    "zstd": zstd.compress,
    "gzip": gzip.compress,
    "deflate": zlib.compress,
}


def decoded(encoding, encoded, step):
    undo = decoder(encoding)
    found = [
        piece for at in range(0, len(encoded), step) for piece in undo.feed(encoded[at : at + step])
    ]
    undo.finish()
    return found


@pytest.mark.parametrize("encoding", ENCODERS)
@given(blocks=st.lists(st.binary(max_size=300), max_size=4), step=st.integers(1, 64))
def test_any_cut_of_the_encoded_data_gives_the_same(encoding, blocks, step):
    if encoding == "deflate":
        blocks = [b"".join(blocks)]
    encoded = b"".join(map(ENCODERS[encoding], blocks))
    assert b"".join(decoded(encoding, encoded, step)) == b"".join(blocks)


@pytest.mark.parametrize("encoding", ENCODERS)
def test_a_small_body_that_grows_large_comes_in_bounded_pieces(encoding):
    encoded = ENCODERS[encoding](bytes(64 * PIECE_BYTES))
    undo = decoder(encoding)
    tracemalloc.start()
    try:
        size = sum(map(len, undo.feed(encoded)))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    undo.finish()
    assert size == 64 * PIECE_BYTES
    assert peak < 8 * PIECE_BYTES


@pytest.mark.parametrize("encoding", ENCODERS)
@pytest.mark.parametrize("cut", [1, 4, 12])
def test_a_cut_body_is_refused(encoding, cut):
    encoded = ENCODERS[encoding](b"abc" * 1000)[:-cut]
    with pytest.raises(RefusedError, match="the data is cut") as caught:
        decoded(encoding, encoded, 1 << 20)
    assert caught.value.code == 271


@pytest.mark.parametrize("encoding", ENCODERS)
def test_a_body_that_is_not_encoded_as_it_says_is_refused(encoding):
    with pytest.raises(RefusedError, match=encoding):
        decoded(encoding, b"INSERT INTO t FORMAT CSV\n1", 1 << 20)


def test_an_unknown_encoding_is_refused_with_those_that_are_known():
    with pytest.raises(RefusedError, match="br is not served: lz4, zstd, gzip and deflate are"):
        decoder("br")


def test_a_full_disk_is_said_in_the_words_of_the_engine():
    class Full:
        def write(self, data):
            raise OSError(28, "No space left on device")

    with pytest.raises(RefusedError, match="NOT_ENOUGH_SPACE") as caught:
        store(Full(), b"x")
    assert caught.value.code == 243


@pytest.fixture
def job(tmp_path):
    """Reads the job of a request from its URL and body."""
    with new_spool(tmp_path) as spool:

        def read(url, body):
            store(spool, body)
            spool.seek(0)
            return read_job(parse_request("POST", url.encode(), []), spool)

        yield read


@pytest.mark.parametrize(
    ("url", "body", "sql", "data"),
    [
        pytest.param("", b"INSERT INTO t FORMAT CSV\n1\n2", b"INSERT INTO t ", b"1\n2", id="body"),
        pytest.param(
            "query=INSERT INTO t FORMAT CSV", b"1\n2\n", b"INSERT INTO t ", b"1\n2\n", id="url"
        ),
        pytest.param(
            "query=INSERT INTO t FORMAT CSV%0a", b"1", b"INSERT INTO t ", b"1", id="url and line"
        ),
        pytest.param(
            "query=INSERT INTO t VALUES (1),", b"(2)", b"INSERT INTO t ", b" (1),\n(2)", id="both"
        ),
        pytest.param("query=INSERT INTO", b"t FORMAT CSV\n1", b"INSERT INTO\nt ", b"1", id="cut"),
        pytest.param("query=INSERT INTO t FORMAT CSV", b"", b"INSERT INTO t ", b"", id="no data"),
        pytest.param("query=SELECT", b"1", b"SELECT\n1", b"", id="select"),
    ],
)  # fmt: skip
def test_the_statement_may_be_in_the_url_or_the_body_and_data_follows_it(job, url, body, sql, data):
    found = job(url, body)
    assert found.statement.sql == sql
    assert b"".join(found.data()) == data


def test_much_data_is_read_a_bounded_piece_at_a_time(job):
    body = b"INSERT INTO t FORMAT CSV\n" + b"1\n" * (4 * PIECE_BYTES)
    found = job("", body)
    sizes = [len(piece) for piece in found.data()]
    assert sum(sizes) == 8 * PIECE_BYTES
    assert max(sizes) <= PIECE_BYTES


@pytest.mark.parametrize(
    ("url", "body", "reason"),
    [
        pytest.param("", b"SELECT '" + b"x" * (4 << 20) + b"'", "longer than 4 MiB", id="long"),
        pytest.param("session_id=s", b"SET max_threads = 1", "nothing lasts", id="in a session"),
    ],
)
def test_a_statement_that_cannot_be_run_as_it_is_meant_is_refused(job, url, body, reason):
    with pytest.raises(RefusedError, match=reason):
        job(url, body)


@pytest.mark.parametrize(
    ("sql", "streams"),
    [
        pytest.param(b"SELECT 1 FORMAT Native", True, id="native"),
        pytest.param(b"SELECT 1", True, id="default"),
        pytest.param(b"SELECT 1 FORMAT Parquet", False, id="with a foot"),
        pytest.param(b"SELECT 1 FORMAT CSVWithNames", False, id="with a head"),
        pytest.param(b"SELECT sum(1) GROUP BY 1 WITH TOTALS", False, id="totals after the rows"),
    ],
)
def test_a_result_streams_where_its_blocks_may_follow_one_another(job, sql, streams):
    assert job("", sql).streams is streams


def test_a_spool_is_read_in_bounded_pieces(tmp_path):
    with new_spool(tmp_path) as spool:
        store(spool, bytes(3 * PIECE_BYTES + 1))
        spool.seek(0)
        assert [len(piece) for piece in pieces(spool)] == [PIECE_BYTES] * 3 + [1]
