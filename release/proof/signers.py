"""Signers: a key in a file, or Sigstore where the machine is online. None of them is optional."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from gauntlet.core.errors import ExternalServiceError, UsageError
from gauntlet.core.files import write_atomic
from gauntlet.core.proc import CommandError, run
from gauntlet.release.proof.envelope import IN_TOTO, sign_envelope
from gauntlet.release.proof.errors import ProofError
from gauntlet.release.proof.keys import PrivateKey, PublicKey
from gauntlet.release.proof.provenance import Statement, statement_bytes

SIGNATURE_SUFFIX = ".sig"
BUNDLE_SUFFIX = ".sigstore.json"
ENVELOPE_SUFFIX = ".intoto.jsonl"
STATEMENT_SUFFIX = ".intoto.json"
_LARGEST = 64 << 20
_ENVELOPE_BYTES = b"DSSEv1 "
_SIGSTORE_TIMEOUT_S = 300.0


class Signer(Protocol):
    """Signs files and statements; what it cannot sign is an error, never left unsigned."""

    def sign_file(self, path: Path) -> Path:
        """Sign a file; return the file with the signature, which is beside it."""
        ...

    def sign_statement(self, statement: Statement, base: Path) -> tuple[Path, ...]:
        """Write a signed statement; return its files, which are named after ``base``."""
        ...


@dataclass(frozen=True, slots=True)
class KeySigner:
    """Signs with a key file: raw Ed25519 signatures, and DSSE envelopes."""

    key: PrivateKey

    def sign_file(self, path: Path) -> Path:
        """Write ``path.sig``."""
        signature = self.key.sign(_signable(path))
        return write_atomic(beside(path, SIGNATURE_SUFFIX), signature, fsync=True)

    def sign_statement(self, statement: Statement, base: Path) -> tuple[Path, ...]:
        """Write ``base.intoto.jsonl``."""
        data = sign_envelope(statement_bytes(statement), IN_TOTO, self.key)
        return (write_atomic(beside(base, ENVELOPE_SUFFIX), data, fsync=True),)


@dataclass(frozen=True, slots=True)
class SigstoreSigner:
    """Signs through ``cosign`` or ``sigstore``, with the identity that the machine has there."""

    program: str

    @classmethod
    def find(cls) -> "SigstoreSigner":
        """Find a program; raises UsageError where none is installed."""
        for name in ("cosign", "sigstore"):
            if found := shutil.which(name):
                return cls(found)
        msg = "signing with Sigstore takes the program cosign or sigstore, and none is installed"
        raise UsageError(msg, hint="install one of them, or sign with a key file")

    def sign_file(self, path: Path) -> Path:
        """Write ``path.sigstore.json``; raises ExternalServiceError where Sigstore refuses."""
        _signable(path)
        bundle = beside(path, BUNDLE_SUFFIX)
        if Path(self.program).name == "cosign":
            command = [self.program, "sign-blob", "--yes", "--bundle", str(bundle), str(path)]
        else:
            command = [self.program, "sign", "--overwrite", "--bundle", str(bundle), str(path)]
        bundle.unlink(missing_ok=True)
        try:
            run(command, timeout=_SIGSTORE_TIMEOUT_S, supervised=True)
        except CommandError as error:
            msg = f"Sigstore did not sign {path}: {error.message}"
            hint = "is this machine online, with an identity? Otherwise sign with a key file"
            raise ExternalServiceError(msg, hint=hint) from error
        if not bundle.is_file() or not bundle.stat().st_size:
            msg = f"{self.program} ended well and wrote no signature to {bundle}"
            raise ExternalServiceError(msg, hint="try another version of it, or a key file")
        return bundle

    def sign_statement(self, statement: Statement, base: Path) -> tuple[Path, ...]:
        """Write ``base.intoto.json`` and its bundle."""
        path = beside(base, STATEMENT_SUFFIX)
        write_atomic(path, statement_bytes(statement), fsync=True)
        return path, self.sign_file(path)


def verify_file(path: Path, key: PublicKey, signature: Path | None = None) -> None:
    """Check ``path.sig``, or another file with the signature.

    Raises ProofError where a file is absent, was changed, or another key signed it.
    """
    signature = signature or beside(path, SIGNATURE_SUFFIX)
    try:
        data, signed = path.read_bytes(), signature.read_bytes()
    except OSError as error:
        msg = f"{error.filename}: cannot be read: {error.strerror}"
        raise ProofError(msg, hint="fetch the file and its signature again") from error
    key.verify(signed, data, what=str(path))


def beside(path: Path, suffix: str) -> Path:
    """The file of the same name with a suffix more."""
    return path.with_name(path.name + suffix)


def _signable(path: Path) -> bytes:
    """Read what is to be signed; raises UsageError for what a signature must not be given to."""
    try:
        if path.stat().st_size > _LARGEST:
            msg = f"{path} is larger than {_LARGEST} bytes"
            raise UsageError(msg, hint="sign the SHA256SUMS that lists it")
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    if data.startswith(_ENVELOPE_BYTES):
        # Its signature would be one of an envelope that nobody has seen.
        raise UsageError(f"{path} begins as the inside of an envelope does", hint="do not sign it")
    return data
