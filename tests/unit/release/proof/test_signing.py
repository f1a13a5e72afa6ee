"""Keys, signatures and envelopes: what holds, and everything that must not."""

import base64
import json
import shutil
import stat
import subprocess
import sys

import pytest

from gauntlet.core.errors import ConfigError, ExternalServiceError, UsageError
from gauntlet.release.proof import signers
from gauntlet.release.proof.envelope import (
    IN_TOTO,
    open_envelope,
    open_envelope_file,
    sign_envelope,
)
from gauntlet.release.proof.errors import ProofError
from gauntlet.release.proof.keys import load_private_key, load_public_key, new_key
from gauntlet.release.proof.signers import KeySigner, SigstoreSigner, verify_file


@pytest.fixture
def keys(tmp_path):
    """A pair of keys in files."""
    new_key(tmp_path / "release.key")
    private = load_private_key(tmp_path / "release.key")
    return private, load_public_key(tmp_path / "release.key.pub")


@pytest.fixture
def other(tmp_path):
    """The public key of somebody else."""
    return new_key(tmp_path / "other.key")


def test_a_new_key_is_private_and_never_overwritten(tmp_path):
    public = new_key(tmp_path / "deep" / "k")
    path = tmp_path / "deep" / "k"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    before = path.read_bytes()
    assert load_public_key(tmp_path / "deep" / "k.pub").key_id == public.key_id
    assert load_private_key(path).public.key_id == public.key_id
    assert "***" in repr(load_private_key(path))
    with pytest.raises(UsageError, match=r"k\.pub is there"):
        new_key(path)
    (tmp_path / "deep" / "k.pub").unlink()
    with pytest.raises(UsageError, match="k is there"):
        new_key(path)
    assert path.read_bytes() == before


def test_keys_that_are_none_or_open_to_others_are_refused(tmp_path, keys):
    path = tmp_path / "release.key"
    path.chmod(0o640)
    with pytest.raises(ConfigError, match="others than its owner"):
        load_private_key(path)
    path.chmod(0o600)
    with pytest.raises(ConfigError, match="expected an Ed25519 public key"):
        load_public_key(path)
    path.write_bytes(b"no key")
    with pytest.raises(ConfigError, match="expected an Ed25519 private key"):
        load_private_key(path)
    with pytest.raises(ConfigError, match="cannot be read"):
        load_public_key(tmp_path / "gone")


def test_keys_of_another_kind_are_refused(tmp_path):
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
        PublicFormat,
    )

    key = ec.generate_private_key(ec.SECP256R1())
    path = tmp_path / "ec"
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    path.chmod(0o600)
    with pytest.raises(ConfigError, match="not EC"):
        load_private_key(path)
    pem = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    path.write_bytes(pem)
    with pytest.raises(ConfigError, match="not EC"):
        load_public_key(path)


def test_a_file_is_signed_and_every_change_is_found(tmp_path, keys, other):
    private, public = keys
    path = tmp_path / "SHA256SUMS"
    path.write_text("sums\n")
    signature = KeySigner(private).sign_file(path)
    assert signature == tmp_path / "SHA256SUMS.sig"
    verify_file(path, public)
    with pytest.raises(ProofError, match="another key than"):
        verify_file(path, other)
    path.write_text("Sums\n")
    with pytest.raises(ProofError, match="it was changed"):
        verify_file(path, public)
    path.write_text("sums\n")
    signature.write_bytes(signature.read_bytes()[:-1])
    with pytest.raises(ProofError, match="SHA256SUMS"):
        verify_file(path, public)
    signature.unlink()
    with pytest.raises(ProofError, match=r"SHA256SUMS\.sig: cannot be read"):
        verify_file(path, public)


