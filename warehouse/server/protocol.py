"""ClickHouse's HTTP protocol, as far as it is text: what a request asks, how an answer reads.

Pure: no sockets and no engine. Reference: https://clickhouse.com/docs/interfaces/http
"""

import base64
import binascii
import json
import re
import secrets
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

SERVER_NAME = "gauntlet"
IDENT_HEADER = "X-Gauntlet-Server"
"""Tells which process answers: a port may by now belong to somebody else."""
DEFAULT_FORMAT = "TabSeparated"

BAD_ARGUMENTS = 36
NOT_IMPLEMENTED = 48
SYNTAX_ERROR = 62
UNKNOWN_FORMAT = 73
UNKNOWN_SETTING = 115
ABORTED = 236
NOT_ENOUGH_SPACE = 243
CANNOT_DECOMPRESS = 271
AUTHENTICATION_FAILED = 516
UNKNOWN_EXCEPTION = 1002

_NAMES = {
    BAD_ARGUMENTS: "BAD_ARGUMENTS",
    NOT_IMPLEMENTED: "NOT_IMPLEMENTED",
    SYNTAX_ERROR: "SYNTAX_ERROR",
    UNKNOWN_FORMAT: "UNKNOWN_FORMAT",
    UNKNOWN_SETTING: "UNKNOWN_SETTING",
    ABORTED: "ABORTED",
    NOT_ENOUGH_SPACE: "NOT_ENOUGH_SPACE",
    CANNOT_DECOMPRESS: "CANNOT_DECOMPRESS",
    AUTHENTICATION_FAILED: "AUTHENTICATION_FAILED",
    UNKNOWN_EXCEPTION: "UNKNOWN_EXCEPTION",
}
_BAD_REQUEST = {6, 26, 27, 36, 38, 41, 43, 47, 53, 62, 69, 70, 73, 115, 271, 456, 457}
_STATUS = {
    **dict.fromkeys(_BAD_REQUEST, 400),
    **dict.fromkeys((AUTHENTICATION_FAILED, 164, 497), 403),
    **dict.fromkeys((16, 46, 60, 81), 404),
    159: 408,
    NOT_IMPLEMENTED: 501,
    NOT_ENOUGH_SPACE: 507,
    ABORTED: 503,
}
_ENGINE_ERROR = re.compile(r"Code: (\d+)\.")
_LONGEST_ERROR = 16 << 10

# What the HTTP side consumes itself; every other URL parameter is a setting of the engine.
_TRANSPORT = frozenset(
    {
        "query",
        "database",
        "default_format",
        "query_id",
        "wait_end_of_query",
        "buffer_size",
        "session_id",
        "session_check",
        "session_timeout",
        "close_session",
        "client_protocol_version",
        "quota_key",
        "user",
        "password",
    }
)
_REFUSED = {
    "compress": "send and accept plain bodies, or Content-Encoding",
    "decompress": "use Content-Encoding: lz4, zstd, gzip or deflate",
    "role": "an embedded store has no roles",
}
_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_CONTENT_TYPES = {
    "TabSeparated": "text/tab-separated-values; charset=UTF-8",
    "TSV": "text/tab-separated-values; charset=UTF-8",
    "CSV": "text/csv; charset=UTF-8",
    "JSON": "application/json; charset=UTF-8",
    "JSONEachRow": "application/x-ndjson; charset=UTF-8",
}

Headers = Iterable[tuple[bytes, bytes]]


class RefusedError(Exception):
    """An answer that is an error: ClickHouse's code, its text, and the HTTP status."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text
        self.status = _STATUS.get(code, 500)


def refusal(code: int, reason: str) -> RefusedError:
    """Build an error in the words of the engine, so that clients find code and name in it."""
    return RefusedError(code, f"Code: {code}. DB::Exception: {reason}. ({_NAMES[code]})")


def engine_refusal(text: str) -> RefusedError:
    """Turn the text of an error of the engine into an answer; what stands before it is dropped."""
    match = _ENGINE_ERROR.search(text)
    if match is None:
        return refusal(UNKNOWN_EXCEPTION, text.strip() or "the engine gave no reason")
    return RefusedError(int(match[1]), text[match.start() :].strip())


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What one request asks, apart from its body."""

    query: bytes
    query_id: str
    database: str | None
    default_format: str
    settings: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, str] = field(default_factory=dict)
    encoding: str | None = None
    boundary: bytes | None = None
    in_session: bool = False
    wait: bool = False
    read_only: bool = False


