"""Signed envelopes (DSSE): a payload, what it is, and who vouches for both."""

import json
from pathlib import Path

from pydantic import ConfigDict, Field, ValidationError

from gauntlet.core.yaml_file import StrictModel
from gauntlet.release.proof.errors import ProofError
from gauntlet.release.proof.keys import PrivateKey, PublicKey

IN_TOTO = "application/vnd.in-toto+json"


class _Signature(StrictModel):
    keyid: str
    sig: str


class _Envelope(StrictModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    payload: str
    payload_type: str = Field(alias="payloadType")
    signatures: tuple[_Signature, ...]


def sign_envelope(payload: bytes, payload_type: str, key: PrivateKey) -> bytes:
    """Put a payload into an envelope and sign it together with its type."""
    from securesystemslib.dsse import Envelope
    from securesystemslib.signer import CryptoSigner  # type: ignore[attr-defined]

    envelope = Envelope(payload, payload_type, {})
    envelope.sign(CryptoSigner(key.key))
    return (json.dumps(envelope.to_dict(), sort_keys=True) + "\n").encode()


def open_envelope(data: bytes, payload_type: str, key: PublicKey, *, what: str) -> bytes:
    """Return the payload, once the key's signature over it and its type was checked.

    Raises ProofError for another type, another key, changed bytes and what is no envelope.
    """
    from securesystemslib.dsse import Envelope
    from securesystemslib.exceptions import VerificationError
    from securesystemslib.signer import SSlibKey  # type: ignore[attr-defined]

    hint = "do not use it; ask for the key and the file again"
    try:
        plain = _Envelope.model_validate_json(data).model_dump(by_alias=True)
        envelope = Envelope.from_dict({**plain, "signatures": list(plain["signatures"])})
    except (ValidationError, ValueError, KeyError) as error:
        raise ProofError(f"{what}: no signed envelope", hint=hint) from error
    if envelope.payload_type != payload_type:
        msg = f"{what}: it holds {envelope.payload_type!r}, expected {payload_type!r}"
        raise ProofError(msg, hint=hint)
    try:
        envelope.verify([SSlibKey.from_crypto(key.key)], 1)
    except VerificationError as error:
        msg = f"{what}: it was changed, or another key than {key.key_id[:16]} signed it"
        raise ProofError(msg, hint=hint) from error
    return bytes(envelope.payload)


def open_envelope_file(path: Path, payload_type: str, key: PublicKey) -> bytes:
    """Return the payload of an envelope in a file; raises ProofError also where it is absent."""
    try:
        data = path.read_bytes()
    except OSError as error:
        msg = f"{path}: cannot be read: {error.strerror}"
        raise ProofError(msg, hint="fetch it again") from error
    return open_envelope(data, payload_type, key, what=str(path))
