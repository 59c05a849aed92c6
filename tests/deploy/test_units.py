"""The unit, the images and the manifests: settings that exist, few rights, and files that their tools take."""

import re
import shutil
import subprocess
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from agentgate.http.address import ClientAddress
from agentgate.lib.settings.schema import read_settings
from tests.deploy.tools import tool

DEPLOY = Path(__file__).parents[2] / "deploy"
FILES = [
    *(DEPLOY / "systemd").iterdir(),
    *(DEPLOY / "container").iterdir(),
    *(each for each in (DEPLOY / "kubernetes").rglob("*") if each.is_file()),
]
VARIABLE = re.compile(r"\b(AGENTGATE_[A-Z_]+|PUBLIC_BASE_URL)\b")
# From 0, nothing is exposed, to 10.
MOST_EXPOSED = 2.0


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


def test_the_image_is_built_from_everything_that_the_build_renders() -> None:
    text = (DEPLOY / "container" / "Containerfile").read_text()
    renderers = re.findall(r"from (tools\.\w+)", (DEPLOY.parent / "setup.py").read_text())

    assert len(renderers) > 1
    for name in ("docs", "packages", *(each.replace(".", "/") for each in renderers)):
        assert f"COPY {name} {name}\n" in text, name


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


def test_a_dynamic_user_gets_secrets_from_systemd_and_reads_no_file_of_root(tmp_path: Path) -> None:
    example = (DEPLOY / "debian" / "agentgate.toml").read_text()
    units = {name: (DEPLOY / "systemd" / name).read_text() for name in ("secrets.conf", "agentgate@.service")}
    for name in ("root.secret", "admin.key", "database_url"):
        (tmp_path / name).write_text(SECRETS[name.replace(".", "_")])

    # The service opens each file that its settings name, which works for root's files in systemd's copy (%d) alone.
    assert re.findall(r"^#? *\w+_file *=", example, re.MULTILINE) == []
    for text in units.values():
        loaded = dict(re.findall(r"^LoadCredential=([\w.]+):(/\S+)$", text, re.MULTILINE))
        variables = dict(re.findall(r"^Environment=(AGENTGATE_\w+_FILE)=(\S+)$", text, re.MULTILINE))
        assert {path.removeprefix("%d/") for path in variables.values()} == {*loaded}
        assert all(path == f"/etc/agentgate/{name}" for name, path in loaded.items())
        settings = read_settings({name: path.replace("%d", str(tmp_path)) for name, path in variables.items()})
        assert settings.root_secret == bytes.fromhex(SECRETS["root_secret"])
        assert settings.admin_key == SECRETS["admin_key"]
        assert settings.database_url == SECRETS["database_url"]


def test_the_drop_in_with_secrets_fits_its_unit(tmp_path: Path) -> None:
    unit = (DEPLOY / "systemd" / "agentgate.service").read_text()
    (tmp_path / "agentgate.service").write_text(
        re.sub("^ExecStart=.*", "ExecStart=/bin/true", unit, flags=re.MULTILINE)
    )
    (tmp_path / "agentgate.service.d").mkdir()
    shutil.copy(DEPLOY / "systemd" / "secrets.conf", tmp_path / "agentgate.service.d")
    command = [tool("systemd-analyze"), "verify", "--man=no", "--recursive-errors=one"]

    told = subprocess.run([*command, str(tmp_path / "agentgate.service")], capture_output=True, text=True, check=False)

    assert "secrets.conf" not in told.stderr
    assert "agentgate.service" not in told.stderr


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
        # A proxy on this machine connects to the public listener, and operators of this machine to the admin listener.
        assert service["ports"]
        assert all(str(port).startswith("127.0.0.1:") for port in service["ports"])
    assert "USER 65532" in (DEPLOY / "container" / "Containerfile").read_text()


