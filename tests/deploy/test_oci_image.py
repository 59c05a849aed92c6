"""The container image: an OCI layout that `docker load` reads too, with the digests of its content."""

import gzip
import hashlib
import io
import json
import re
import tarfile
from pathlib import Path
from typing import Any

import pytest

from tools.oci_image import CONFIG, make_image

ROOT = Path(__file__).parents[2]
TAG = "localhost/agentgate:0.1.0"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    path = tmp_path / "root.tar"
    with tarfile.open(path, "w") as archive:
        info = tarfile.TarInfo("usr/bin/agentgate")
        info.size = 4
        archive.addfile(info, io.BytesIO(b"#!x\n"))
    return path


def read(image: Path) -> dict[str, bytes]:
    with tarfile.open(image) as archive:
        return {each.name: (archive.extractfile(each) or io.BytesIO()).read() for each in archive.getmembers()}


def test_each_blob_has_its_digest_and_the_layer_is_the_root(root: Path, tmp_path: Path) -> None:
    make_image(root, tmp_path / "image.tar", tag=TAG, time_s=1_700_000_000)
    files = read(tmp_path / "image.tar")

    def blob(described: dict[str, Any]) -> bytes:
        content = files[f"blobs/sha256/{described['digest'].partition(':')[2]}"]
        assert (hashlib.sha256(content).hexdigest(), len(content)) == (described["digest"][7:], described["size"])
        return content

    (entry,) = json.loads(files["index.json"])["manifests"]
    manifest = json.loads(blob(entry))
    config, (layer,) = json.loads(blob(manifest["config"])), manifest["layers"]
    assert json.loads(files["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}
    assert gzip.decompress(blob(layer)) == root.read_bytes()
    assert config["rootfs"]["diff_ids"] == [f"sha256:{hashlib.sha256(root.read_bytes()).hexdigest()}"]
    (saved,) = json.loads(files["manifest.json"])
    assert saved["RepoTags"] == [TAG]
    assert {saved["Config"], *saved["Layers"]} < set(files)


def test_the_same_root_gives_the_same_image(root: Path, tmp_path: Path) -> None:
    for name in ("one.tar", "two.tar"):
        make_image(root, tmp_path / name, tag=TAG, time_s=1_700_000_000)

    assert (tmp_path / "one.tar").read_bytes() == (tmp_path / "two.tar").read_bytes()


def test_it_runs_like_the_image_of_the_containerfile() -> None:
    text = (ROOT / "deploy/container/Containerfile").read_text("utf-8")

    assert {each for each in CONFIG["Env"] if each.startswith("AGENTGATE_")} == set(
        re.findall(r"AGENTGATE_\w+=\S+", text)
    )
    assert f"USER {CONFIG['User']}\n" in text
    assert json.dumps(CONFIG["Entrypoint"]) in text
    assert json.dumps(CONFIG["Cmd"]) in text
