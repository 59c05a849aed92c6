# ruff: noqa: INP001, T201, S603, S607 - a script outside of the package
"""Builds every file of a release into a folder: `release_files.py FOLDER [--key KEY.pem]`.

Wheels of the server for each Python of this machine and the client's, sdists, npm packages, archives of the PHP and Go
clients, the WordPress plug-in, the Debian package, the container image, notes, SBOM, provenance, checksums and their
signature. The same commit gives the same files, except the package and the image of another machine.
"""

import argparse
import gzip
import hashlib
import io
import json
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from agentgate import __version__
from tools.release import ROOT, notes, sbom

NODE_PACKAGES = ("sdk", "packages/server", "packages/react", "packages/vue")
# Archives of clients whose package managers read a tag: name -> folder.
TAGGED = {"agentgate-php": "packages/php-client", "agentgate-go": "packages/go-client"}
WORDPRESS = "packages/wordpress/agentgate"
SUMS, SIGNATURE, PUBLIC_KEY = "SHA256SUMS", "SHA256SUMS.sig", "release-key.pem"
# The first moment of a ZIP archive.
ZIP_TIME = (1980, 1, 1, 0, 0, 0)


def build(folder: Path, *, key: Path | None = None, debian: bool = True) -> list[str]:
    """Build all files of the last commit into an empty folder; return the names of those that this machine lacks."""
    if folder.exists() and any(folder.iterdir()):
        raise SystemExit(f"{folder} is not empty; give a new folder")
    folder.mkdir(parents=True, exist_ok=True)
    missing: list[str] = []
    with _source() as (source, time_s):
        environment = {**os.environ, "SOURCE_DATE_EPOCH": str(time_s), "PYTHONHASHSEED": "0"}
        missing += _python(source, folder, environment)
        missing += _node(source, folder)
        for name, path in TAGGED.items():
            _tar(source / path, folder / f"{name}-{__version__}.tar.gz", name=f"{name}-{__version__}", time_s=time_s)
        _zip(source / WORDPRESS, folder / f"agentgate-wordpress-{__version__}.zip", name="agentgate")
        missing += _debian(source, folder, environment) if debian else ["Debian package"]
        missing += _image(source, folder, environment)
        _describe(source, folder)
    _sign(folder, key)
    return missing


@contextmanager
def _source() -> Iterator[tuple[Path, int]]:
    """Unpack the last commit; changes that are not committed are not released."""
    with tempfile.TemporaryDirectory() as place:
        source = Path(place) / "source"
        source.mkdir()
        archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", str(source)], input=archive, check=True)
        yield source, int(_git("log", "-1", "--format=%ct"))


def _python(source: Path, folder: Path, environment: dict[str, str]) -> Iterator[str]:
    """Build the distributions; the extension is compiled for each Python of the machine."""
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    found = {own: sys.executable}
    for line in _run(["scripts/interpreters", "all"], source).splitlines():
        version, path = line.split()
        found.setdefault(version.rpartition(".")[0], path)
    for version in ("3.11", "3.12", "3.13", "3.14"):
        if version not in found:
            yield f"wheel for Python {version}"
            continue
        python = sys.executable if version == own else _with_build_packages(Path(found[version]), source)
        hooks = ("build_sdist", "build_wheel") if version == own else ("build_wheel",)
        for hook in hooks:
            _hook(python, source, hook, folder, environment)
    for hook in ("build_sdist", "build_wheel"):
        _hook(sys.executable, source / "packages/python-client", hook, folder, environment)


def _with_build_packages(python: Path, source: Path) -> str:
    """Return a Python of another version with the locked build packages."""
    place = source.parent / f"build-{python.name}"
    subprocess.run([python, "-m", "venv", place], check=True)
    own = str(place / "bin" / "python")
    lock = str(source / "requirements/build.lock")
    command = [own, "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes", "-r", lock]
    subprocess.run(command, check=True)
    return own


def _hook(python: str, source: Path, hook: str, folder: Path, environment: dict[str, str]) -> None:
    call = f"import setuptools.build_meta as b; b.{hook}({str(folder.resolve())!r})"
    subprocess.run([python, "-c", call], cwd=source, env=environment, check=True, capture_output=True)
    shutil.rmtree(source / "build", ignore_errors=True)


def _node(source: Path, folder: Path) -> list[str]:
    if shutil.which("npm") is None:
        return ["npm packages"]
    for name in NODE_PACKAGES:
        command = ["npm", "pack", "--silent", "--ignore-scripts", "--pack-destination", str(folder.resolve())]
        subprocess.run(command, cwd=source / name, check=True, capture_output=True)
    return []