@pytest.mark.parametrize("name", ["compose.yml", "compose.nodes.yml", "compose.clickhouse.yml"])
def test_what_containers_name_exists(name: str) -> None:
    composed: dict[str, Any] = yaml.safe_load((DEPLOY / "container" / name).read_text())
    services = composed["services"].values()
    volumes = [volume for service in services for volume in service.get("volumes", ())]

    assert {secret for service in services for secret in service.get("secrets", ())} == {*composed.get("secrets", {})}
    assert {volume.partition(":")[0] for volume in volumes} == {*composed["volumes"]}
    assert {each for service in services for each in service.get("depends_on", ())} <= {*composed["services"]}
    # Stores are for the nodes alone.
    assert all("ports" not in service for service in services if service["image"] != "agentgate")


@pytest.mark.parametrize("name", ["compose.yml", "compose.nodes.yml", "compose.clickhouse.yml"])
def test_containers_believe_only_the_gateway_of_their_network(name: str) -> None:
    composed: dict[str, Any] = yaml.safe_load((DEPLOY / "container" / name).read_text())
    [network] = composed["networks"]["default"]["ipam"]["config"]
    [peer, neighbor] = [str(ip_network(network["subnet"])[host]) for host in (1, 7)]
    assert peer == network["gateway"]

    for service in (each for each in composed["services"].values() if each["image"] == "agentgate"):
        variables = {"AGENTGATE_TRUSTED_PROXIES": of_container(service["environment"]["AGENTGATE_TRUSTED_PROXIES"])}
        address = ClientAddress(map(str, read_settings(variables).trusted_proxies))
        assert address.find(peer, ["203.0.113.9"]) == "203.0.113.9"
        # The visitor's own header is left of the one that the proxy added.
        assert address.find(peer, ["198.51.100.1", "203.0.113.9"]) == "203.0.113.9"
        assert address.find(peer, ["198.51.100.1, 172.17.0.9"]) == "172.17.0.9"
        for forger in (neighbor, "172.17.0.1", "172.31.255.254", "10.89.0.1", "203.0.113.9"):
            assert address.find(forger, ["198.51.100.1"]) == forger


def of_container(written: str, secrets: str = "/run/secrets") -> str:
    """Return a variable's value as compose sets it where the shell has none."""
    default = re.fullmatch(r"\$\{\w+:([-?])(.*)\}", written)
    if default is not None:
        return default[2] if default[1] == "-" else "https://gate.example.com"
    return written.replace("/run/secrets", secrets)


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

    for service in (each for each in services if each["image"] == "agentgate"):
        settings = read_settings(
            {name: of_container(written, str(tmp_path)) for name, written in service["environment"].items()}
        )
        assert bool(settings.events_url) == (name == "compose.clickhouse.yml")


def built_manifests() -> dict[tuple[str, str], Any]:
    """Return the objects of the kustomize base, by kind and name."""
    command = [tool("kubectl"), "kustomize", str(DEPLOY / "kubernetes")]
    built = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return {(each["kind"], each["metadata"]["name"]): each for each in yaml.safe_load_all(built.stdout)}


@pytest.mark.parametrize("version", ["1.30", "1.37"])
def test_the_manifests_fit_the_schemas_of_kubernetes(version: str) -> None:
    """Of a version that clusters of two years ago have, and of the newest; unknown fields are rejected."""
    manifests = built_manifests()

    for manifest in manifests.values():
        kubernetes_validate.validate(manifest, version, strict=True)
    manifests["Deployment", "agentgate"]["spec"]["replica"] = 2
    with pytest.raises(kubernetes_validate.ValidationError, match="replica"):
        kubernetes_validate.validate(manifests["Deployment", "agentgate"], version, strict=True)


def test_the_manifests_build_and_run_without_rights() -> None:
    objects = built_manifests()

    pod = objects["Deployment", "agentgate"]["spec"]["template"]["spec"]
    [container] = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert {kind for kind, _ in objects} == {
        *("ConfigMap", "Deployment", "NetworkPolicy", "PodDisruptionBudget", "Service")
    }
    budget = objects["PodDisruptionBudget", "agentgate"]["spec"]["selector"]
    assert budget == {"matchLabels": {"app.kubernetes.io/name": "agentgate"}}
