"""Where a release goes, and what it is signed with."""

from typing import Literal

from gauntlet.core.yaml_file import StrictModel


class ShipSettings(StrictModel):
    """The section ``publish`` of the policy; names of variables, never secrets."""

    index: str = ""
    """Folder that the package index is served from; empty: in the release's folder."""
    signer: Literal["key", "sigstore"] = "key"
    key_variable: str = "GAUNTLET_SIGNING_KEY"
    """The environment variable with the path of the private key."""
    public_key: str = ""
    """Path of the public key that ``release verify`` trusts."""
    builder: str = "gauntlet"
    """Who built it, as the provenance says: an address that stands for your builders."""
