"""Folders of installed packages, as an installer leaves them."""

import base64
import hashlib
import json


def install(folder, name, version="1.0", *, files=None, direct_url=None, by="pip"):
    """Write one package and its dist-info; return the dist-info."""
    contents = files or {f"{name}/__init__.py": f"VERSION = {version!r}\n"}
    info = folder / f"{name}-{version}.dist-info"
    info.mkdir(parents=True)
    lines = []
    for path, text in contents.items():
        where = folder / path
        where.parent.mkdir(parents=True, exist_ok=True)
        where.write_text(text)
        value = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=")
        lines.append(f"{path},sha256={value.decode()},{len(text)}")
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "INSTALLER").write_text(by)
    lines.append(f"{info.name}/INSTALLER,sha256={by},{len(by)}")
    if direct_url is not None:
        (info / "direct_url.json").write_text(json.dumps(direct_url))
    (info / "RECORD").write_text("\n".join([*lines, f"{info.name}/RECORD,,", ""]))
    return info
