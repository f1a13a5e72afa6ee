"""Pages of the index for people, for pip (PEP 503) and for programs (PEP 691)."""

import json
from collections.abc import Iterable, Sequence
from hashlib import sha256
from html import escape
from urllib.parse import quote

from gauntlet.release.index.listing import IndexFile

MARK = '<meta name="generator" content="gauntlet index">'
"""Stands in every page: a page without it was made by somebody else and is left alone."""
_API = "1.1"
_HEAD = (
    f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n{MARK}\n'
    f'<meta name="pypi:repository-version" content="{_API}">\n<title>{{title}}</title>\n'
    "</head>\n<body>\n"
)
_TAIL = "</body>\n</html>\n"


def project_list(names: Iterable[str]) -> dict[str, bytes]:
    """Pages of one index: which projects it has."""
    known = sorted(set(names))
    links = "".join(f'<a href="{quote(name)}/">{escape(name)}</a><br>\n' for name in known)
    told = {"meta": {"api-version": _API}, "projects": [{"name": name} for name in known]}
    html = _HEAD.format(title="Simple index") + links + _TAIL
    return {"index.html": html.encode(), "index.json": _json(told)}


def project_page(name: str, files: Sequence[IndexFile], up: str) -> dict[str, bytes]:
    """Pages of one project. ``up`` leads from the page to the folder that holds the commits."""
    files = sorted(files, key=lambda file: (file.version, file.name))
    links = "".join(_link(file, up) for file in files)
    html = _HEAD.format(title=f"Links for {escape(name)}") + links + _TAIL
    told = {
        "meta": {"api-version": _API},
        "name": name,
        "versions": sorted({str(file.version) for file in files}),
        "files": [_file(file, up) for file in files],
    }
    rows = [_row(file, up) for file in files]
    return {"index.html": html.encode(), "index.json": _json(told), "metadata.json": _json(rows)}


def url_of(file: IndexFile, up: str) -> str:
    """Relative address of a file; ``+`` and the like are quoted."""
    return f"{up}{file.commit}/{quote(file.name, safe='')}"


def _link(file: IndexFile, up: str) -> str:
    attributes = ""
    if file.requires_python:
        attributes += f' data-requires-python="{escape(file.requires_python)}"'
    if file.metadata is not None:
        digest = sha256(file.metadata).hexdigest()
        # The first name is the one that was meant, the second the one that older servers gave.
        for key in ("core-metadata", "dist-info-metadata"):
            attributes += f' data-{key}="sha256={digest}"'
    address = f"{url_of(file, up)}#sha256={file.sha256}"
    return f'<a href="{address}"{attributes}>{escape(file.name)}</a><br>\n'


def _file(file: IndexFile, up: str) -> dict[str, object]:
    told: dict[str, object] = {
        "filename": file.name,
        "url": url_of(file, up),
        "hashes": {"sha256": file.sha256},
        "size": file.size_bytes,
    }
    if file.requires_python:
        told["requires-python"] = file.requires_python
    if file.metadata is not None:
        digest = {"sha256": sha256(file.metadata).hexdigest()}
        told |= {"core-metadata": digest, "dist-info-metadata": digest}
    return told


def _row(file: IndexFile, up: str) -> dict[str, object]:
    parts = file.name.removesuffix(".whl").split("-")
    python, abi, platform = file.tags
    return {
        "package_name": file.project,
        "version": str(file.version),
        "build_tag": parts[2] if python and len(parts) == 6 else None,
        "python_tag": python or None,
        "abi_tag": abi or None,
        "platform_tag": platform or None,
        "variant": file.variant or "default",
        "filename": file.name,
        "path": url_of(file, up),
    }


def _json(value: object) -> bytes:
    return (json.dumps(value, indent=1, sort_keys=True) + "\n").encode()