def parse_request(method: str, query_string: bytes, headers: Headers) -> Request:
    """Read the URL and the headers of a request.

    Raises RefusedError for a method, a parameter or a value that this server does not know.
    """
    if method not in {"GET", "POST"}:
        raise refusal(NOT_IMPLEMENTED, f"method {method} is not served, GET and POST are")
    named = {name.lower(): value.decode("latin-1") for name, value in headers}
    text = query_string.decode("latin-1")
    url = dict(parse_qsl(text, keep_blank_values=True, errors="surrogateescape"))
    for name, remedy in _REFUSED.items():
        if url.pop(name, "0") not in {"", "0"}:
            raise refusal(NOT_IMPLEMENTED, f"the parameter {name} is not served: {remedy}")
    parameters = {key.removeprefix("param_"): url.pop(key) for key in parameter_names(url)}
    settings = {key: value for key, value in url.items() if key not in _TRANSPORT}
    for key in (*settings, *parameters):
        if not _WORD.fullmatch(key):
            raise refusal(UNKNOWN_SETTING, f"{key!r} is no name of a setting or parameter")
    default_format = (
        named.get(b"x-clickhouse-format") or url.get("default_format") or DEFAULT_FORMAT
    )
    if not _WORD.fullmatch(default_format):
        raise refusal(UNKNOWN_FORMAT, f"Unknown format {default_format}")
    query_id = url.get("query_id") or str(uuid.uuid4())
    if not (query_id.isascii() and query_id.isprintable()):
        raise refusal(BAD_ARGUMENTS, "query_id must be printable ASCII")
    return Request(
        query=url.get("query", "").encode(errors="surrogateescape"),
        query_id=query_id,
        database=url.get("database") or named.get(b"x-clickhouse-database") or None,
        default_format=default_format,
        settings=settings,
        parameters=parameters,
        encoding=_encoding(named.get(b"content-encoding")),
        boundary=_boundary(named.get(b"content-type", "")),
        in_session=bool(url.get("session_id")),
        wait=url.get("wait_end_of_query", "0") not in {"", "0"},
        read_only=method == "GET",
    )


def parameter_names(values: Mapping[str, str]) -> list[str]:
    """Names of the query's own parameters among those of a URL or a form."""
    return [key for key in values if key.startswith("param_")]


def _encoding(value: str | None) -> str | None:
    name = (value or "").strip().lower()
    return None if name in {"", "identity"} else name


def _boundary(content_type: str) -> bytes | None:
    kind, _, rest = content_type.partition(";")
    if kind.strip().lower() != "multipart/form-data":
        return None
    match = re.search(r'boundary="?([^";\s]+)"?', rest, re.IGNORECASE)
    if match is None:
        raise refusal(BAD_ARGUMENTS, "a form without a boundary in its Content-Type")
    return match[1].encode("latin-1")


def credential(headers: Headers) -> str | None:
    """The key that a request brings (header, Basic password or Bearer), None where it has none."""
    named = {name.lower(): value.decode("latin-1") for name, value in headers}
    if (key := named.get(b"x-clickhouse-key")) is not None:
        return key
    scheme, _, value = named.get(b"authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return value.strip()
    if scheme.lower() == "basic":
        try:
            user_and_password = base64.b64decode(value, validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            return ""
        return user_and_password.partition(":")[2]
    return None


def matches(given: str | None, token: str) -> bool:
    """Whether a credential is the token, in a time that does not tell how much of it is right."""
    return secrets.compare_digest((given or "").encode(), token.encode())


def content_type(name: str) -> str:
    """Content-Type of a result in a format of ClickHouse."""
    return _CONTENT_TYPES.get(name, "application/octet-stream")


def summary_header(counts: Mapping[str, int]) -> str:
    """X-ClickHouse-Summary: what was counted, as text; what was not counted is left out."""
    return json.dumps({name: str(value) for name, value in counts.items()}, separators=(",", ":"))


def exception_tag() -> str:
    """A word that no result contains by accident; it marks an error that comes after results."""
    return secrets.token_hex(8)


def exception_block(tag: str, text: str) -> bytes:
    """The end of a result that broke off: clients find the error by the tag in the headers."""
    message = text.encode(errors="backslashreplace")[:_LONGEST_ERROR]
    size = len(message)
    mark = b"__exception__"
    word = tag.encode()
    return b"\r\n%s\r\n%s\r\n%s\n%d %s\r\n%s\r\n" % (mark, word, message, size, word, mark)


def quote(value: str) -> str:
    """Write a value as a string literal of SQL."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def quote_name(name: str) -> str:
    """Write a name as an identifier of SQL."""
    escaped = name.replace("\\", "\\\\").replace("`", "\\`")
    return f"`{escaped}`"


def preamble(request: Request, *, comment: str) -> list[bytes]:
    """Statements that put a fresh connection into the state that the request asks for.

    ``comment`` marks the query among those that run, for whoever wants to end it.
    """
    given = request.settings.get("log_comment")
    settings = {
        **request.settings,
        **{f"param_{name}": value for name, value in request.parameters.items()},
        "log_comment": f"{given} {comment}" if given else comment,
    }
    if request.read_only:
        # Last, because it forbids some of the others.
        settings["readonly"] = "2"
    statements = [f"USE {quote_name(request.database)}"] if request.database else []
    statements.append(f"SET {', '.join(f'{key} = {quote(v)}' for key, v in settings.items())}")
    return [statement.encode(errors="surrogateescape") for statement in statements]
