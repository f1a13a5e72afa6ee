import pytest
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.harness.load.response import Broken, Response

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
EVENT = b"data: {}\n\n"
# Content that looks like the end of a chunked message, in the middle of one.
TRICK = b"data: 0\r\n\r\n"


def chunk(data, extension=b""):
    return f"{len(data):x}".encode() + extension + b"\r\n" + data + b"\r\n"


MESSAGES = {
    "chunked": CHUNKED + chunk(EVENT) + chunk(TRICK) + chunk(EVENT * 40) + b"0\r\n\r\n",
    "trailers": CHUNKED + chunk(EVENT, b";a=b") + b"0\r\nX-Sum: 1\r\nX-Two: 2\r\n\r\n",
    "length": HEAD + b"Content-Length: 11\r\n\r\n" + b"hello world",
    "empty": b"HTTP/1.1 204 No Content\r\n\r\n",
    "continued": b"HTTP/1.1 100 Continue\r\n\r\n" + HEAD + b"Content-Length: 2\r\n\r\nok",
}


def feed(pieces):
    """Feed pieces one after the other, as reads into one arena; return when it was complete."""
    response, arena = Response(), bytearray()
    for number, piece in enumerate(pieces):
        start = len(arena)
        arena += piece
        if response.feed(arena, start, len(arena)):
            return number, response
    return None, response


@pytest.mark.parametrize("name", MESSAGES)
@given(cuts=st.lists(st.integers(1, 60), max_size=80))
def test_the_end_is_found_however_the_network_cuts(name, cuts):
    raw = MESSAGES[name]
    pieces, start = [], 0
    for size in cuts:
        if start + size < len(raw):
            pieces.append(raw[start : start + size])
            start += size
    pieces.append(raw[start:])
    done, response = feed(pieces)
    assert done == len(pieces) - 1, "complete with the last byte, and not before"
    assert response.status in {200, 204}
    assert response.keep_alive


def test_a_message_without_length_ends_with_its_connection():
    done, response = feed([HEAD + b"\r\nsome", b"more"])
    assert done is None
    assert response.ends_with_connection()
    assert not response.keep_alive


def test_a_server_that_closes_says_so():
    closing = CHUNKED.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    done, response = feed([closing, b"0\r\n\r\n"])
    assert done == 1
    assert not response.keep_alive


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b"SSH-2.0-OpenSSH\r\n\r\n", id="not-http"),
        pytest.param(CHUNKED + b"xyz\r\n", id="size-is-no-number"),
        pytest.param(CHUNKED + b"1" * 70_000, id="endless-size"),
        pytest.param(b"HTTP/1.1 200 OK\r\nX: " + b"a" * 70_000, id="endless-head"),
    ],
)
def test_what_is_no_http_is_broken(raw):
    with pytest.raises(Broken):
        feed([raw])
