"""The compose file and the manifests of a proxy: they run the file that their first lines print."""

import base64
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from tests.cli.commands import agentgate
from tests.deploy.tools import tool

DEPLOY = Path(__file__).parents[2] / "deploy"
COMPOSE, KUSTOMIZATION = "container/compose.proxy.yml", "kubernetes/proxy/kustomization.yaml"
SECRET = "ags_" + "s" * 43


def printed_by(file: str, folder: Path) -> str:
    """Return what the command in the first lines of a file prints."""
    comments = re.findall(r"^#  +(.*)$", (DEPLOY / file).read_text(), re.MULTILINE)
    _, *arguments = shlex.split(" ".join(line.removesuffix("\\") for line in comments).partition(" > ")[0])
    (folder / "secret").write_text(SECRET)
    done = agentgate(folder, *arguments[:-1], str(folder / "secret"))
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_compose_file_runs_the_printed_file(tmp_path: Path) -> None:
    text = printed_by(COMPOSE, tmp_path)
    service = yaml.safe_load((DEPLOY / "container/compose.yml").read_text())["services"]["agentgate"]
    proxy = yaml.safe_load((DEPLOY / COMPOSE).read_text())["services"]["proxy"]

    assert service["ports"][0].endswith(":8080")
    assert "server agentgate:8080;" in text
    assert SECRET in text
    assert "listen 80;" in text
    assert proxy["ports"] == ["80:80"]
    assert proxy["volumes"] == ["./agentgate.conf:/etc/nginx/conf.d/default.conf:ro"]
    assert proxy["depends_on"] == ["agentgate"]


def test_the_manifests_mount_the_printed_file(tmp_path: Path) -> None:
    for name in ("kustomization.yaml", "proxy.yaml"):
        (tmp_path / name).write_text((DEPLOY / "kubernetes/proxy" / name).read_text())
    text = printed_by(KUSTOMIZATION, tmp_path)
    (tmp_path / "agentgate.conf").write_text(text)
    command = [tool("kubectl"), "kustomize", str(tmp_path)]
    told = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    objects: dict[str, Any] = {each["kind"]: each for each in yaml.safe_load_all(told.stdout)}
    for manifest in objects.values():
        kubernetes_validate.validate(manifest, "1.37", strict=True)
    pod = objects["Deployment"]["spec"]["template"]["spec"]
    [container] = pod["containers"]

    assert base64.b64decode(objects["Secret"]["data"]["agentgate.conf"]).decode() == text
    assert pod["volumes"][0]["secret"]["secretName"] == objects["Secret"]["metadata"]["name"]
    assert "listen 8080;" in text
    assert container["ports"] == [{"containerPort": 8080, "name": "http"}]
    assert "server agentgate.agentgate:80;" in text
    assert container["securityContext"]["readOnlyRootFilesystem"] is True


@pytest.mark.parametrize("name", [COMPOSE, KUSTOMIZATION])
def test_the_printed_file_is_open_in_monitor_mode(name: str, tmp_path: Path) -> None:
    assert "error_page 500 502 503 504 = @agentgate_open;" in printed_by(name, tmp_path)
