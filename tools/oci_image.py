# ruff: noqa: INP001, T201 - a script outside of the package
"""Makes a container image of a root file system, without a container engine: `oci_image.py ROOT.tar IMAGE.tar`.

The archive is an OCI image layout and also what `docker save` writes: podman, skopeo and docker load it. Needs the
standard library only. The same root and SOURCE_DATE_EPOCH give the same bytes.
"""

import argparse
import gzip
import hashlib
import io
import json
import os
import platform
import tarfile
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
CHUNK = 1 << 20
# The same as in the Containerfile.
CONFIG = {
    "User": "65532:65532",
    "Env": [
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "PYTHONDONTWRITEBYTECODE=1",
        "AGENTGATE_DATA_DIR=/data",
        "AGENTGATE_PUBLIC_LISTEN=0.0.0.0:8080",
        "AGENTGATE_ADMIN_LISTEN=0.0.0.0:8081",
    ],
    "Entrypoint": ["agentgate"],
    "Cmd": ["serve"],
    "ExposedPorts": {"8080/tcp": {}, "8081/tcp": {}},
    "Volumes": {"/data": {}},
    "StopSignal": "SIGTERM",
}
_OCI = "application/vnd.oci.image"


class Blobs:
    """Files of the layout, each under its digest."""

    def __init__(self, archive: tarfile.TarFile, time_s: int) -> None:
        self._archive = archive
        self._time_s = time_s

    def add(self, name: str, content: BinaryIO, size: int) -> None:
        """Write a file."""
        info = tarfile.TarInfo(name)
        info.size, info.mtime, info.mode = size, self._time_s, 0o644
        self._archive.addfile(info, content)

    def add_json(self, value: Any, name: str = "") -> dict[str, Any]:
        """Write JSON, under its digest if it has no name; return digest and size."""
        text = json.dumps(value, separators=(",", ":"), sort_keys=True).encode()
        digest = hashlib.sha256(text).hexdigest()
        self.add(name or f"blobs/sha256/{digest}", io.BytesIO(text), len(text))
        return {"digest": f"sha256:{digest}", "size": len(text)}


def make_image(root: Path, image: Path, *, tag: str, time_s: int) -> None:
    """Write the image of a root file system with one layer."""
    plain, packed, size = hashlib.sha256(), hashlib.sha256(), 0
    with tempfile.TemporaryFile(dir=image.parent) as layer, tarfile.open(image, "w") as archive:
        # No name and no time in the header, so that the bytes depend on the content only.
        with root.open("rb") as content, gzip.GzipFile("", "wb", 6, layer, 0) as zipped:
            while chunk := content.read(CHUNK):
                plain.update(chunk)
                zipped.write(chunk)
        layer.seek(0)
        while chunk := layer.read(CHUNK):
            packed.update(chunk)
            size += len(chunk)
        layer.seek(0)
        blobs = Blobs(archive, time_s)
        layer_path = f"blobs/sha256/{packed.hexdigest()}"
        blobs.add(layer_path, layer, size)
        config = blobs.add_json(
            {
                "architecture": ARCHITECTURES.get(platform.machine(), platform.machine()),
                "os": "linux",
                "created": datetime.fromtimestamp(time_s, UTC).isoformat().replace("+00:00", "Z"),
                "config": CONFIG,
                "rootfs": {"type": "layers", "diff_ids": [f"sha256:{plain.hexdigest()}"]},
            }
        )
        manifest = blobs.add_json(
            {
                "schemaVersion": 2,
                "mediaType": f"{_OCI}.manifest.v1+json",
                "config": {"mediaType": f"{_OCI}.config.v1+json", **config},
                "layers": [
                    {"mediaType": f"{_OCI}.layer.v1.tar+gzip", "digest": f"sha256:{packed.hexdigest()}", "size": size}
                ],
            }
        )
        named = {"org.opencontainers.image.ref.name": tag.rpartition(":")[2], "io.containerd.image.name": tag}
        entry = {"mediaType": f"{_OCI}.manifest.v1+json", **manifest, "annotations": named}
        blobs.add_json({"schemaVersion": 2, "manifests": [entry]}, "index.json")
        blobs.add_json({"imageLayoutVersion": "1.0.0"}, "oci-layout")
        config_path = f"blobs/sha256/{config['digest'].partition(':')[2]}"
        blobs.add_json([{"Config": config_path, "RepoTags": [tag], "Layers": [layer_path]}], "manifest.json")


def main(arguments: Sequence[str] | None = None) -> int:
    """Make an image."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", type=Path, help="tar archive of the root file system")
    parser.add_argument("image", type=Path, help="archive to write")
    parser.add_argument("--tag", default="localhost/agentgate:latest", help="name and tag of the image")
    given = parser.parse_args(arguments)
    make_image(given.root, given.image, tag=given.tag, time_s=int(os.environ.get("SOURCE_DATE_EPOCH", "0")))
    print(f"{given.image}: {given.tag}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
