"""The Debian package, built for real, and an image with it and Debian's packages, run like a container."""

import io
import json
import os
import shutil
import subprocess
import tarfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.ports import free_port

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1_800)]

ROOT = Path(__file__).parents[2]
DEBIAN_PYTHON = Path("/usr/bin/python3")
USER = 65_532


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built package."""
    if shutil.which("dpkg-deb") is None or not DEBIAN_PYTHON.exists():
        pytest.skip("Debian's dpkg-deb or python3 is not here")
    folder = tmp_path_factory.mktemp("package")
    subprocess.run([ROOT / "deploy/debian/build", folder], cwd=ROOT, check=True, timeout=900)
    [built] = folder.glob("*.deb")
    return built


def test_the_package_has_program_units_and_settings_and_names_no_folder_of_the_builder(package: Path) -> None:
    unpacked = package.parent / "unpacked"
    subprocess.run(["dpkg-deb", "--extract", str(package), str(unpacked)], check=True)
    service = (unpacked / "lib/systemd/system/agentgate.service").read_text()
    program = (unpacked / "opt/agentgate/bin/agentgate").read_text()

    assert program.startswith("#!/opt/agentgate/bin/python")
    assert "ExecStart=/opt/agentgate/bin/agentgate serve --config /etc/agentgate/agentgate.toml" in service
    assert (unpacked / "etc/agentgate/agentgate.toml").exists()
    assert "LoadCredential=admin.key:" in (unpacked / "usr/share/agentgate/secrets.conf").read_text()
    told = subprocess.run(
        [unpacked / "opt/agentgate/bin/python", "-m", "agentgate", "check-config", "-c",
         unpacked / "etc/agentgate/agentgate.toml"],
        env={"PATH": "/usr/bin:/bin"}, cwd=package.parent, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert told.returncode == 0, told.stderr


@pytest.fixture
def image(package: Path, tmp_path: Path) -> Iterator[Path]:
    """The image's root file system, read-only, with a writable folder for data."""
    if os.geteuid() != 0 or shutil.which("mmdebstrap") is None:
        pytest.skip("building the image needs the superuser and mmdebstrap")
    archive, root = tmp_path / "image.tar", tmp_path / "root"
    subprocess.run([ROOT / "deploy/container/from-debian", package, archive], check=True, timeout=900)
    root.mkdir()
    with tarfile.open(archive) as image:
        (described,) = json.load(image.extractfile("manifest.json") or io.BytesIO())
        layer = tmp_path / "layer.tar.gz"
        layer.write_bytes((image.extractfile(described["Layers"][0]) or io.BytesIO()).read())
    subprocess.run(["tar", "-xz", "-C", str(root), "-f", str(layer)], check=True)
    mounts = [
        ["mount", "--bind", str(root), str(root)],
        ["mount", "-o", "remount,bind,ro", str(root)],
        ["mount", "-t", "tmpfs", "-o", f"uid={USER},gid={USER},mode=0700", "none", str(root / "data")],
        ["mount", "-t", "tmpfs", "none", str(root / "tmp")],
        ["mount", "-t", "proc", "none", str(root / "proc")],
        ["mount", "--bind", "/dev", str(root / "dev")],
    ]
    try:
        for command in mounts:
            subprocess.run(command, check=True)
        yield root
    finally:
        subprocess.run(["umount", "--recursive", "--lazy", str(root)], check=False)


def test_the_image_serves_as_no_one_on_a_read_only_root(image: Path) -> None:
    port = free_port()
    environ = {
        "PATH": "/usr/bin:/bin",
        "AGENTGATE_DATA_DIR": "/data",
        "AGENTGATE_PUBLIC_LISTEN": f"127.0.0.1:{port}",
        "AGENTGATE_ADMIN_LISTEN": "127.0.0.1:0",
        "AGENTGATE_WORKERS": "2",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = ["chroot", f"--userspec={USER}:{USER}", str(image), "/usr/bin/agentgate", "serve"]
    service = subprocess.Popen(command, env=environ, stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        deadline_s = time.monotonic() + 120
        while True:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5) as answer:
                    assert answer.status == 200
                break
            except OSError:
                assert service.poll() is None
                assert time.monotonic() < deadline_s
                time.sleep(0.5)
        service.terminate()
        assert service.wait(60) == 0
    finally:
        if service.poll() is None:
            os.killpg(service.pid, 9)
            service.wait(20)
