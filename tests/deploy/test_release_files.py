"""The files of a release: the same from the same commit, listed with their checksums, and signed."""

import hashlib
import json
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from agentgate import __version__
from tools import release_files
from tools.release import ROOT


@pytest.fixture
def key(tmp_path: Path) -> Path:
    private = Ed25519PrivateKey.generate()
    path = tmp_path / "release.key"
    form = serialization.PrivateFormat.PKCS8
    path.write_bytes(private.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
    return path


@pytest.fixture
def packed(tmp_path: Path, key: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A release without what takes long to build."""
    for name in ("_python", "_node"):
        monkeypatch.setattr(release_files, name, lambda *_: [])
    folder = tmp_path / "release"
    release_files.build(folder, key=key, debian=False)
    return folder


def test_each_file_is_listed_signed_and_in_the_provenance(packed: Path) -> None:
    sums = (packed / "SHA256SUMS").read_text()
    listed = {name: digest for digest, name in (line.split("  ") for line in sums.splitlines())}
    public = serialization.load_pem_public_key((packed / "release-key.pem").read_bytes())
    statement = json.loads((packed / "provenance.json").read_text())

    assert listed == {
        name: hashlib.sha256((packed / name).read_bytes()).hexdigest()
        for name in {each.name for each in packed.iterdir()} - {"SHA256SUMS", "SHA256SUMS.sig", "release-key.pem"}
    }
    public.verify((packed / "SHA256SUMS.sig").read_bytes(), sums.encode())
    with pytest.raises(InvalidSignature):
        public.verify((packed / "SHA256SUMS.sig").read_bytes(), sums.replace("a", "b", 1).encode())
    named = {each["name"] for each in statement["subject"]}
    assert {f"agentgate-wordpress-{__version__}.zip", "sbom.cdx.json", "NOTES.md"} <= named
    assert len(statement["predicate"]["buildDefinition"]["resolvedDependencies"][0]["digest"]["gitCommit"]) == 40


def test_archives_have_the_files_of_the_commit_and_are_the_same_twice(
    packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    again = tmp_path / "again"
    release_files.build(again, debian=False)

    for name in (f"agentgate-php-{__version__}.tar.gz", f"agentgate-go-{__version__}.tar.gz"):
        assert (packed / name).read_bytes() == (again / name).read_bytes()
    with zipfile.ZipFile(packed / f"agentgate-wordpress-{__version__}.zip") as plugin:
        assert "agentgate/agentgate.php" in plugin.namelist()
        assert plugin.read("agentgate/client.php") == (ROOT / "packages/php-client/src/agentgate.php").read_bytes()
    assert (packed / f"agentgate-wordpress-{__version__}.zip").read_bytes() == (
        again / f"agentgate-wordpress-{__version__}.zip"
    ).read_bytes()
    with tarfile.open(packed / f"agentgate-go-{__version__}.tar.gz") as client:
        assert f"agentgate-go-{__version__}/go.mod" in client.getnames()
    assert not (again / "SHA256SUMS.sig").exists()


def test_openssl_verifies_the_signature_as_the_check_does(packed: Path) -> None:
    command = ["openssl", "pkeyutl", "-verify", "-rawin", "-pubin", "-inkey", "release-key.pem"]
    done = subprocess.run([*command, "-sigfile", "SHA256SUMS.sig", "-in", "SHA256SUMS"], cwd=packed, check=False)

    assert done.returncode == 0


def test_a_folder_with_files_and_a_wrong_key_are_rejected(packed: Path, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="is not empty"):
        release_files.build(packed, debian=False)
    other = tmp_path / "x25519.key"
    subprocess.run(["openssl", "genpkey", "-algorithm", "x25519", "-out", other], check=True)
    with pytest.raises(SystemExit, match="not an Ed25519 key"):
        release_files.build(tmp_path / "wrong", key=other, debian=False)
