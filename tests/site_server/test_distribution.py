"""The client as it is installed: a separate wheel that needs `cryptography` and nothing of the service."""

import shutil
import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from agentgate import __version__

ROOT = Path(__file__).parents[2]

# Runs in a process that has the wheel, the standard library and what `cryptography` brings, but no service.
USE = """
import sys

class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"agentgate", "agentgate_tools", "msgspec", "httpx", "flask", "django"}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, NotInstalled())
sys.path.insert(0, sys.argv[1])
import agentgate_client
from agentgate_client import asgi, gateway_asgi, gateway_wsgi, wsgi
assert agentgate_client.__file__.startswith(sys.argv[1]), agentgate_client.__file__
client = agentgate_client.Client("http://127.0.0.1:9", "ags_x", timeout_s=0.2, retries=0)
try:
    client.verify("x.y.z", expected_action="signup")
except agentgate_client.Unavailable:
    print("as its README says")
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("client")
    source = shutil.copytree(
        ROOT / "packages" / "python-client", folder / "source", ignore=shutil.ignore_patterns("*.egg-info", "build")
    )
    command = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder)]
    subprocess.run([sys.executable, *command, str(source)], check=True, capture_output=True, timeout=100)
    [built] = folder.glob("*.whl")
    return built


def test_the_wheel_has_the_services_version_and_needs_cryptography_alone(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as files:
        [name] = [each for each in files.namelist() if each.endswith("/METADATA")]
        told = Parser().parsestr(files.read(name).decode())
        names = {each.partition("/")[0] for each in files.namelist()}
        has_licence = any(each.endswith("/LICENSE") for each in files.namelist())

    assert (told["Name"], told["Version"]) == ("agentgate-client", __version__)
    assert told.get_all("Requires-Dist") == ["cryptography>=45"]
    assert names == {"agentgate_client", f"agentgate_client-{__version__}.dist-info"}
    assert has_licence


def test_the_installed_client_works_without_the_service(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as files:
        files.extractall(tmp_path)

    told = subprocess.run(
        [sys.executable, "-c", USE, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=tmp_path,
    )

    assert (told.stdout, told.returncode) == ("as its README says\n", 0), told.stderr
