"""Small images, made byte by byte: no builder, and whatever is wrong with them on purpose."""

import gzip
import hashlib
import io
import json
import tarfile

OCI = "application/vnd.oci.image"
NAME = "org.opencontainers.image.ref.name"
COMMIT = "c" * 40
LABELS = {
    "org.opencontainers.image.version": "1.2.0",
    "org.opencontainers.image.revision": COMMIT,
    "org.opencontainers.image.source": "https://code.example.org/acme/engine",
    "org.opencontainers.image.created": "2026-11-20T12:00:00Z",
}


def digest_of(data):
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def layer_tar(files):
    """Files by path: bytes, None for a folder, ("link", to) or ("hard", to)."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        for path, content in files.items():
            member = tarfile.TarInfo(path)
            if content is None:
                member.type = tarfile.DIRTYPE
            elif isinstance(content, tuple):
                member.type = tarfile.SYMTYPE if content[0] == "link" else tarfile.LNKTYPE
                member.linkname = content[1]
            else:
                member.size = len(content)
            tar.addfile(member, io.BytesIO(content) if isinstance(content, bytes) else None)
    return stream.getvalue()


class SmallImage:
    """One image of one platform: its manifest and all blobs."""

    def __init__(self, platform="linux/amd64", *, layers=({"a": b"a"},), labels=None, run=None):
        system, _, machine = platform.partition("/")
        self.platform, self.blobs = platform, {}
        tars = [layer_tar(files) for files in layers]
        packed = [gzip.compress(tar, mtime=0) for tar in tars]
        settings = {
            "User": "engine",
            "Entrypoint": ["/usr/bin/engine"],
            "Env": ["PATH=/usr/bin", "MODE=a=b"],
            "Labels": LABELS if labels is None else labels,
            **(run or {}),
        }
        config = {
            "created": "2026-11-20T12:00:00Z",
            "architecture": machine,
            "os": system,
            "config": settings,
            "rootfs": {"type": "layers", "diff_ids": [digest_of(tar) for tar in tars]},
        }
        manifest = {
            "schemaVersion": 2,
            "mediaType": f"{OCI}.manifest.v1+json",
            "config": self._blob(json.dumps(config).encode(), f"{OCI}.config.v1+json"),
            "layers": [self._blob(data, f"{OCI}.layer.v1.tar+gzip") for data in packed],
        }
        self.layers = packed
        self.config = json.dumps(config).encode()
        self.raw = json.dumps(manifest).encode()
        self.descriptor = self._blob(self.raw, f"{OCI}.manifest.v1+json")
        self.digest = self.descriptor["digest"]
        self.size = len(self.raw)

    def _blob(self, data, media_type):
        self.blobs[digest_of(data)] = data
        return {"mediaType": media_type, "digest": digest_of(data), "size": len(data)}


def write_layout(folder, images):
    """Write images by tag as an OCI layout, beside what is there."""
    blobs = folder / "blobs" / "sha256"
    blobs.mkdir(parents=True, exist_ok=True)
    (folder / "oci-layout").write_text('{"imageLayoutVersion":"1.0.0"}')
    index = folder / "index.json"
    known = json.loads(index.read_text())["manifests"] if index.exists() else []
    for tag, image in images.items():
        for digest, data in image.blobs.items():
            (blobs / digest.removeprefix("sha256:")).write_bytes(data)
        known.append({**image.descriptor, "annotations": {NAME: tag}})
    index.write_text(json.dumps({"schemaVersion": 2, "manifests": known}))
    return folder
