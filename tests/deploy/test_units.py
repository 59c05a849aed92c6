"""The unit, the images and the manifests: settings that exist, few rights, and files that their tools take."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from agentgate.lib.settings.schema import read_settings

DEPLOY = Path(__file__).parents[2] / "deploy"
FILES = [
    *(DEPLOY / "systemd").iterdir(),
    *(DEPLOY / "container").iterdir(),
    *(DEPLOY / "kubernetes").iterdir(),
]
VARIABLE = re.compile(r"\b(AGENTGATE_[A-Z_]+|PUBLIC_BASE_URL)\b")
# From 0, nothing is exposed, to 10.
MOST_EXPOSED = 2.0


def tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def test_every_setting_that_the_files_name_exists() -> None:
    named = {name for file in FILES for name in VARIABLE.findall(file.read_text())}
    page = (DEPLOY.parent / "docs" / "settings.md").read_text()

    assert {"AGENTGATE_DATA_DIR", "AGENTGATE_ROOT_SECRET_FILE", "PUBLIC_BASE_URL"} <= named
    assert {name for name in named if f"`{name}`" not in page} == set()


def test_the_images_own_settings_are_valid() -> None:
    text = (DEPLOY / "container" / "Containerfile").read_text()
    environ = dict(re.findall(r"\b(AGENTGATE_[A-Z_]+)=(\S+)", text))

    settings = read_settings({**environ, "AGENTGATE_DATA_DIR": "/tmp"})

    assert (settings.public_listen.port, settings.admin_listen.port) == (8080, 8081)


@pytest.mark.parametrize("name", ["agentgate.service", "agentgate@.service"])
def test_the_unit_exposes_little(name: str) -> None:
    command = [tool("systemd-analyze"), "security", "--offline=true", str(DEPLOY / "systemd" / name)]
    told = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    exposed = re.search(r"Overall exposure level for \S+: ([\d.]+)", told.stdout)
    assert exposed is not None, told.stderr
    assert float(exposed[1]) < MOST_EXPOSED


def test_the_sockets_name_a_listener_each_and_lead_to_the_service() -> None:
    texts = [(DEPLOY / "systemd" / f"{name}.socket").read_text() for name in ("agentgate", "agentgate-admin")]

    assert [re.findall(r"^FileDescriptorName=(.+)$", text, re.MULTILINE) for text in texts] == [["public"], ["admin"]]
    assert "\nService=agentgate.service\n" in texts[1]
    # The admin listener is for operators.
    assert "\nListenStream=127.0.0.1:8081\n" in texts[1]


def test_both_units_have_the_same_rights() -> None:
    one, several = ((DEPLOY / "systemd" / f"{name}.service").read_text() for name in ("agentgate", "agentgate@"))
    hardening = "# It needs its folder, the network, and nothing else.\n"

    assert one.partition(hardening)[2] == several.partition(hardening)[2] != ""


def test_scripts_are_sound_shell() -> None:
    scripts = [DEPLOY / "debian" / name for name in ("build", "postinst", "prerm")]
    for script in (*scripts, DEPLOY / "container" / "from-debian"):
        subprocess.run(["sh", "-n", str(script)], check=True, timeout=10)


@pytest.mark.parametrize("name", ["compose.yml", "compose.nodes.yml", "compose.clickhouse.yml"])
def test_containers_are_not_root_and_write_nowhere_else(name: str) -> None:
    services: dict[str, Any] = yaml.safe_load((DEPLOY / "container" / name).read_text())["services"]
    ours = [service for service in services.values() if service["image"] == "agentgate"]

    assert ours
    for service in ours:
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        # The admin listener, where it is published at all, is for this machine.
        admin = [port for port in service["ports"] if str(port).endswith(":8081")]
        assert all(port.startswith("127.0.0.1:") for port in admin)
    assert "USER 65532" in (DEPLOY / "container" / "Containerfile").read_text()


@pytest.mark.parametrize("name", ["compose.yml", "compose.nodes.yml", "compose.clickhouse.yml"])
def test_what_containers_name_is_there(name: str) -> None:
    composed: dict[str, Any] = yaml.safe_load((DEPLOY / "container" / name).read_text())
    services = composed["services"].values()
    volumes = [volume for service in services for volume in service.get("volumes", ())]

    assert {secret for service in services for secret in service.get("secrets", ())} == {*composed.get("secrets", {})}
    assert {volume.partition(":")[0] for volume in volumes} == {*composed["volumes"]}
    assert {each for service in services for each in service.get("depends_on", ())} <= {*composed["services"]}
    # Stores are for the nodes alone.
    assert all("ports" not in service for service in services if service["image"] != "agentgate")


SECRETS = {
    "database_url": "postgresql://agentgate:x@postgres/agentgate",
    "events_url": "clickhouse://agentgate:x@clickhouse:8123/agentgate",
    "root_secret": "0123456789abcdef" * 4,
    "admin_key": "0123456789abcdef" * 3,
}


@pytest.mark.parametrize("name", ["compose.yml", "compose.nodes.yml", "compose.clickhouse.yml"])
def test_the_service_takes_the_settings_of_its_container(name: str, tmp_path: Path) -> None:
    services = yaml.safe_load((DEPLOY / "container" / name).read_text())["services"].values()
    for secret, text in SECRETS.items():
        (tmp_path / secret).write_text(text)

    def value(written: str) -> str:
        default = re.fullmatch(r"\$\{\w+:([-?])(.*)\}", written)
        if default is not None:
            return default[2] if default[1] == "-" else "https://gate.example.com"
        return written.replace("/run/secrets", str(tmp_path))

    for service in (each for each in services if each["image"] == "agentgate"):
        settings = read_settings({name: value(written) for name, written in service["environment"].items()})
        assert bool(settings.events_url) == (name == "compose.clickhouse.yml")


def test_the_manifests_build_and_run_without_rights() -> None:
    command = [tool("kubectl"), "kustomize", str(DEPLOY / "kubernetes")]
    told = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    objects: dict[tuple[str, str], Any] = {
        (each["kind"], each["metadata"]["name"]): each for each in yaml.safe_load_all(told.stdout)
    }

    pod = objects["Deployment", "agentgate"]["spec"]["template"]["spec"]
    [container] = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert {kind for kind, _ in objects} == {
        *("ConfigMap", "Deployment", "NetworkPolicy", "PodDisruptionBudget", "Service")
    }
    budget = objects["PodDisruptionBudget", "agentgate"]["spec"]["selector"]
    assert budget == {"matchLabels": {"app.kubernetes.io/name": "agentgate"}}
