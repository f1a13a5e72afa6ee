"""Which signer a policy asks for. What cannot be signed is not published."""

import os
from collections.abc import Mapping
from pathlib import Path

from gauntlet.core.errors import UsageError
from gauntlet.release.proof.keys import load_private_key
from gauntlet.release.proof.signers import KeySigner, Signer, SigstoreSigner
from gauntlet.release.ship.settings import ShipSettings


def signer_of(
    settings: ShipSettings, key: Path | None, environment: Mapping[str, str] | None = None
) -> Signer:
    """The signer: a key file as given or as a variable names it, or Sigstore.

    Raises UsageError where neither is there.
    """
    if key is None and settings.signer == "sigstore":
        return SigstoreSigner.find()
    known = os.environ if environment is None else environment
    path = key or Path(known.get(settings.key_variable, ""))
    if path == Path():
        msg = f"nothing is published unsigned, and {settings.key_variable} names no key"
        hint = "make one with: release key FILE; then --key FILE, or export the variable"
        raise UsageError(msg, hint=hint)
    return KeySigner(load_private_key(path))