def _debian(source: Path, folder: Path, environment: dict[str, str]) -> list[str]:
    if shutil.which("dpkg-deb") is None:
        return ["Debian package"]
    subprocess.run(["deploy/debian/build", str(folder.resolve())], cwd=source, env=environment, check=True)
    return []


def _image(source: Path, folder: Path, environment: dict[str, str]) -> list[str]:
    """Build the container image from the Debian package, which needs root and mmdebstrap, but no container engine."""
    packages = sorted(folder.glob("agentgate-server_*.deb"))
    if not packages or os.geteuid() != 0 or shutil.which("mmdebstrap") is None:
        return ["container image"]
    target = folder.resolve() / f"agentgate-image-{__version__}-{packages[0].stem.rpartition('_')[2]}.tar"
    command = ["deploy/container/from-debian", str(packages[0].resolve()), str(target)]
    subprocess.run(command, cwd=source, env=environment, check=True)
    return []


def _tar(source: Path, target: Path, *, name: str, time_s: int) -> None:
    """Write files in order, owned by root, at the time of the commit."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for path in sorted(each for each in source.rglob("*") if each.is_file()):
            info = tarfile.TarInfo(f"{name}/{path.relative_to(source)}")
            info.size, info.mtime, info.mode = path.stat().st_size, time_s, 0o644
            archive.addfile(info, io.BytesIO(path.read_bytes()))
    target.write_bytes(gzip.compress(packed.getvalue(), mtime=0))


def _zip(source: Path, target: Path, *, name: str) -> None:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(each for each in source.rglob("*") if each.is_file()):
            info = zipfile.ZipInfo(f"{name}/{path.relative_to(source)}", ZIP_TIME)
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(info, path.read_bytes())


def _describe(source: Path, folder: Path) -> None:
    """Write notes, SBOM and provenance."""
    changelog = (source / "CHANGELOG.md").read_text(encoding="utf-8")
    part = __version__ if f"## {__version__}" in changelog or f"## [{__version__}]" in changelog else "Unreleased"
    (folder / "NOTES.md").write_text(notes(changelog, part), encoding="utf-8")
    node = json.loads((source / "package-lock.json").read_text(encoding="utf-8"))
    components = sbom((source / "requirements/run.lock").read_text(encoding="utf-8"), node, __version__)
    _write_json(folder / "sbom.cdx.json", components)
    _write_json(folder / "provenance.json", provenance(folder))


def provenance(folder: Path) -> dict[str, Any]:
    """Return what was built from which commit, as an in-toto statement (SLSA provenance 1)."""
    subjects = [{"name": name, "digest": {"sha256": digest}} for name, digest in digests(folder).items()]
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": subjects,
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "https://agentgate.example/build/make-release/v1",
                "externalParameters": {"version": __version__},
                "resolvedDependencies": [{"uri": "git", "digest": {"gitCommit": _git("rev-parse", "HEAD")}}],
            },
            "runDetails": {"builder": {"id": f"make release ({platform.system()} {platform.machine()})"}},
        },
    }


def digests(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each file, but of the list itself and of its signature."""
    names = sorted(each.name for each in folder.iterdir() if each.name not in {SUMS, SIGNATURE, PUBLIC_KEY})
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}


def _sign(folder: Path, key: Path | None) -> None:
    """Write the checksums, and with a key (Ed25519, PEM) their signature and the public key."""
    sums = "".join(f"{digest}  {name}\n" for name, digest in digests(folder).items())
    (folder / SUMS).write_text(sums, encoding="ascii")
    if key is None:
        return
    private = serialization.load_pem_private_key(key.read_bytes(), password=None)
    if not isinstance(private, Ed25519PrivateKey):
        raise SystemExit(f"{key} is not an Ed25519 key; create one with: openssl genpkey -algorithm ed25519 -out {key}")
    (folder / SIGNATURE).write_bytes(private.sign(sums.encode("ascii")))
    encoding, kind = serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    (folder / PUBLIC_KEY).write_bytes(private.public_key().public_bytes(encoding, kind))


def _write_json(path: Path, value: dict[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")


def _git(*arguments: str) -> str:
    return _run(["git", *arguments], ROOT).strip()


def _run(command: list[str], folder: Path) -> str:
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def main(arguments: list[str]) -> int:
    """Build a release."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="a new folder")
    parser.add_argument("--key", type=Path, help="private Ed25519 key of the release (PEM)")
    parser.add_argument("--without-debian", action="store_true", help="omit the Debian package")
    given = parser.parse_args(arguments)
    missing = build(given.folder, key=given.key, debian=not given.without_debian)
    print((given.folder / SUMS).read_text(encoding="ascii"), end="")
    for name in missing:
        print(f"not built on this machine: {name}")
    if given.key is None:
        print("not signed: give --key")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
