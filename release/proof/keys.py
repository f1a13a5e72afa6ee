"""Ed25519 keys in files: made, read, and used for signatures that openssl can check as well."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gauntlet.core.errors import ConfigError, InfrastructureError, Problem, UsageError
from gauntlet.core.files import write_atomic
from gauntlet.release.proof.errors import ProofError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )

PUBLIC_SUFFIX = ".pub"
_OTHERS = 0o077


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A key that signatures are checked with."""

    key: "Ed25519PublicKey"

    @property
    def key_id(self) -> str:
        """SHA-256 of the key as securesystemslib counts it."""
        # Public, and not marked as exported in its stubs.
        from securesystemslib.signer import SSlibKey  # type: ignore[attr-defined]

        return str(SSlibKey.from_crypto(self.key).keyid)

    @property
    def pem(self) -> bytes:
        """The key as a file holds it."""
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

        return self.key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)

    def verify(self, signature: bytes, data: bytes, *, what: str) -> None:
        """Raise ProofError unless this key signed just these bytes."""
        from cryptography.exceptions import InvalidSignature

        try:
            self.key.verify(signature, data)
        except InvalidSignature as error:
            msg = f"{what}: it was changed, or another key than {self.key_id[:16]} signed it"
            raise ProofError(
                msg, hint="do not use it; ask for the key and the file again"
            ) from error


@dataclass(frozen=True, slots=True)
class PrivateKey:
    """A key that signs. It is never printed."""

    key: "Ed25519PrivateKey"

    def __repr__(self) -> str:
        return "PrivateKey(***)"

    @property
    def public(self) -> PublicKey:
        """The key that others check with."""
        return PublicKey(self.key.public_key())

    def sign(self, data: bytes) -> bytes:
        """Sign bytes: 64 bytes, the same for the same data."""
        return self.key.sign(data)


def new_key(path: Path) -> PublicKey:
    """Make a key: the private part in ``path``, which only its owner can read, ``path.pub`` beside.

    Raises UsageError where one of the files is there: a key is never overwritten.
    """
    _need_cryptography()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    public_path = path.with_name(path.name + PUBLIC_SUFFIX)
    if public_path.exists():
        raise UsageError(f"{public_path} is there", hint="give the new key a name of its own")
    key = PrivateKey(Ed25519PrivateKey.generate())
    pem = key.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(pem)
            stream.flush()
            os.fsync(stream.fileno())
    except FileExistsError as error:
        raise UsageError(f"{path} is there", hint="give the new key a name of its own") from error
    except OSError as error:
        raise InfrastructureError(f"cannot write {path}: {error.strerror}") from error
    write_atomic(public_path, key.public.pem, fsync=True)
    return key.public


def load_private_key(path: Path) -> PrivateKey:
    """Read a private key; raises ConfigError where it is none, or where others can read it."""
    _need_cryptography()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    data = _read(path)
    if path.stat().st_mode & _OTHERS:
        message = "others than its owner can read this private key"
        raise ConfigError([Problem(file=str(path), message=message)], hint=f"chmod 600 {path}")
    try:
        key = load_pem_private_key(data, None)
    except (ValueError, TypeError) as error:
        raise _no_key(path, "an Ed25519 private key without a password, in PEM") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise _no_key(path, f"an Ed25519 private key, not {type(key).__name__}")
    return PrivateKey(key)


def load_public_key(path: Path) -> PublicKey:
    """Read a public key; raises ConfigError where it is none."""
    _need_cryptography()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        key = load_pem_public_key(_read(path))
    except ValueError as error:
        raise _no_key(path, "an Ed25519 public key in PEM") from error
    if not isinstance(key, Ed25519PublicKey):
        raise _no_key(path, f"an Ed25519 public key, not {type(key).__name__}")
    return PublicKey(key)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        message = f"cannot be read: {error.strerror}"
        raise ConfigError([Problem(file=str(path), message=message)]) from error


def _no_key(path: Path, expected: str) -> ConfigError:
    return ConfigError([Problem(file=str(path), message=f"expected {expected}")])


def _need_cryptography() -> None:
    try:
        import securesystemslib.signer  # noqa: F401
        from cryptography.hazmat.primitives.asymmetric import ed25519  # noqa: F401
    except ImportError as error:
        msg = "signing takes securesystemslib and cryptography"
        raise UsageError(msg, hint="pip install 'gauntlet[release]'") from error