def test_openssl_checks_the_same_signature(tmp_path, keys):
    if not shutil.which("openssl"):
        pytest.skip("no openssl here")
    path = tmp_path / "SHA256SUMS"
    path.write_text("sums\n")
    signature = KeySigner(keys[0]).sign_file(path)
    command = ["openssl", "pkeyutl", "-verify", "-rawin", "-pubin", "-inkey"]
    command += [str(tmp_path / "release.key.pub"), "-in", str(path), "-sigfile", str(signature)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    path.write_text("others\n")
    assert subprocess.run(command, capture_output=True, check=False).returncode != 0


def test_what_must_not_be_signed_is_refused(tmp_path, keys, monkeypatch):
    signer = KeySigner(keys[0])
    path = tmp_path / "x"
    path.write_bytes(b"DSSEv1 28 application/vnd.in-toto+json 2 {}")
    with pytest.raises(UsageError, match="inside of an envelope"):
        signer.sign_file(path)
    monkeypatch.setattr(signers, "_LARGEST", 10)
    with pytest.raises(UsageError, match="larger than 10 bytes"):
        signer.sign_file(path)
    with pytest.raises(UsageError, match="cannot read"):
        signer.sign_file(tmp_path / "gone")
    assert not list(tmp_path.glob("*.sig"))


def test_an_envelope_gives_its_payload_to_the_right_key_alone(tmp_path, keys, other):
    private, public = keys
    data = sign_envelope(b'{"a": 1}', IN_TOTO, private)
    assert data == sign_envelope(b'{"a": 1}', IN_TOTO, private)
    assert open_envelope(data, IN_TOTO, public, what="x") == b'{"a": 1}'
    with pytest.raises(ProofError, match="another key than"):
        open_envelope(data, IN_TOTO, other, what="x")
    with pytest.raises(ProofError, match="expected 'text/plain'"):
        open_envelope(data, "text/plain", public, what="x")
    (tmp_path / "e").write_bytes(data)
    assert open_envelope_file(tmp_path / "e", IN_TOTO, public) == b'{"a": 1}'
    with pytest.raises(ProofError, match="cannot be read"):
        open_envelope_file(tmp_path / "gone", IN_TOTO, public)


def encoded(data):
    return base64.b64encode(data).decode()


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"payload": encoded(b'{"a": 2}')}, id="another payload"),
        pytest.param({"payloadType": "text/plain"}, id="another type"),
        pytest.param({"signatures": []}, id="unsigned"),
        pytest.param({"signatures": [{"keyid": "k", "sig": encoded(b"s" * 64)}]}, id="another key"),
        pytest.param({"signatures": [{"keyid": "k", "sig": "%"}]}, id="no signature"),
        pytest.param({"payload": 3}, id="no text"),
        pytest.param({"more": 3}, id="an unknown key"),
    ],
)
def test_an_envelope_that_was_changed_is_refused(keys, change):
    envelope = json.loads(sign_envelope(b'{"a": 1}', IN_TOTO, keys[0]))
    changed = json.dumps({**envelope, **change}).encode()
    kind = change.get("payloadType", IN_TOTO)
    with pytest.raises(ProofError, match="^x: "):
        open_envelope(changed, kind, keys[1], what="x")


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b"\xff"])
def test_what_is_no_envelope_is_refused(keys, data):
    with pytest.raises(ProofError, match="x: no signed envelope"):
        open_envelope(data, IN_TOTO, keys[1], what="x")


def test_without_a_program_sigstore_says_so_and_nothing_stays_unsigned(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="none is installed") as caught:
        SigstoreSigner.find()
    assert "key file" in caught.value.hint


def program(folder, name, body):
    path = folder / name
    path.write_text(f"#!{sys.executable}\nimport sys\nfrom pathlib import Path\n{body}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("name", ["cosign", "sigstore"])
def test_sigstore_signs_through_the_program_that_is_there(monkeypatch, tmp_path, name):
    bins = tmp_path / "bin"
    bins.mkdir()
    body = "Path(sys.argv[sys.argv.index('--bundle') + 1]).write_text(' '.join(sys.argv[1:]))"
    program(bins, name, body)
    monkeypatch.setenv("PATH", str(bins))
    path = tmp_path / "SHA256SUMS"
    path.write_text("sums\n")
    bundle = SigstoreSigner.find().sign_file(path)
    assert bundle == tmp_path / "SHA256SUMS.sigstore.json"
    assert bundle.read_text().startswith("sign-blob --yes" if name == "cosign" else "sign --over")


@pytest.mark.parametrize(
    ("body", "said"),
    [("sys.exit('no identity')", "no identity"), ("pass", "wrote no signature")],
)
def test_a_program_that_does_not_sign_is_an_error_and_an_old_signature_is_not_kept(
    tmp_path, body, said
):
    path = tmp_path / "SHA256SUMS"
    path.write_text("sums\n")
    old = tmp_path / "SHA256SUMS.sigstore.json"
    old.write_text("{}")
    with pytest.raises(ExternalServiceError, match=said):
        SigstoreSigner(str(program(tmp_path, "cosign", body))).sign_file(path)
    assert not old.exists()
