"""Forms: the client sends long query parameters as the fields of one."""

import re
from dataclasses import replace

from gauntlet.warehouse.server.protocol import (
    BAD_ARGUMENTS,
    NOT_IMPLEMENTED,
    Request,
    parameter_names,
    refusal,
)

_NAME = re.compile(rb'\bname="([^"]*)"')
_FILE_NAME = re.compile(rb"\bfilename\*?=")


def merge_form(request: Request, body: bytes) -> Request:
    """Move the fields of the form (the query and its parameters) into the request.

    Raises RefusedError for a form that is cut, and for files (external data).
    """
    fields = _fields(body, request.boundary or b"")
    parameters = {name.removeprefix("param_"): fields[name] for name in parameter_names(fields)}
    return replace(
        request,
        query=fields.get("query", "").encode() or request.query,
        parameters={**request.parameters, **parameters},
        boundary=None,
    )


def _fields(body: bytes, boundary: bytes) -> dict[str, str]:
    delimiter = b"\r\n--" + boundary
    first, *parts = (b"\r\n" + body).split(delimiter)
    if first or not parts or not parts[-1].startswith(b"--"):
        raise refusal(BAD_ARGUMENTS, "the form in the body is cut or has another boundary")
    fields = {}
    for part in parts[:-1]:
        head, separator, value = part.partition(b"\r\n\r\n")
        name = _NAME.search(head)
        if name is None or not separator:
            raise refusal(BAD_ARGUMENTS, "a field of the form has no name")
        if _FILE_NAME.search(head):
            raise refusal(NOT_IMPLEMENTED, "external data is not served: insert it into a table")
        try:
            fields[name[1].decode()] = value.decode()
        except UnicodeDecodeError as error:
            raise refusal(BAD_ARGUMENTS, "a field of the form is not UTF-8") from error
    return fields
