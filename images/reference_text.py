"""References to images as people write them."""

from gauntlet.core.errors import UsageError
from gauntlet.images.oci.reference import Place, Reference


def read_reference(text: str) -> Reference:
    """Read ``PLACE/REPOSITORY:TAG`` or ``PLACE/REPOSITORY@DIGEST``. Raises UsageError.

    The repository is all after the host of a registry, and the last folder of a layout.
    """
    name, at, digest = text.partition("@")
    tag = ""
    if not at:
        name, _, tag = text.rpartition(":")
    scheme = "docker://" if name.startswith("docker://") else "oci:"
    host, _, repository = name.removeprefix(scheme).partition("/")
    if scheme == "oci:":
        host, _, repository = name.removeprefix(scheme).rpartition("/")
    if not name.startswith(scheme) or not host or not repository or not (tag or digest):
        hint = "write docker://HOST/REPOSITORY:TAG or oci:FOLDER/REPOSITORY:TAG"
        raise UsageError(f"{text!r} names no image", hint=hint)
    return Place.parse(f"{scheme}{host}").at(repository, tag=tag, digest=digest)
