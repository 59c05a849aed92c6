"""The files in deploy/ and the command that prints them: one text, and nothing put into it unchecked."""

import re
import tomllib
from pathlib import Path

import pytest
from msgspec import structs

from agentgate.agents import policy_checker
from agentgate_tools.adapters.render import (
    EXAMPLE,
    FILES,
    INCLUDES,
    AdapterRefused,
    Installation,
    render,
    unavailable_line,
)
from tests.cli.commands import agentgate
from tests.tidy.sources import ROOT, listed_paths

MODES = ("monitor", "enforce")
SECRET = "ags_" + "s" * 43
SHIPPED = [(proxy, file) for proxy, files in FILES.items() for file in files]
# The most lines of a proxy's files.
LINES = {"nginx": 80, "caddy": 70, "haproxy": 85, "apache": 80, "traefik": 45, "envoy": 85}
INCLUDED_LINES = 60
LANGUAGES = {"caddy": "caddy", "haproxy": "haproxy", "nginx": "nginx", "apache": "apache"}
ANSWER_TIMEOUT = r"(?:proxy_read_timeout |import agentgate_\w+ |responseHeaderTimeout: |timeout server |agentgate_\w+, timeout: )(\d+)s"  # noqa: E501
APACHE = {("apache", "agentgate.conf"), ("apache", "agentgate-vhost.conf")}
WITHOUT_SERVICE = {("haproxy", "agentgate.lua"), ("nginx", "agentgate-server.conf"), *APACHE}
WITHOUT_SECRET = {("haproxy", "agentgate.lua"), ("nginx", "agentgate-http.conf"), *APACHE}
VALUES = ("--service", "http://10.0.0.5:9000", "--origin", "https://a.example:8443", "--upstream", "http://10.0.0.6")


@pytest.mark.parametrize(("proxy", "file"), SHIPPED)
def test_each_file_in_deploy_is_what_the_command_prints(proxy: str, file: str) -> None:
    # To update the file: agentgate adapter <proxy> --file <file> > deploy/<proxy>/<file>
    assert (ROOT / "deploy" / proxy / file).read_text() == render(proxy, EXAMPLE, file)


@pytest.mark.parametrize(("proxy", "file"), SHIPPED)
def test_the_page_of_a_proxy_shows_each_whole_file(proxy: str, file: str) -> None:
    page = (ROOT / "docs" / f"protect-{proxy}.md").read_text()
    language = "lua" if file.endswith(".lua") else LANGUAGES.get(proxy, "yaml")

    assert f"agentgate adapter {proxy}" in page
    assert f"{file}:\n\n```{language}\n{render(proxy, EXAMPLE, file)}```\n" in page


@pytest.mark.parametrize("proxy", FILES)
def test_the_files_of_a_proxy_fit_on_a_screen(proxy: str) -> None:
    installation = Installation(service="http://127.0.0.1:8080", origin="http://shop.example")
    lines = {file: len(render(proxy, installation, file).splitlines()) for file in FILES[proxy]}

    included = sum(lines.pop(file) for file in INCLUDES.get(proxy, ()))
    assert sum(lines.values()) <= LINES[proxy]
    assert included <= INCLUDED_LINES


@pytest.mark.parametrize("proxy", FILES)
def test_one_line_differs_between_monitor_and_enforce_mode(proxy: str) -> None:
    line = unavailable_line(proxy, EXAMPLE)
    for file in line.file.split(" or "):
        texts = [render(proxy, structs.replace(EXAMPLE, mode=mode), file) for mode in MODES]
        differing = [pair for pair in zip(*(text.splitlines() for text in texts), strict=True) if pair[0] != pair[1]]

        assert [(one.strip(), other.strip()) for one, other in differing] == [(line.monitor, line.enforce)]
        assert [word in " ".join(texts) for word in ("If AgentGate is unavailable", "open", "closed")] == [True] * 3


@pytest.mark.parametrize(
    ("proxy", "line"),
    [
        ("nginx", "    listen 8123;"),
        ("caddy", "http://shop.example:8123 {"),
        ("haproxy", "    bind :8123"),
        ("apache", "<VirtualHost *:8123>"),
        ("apache", "Listen 8123"),
        ("envoy", 'address: "0.0.0.0", port_value: 8123'),
    ],
)
def test_a_proxy_listens_on_the_port_of_an_http_origin(proxy: str, line: str) -> None:
    beside = structs.replace(EXAMPLE, origin="http://shop.example:8123")

    assert line in render(proxy, beside, FILES[proxy][0])
    assert "Listen" not in render("apache", structs.replace(EXAMPLE, origin="http://shop.example"), "agentgate.conf")


@pytest.mark.parametrize(("proxy", "file"), SHIPPED)
def test_every_value_is_put_in(tmp_path: Path, proxy: str, file: str) -> None:
    (tmp_path / "secret").write_text(f"{SECRET}\n")
    site = ("--site", "site_other-1", "--secret-file", "secret")

    result = agentgate(tmp_path, "adapter", proxy, *site, *VALUES, "--file", file)

    assert result.returncode == 0, result.stderr
    assert not any(example in result.stdout for example in ("shop", "127.0.0.1:8080", ":3000", "{{", "}}"))
    assert (SECRET in result.stdout) == ((proxy, file) not in WITHOUT_SECRET)
    assert ("9000" in result.stdout) == ((proxy, file) not in WITHOUT_SERVICE)


def test_a_check_that_waits_for_an_agents_keys_responds_before_an_adapter_gives_up() -> None:
    waits_s = {
        int(seconds) for proxy, file in SHIPPED for seconds in re.findall(ANSWER_TIMEOUT, render(proxy, EXAMPLE, file))
    }

    # Those of the page and of the way to the site are longer.
    assert min(waits_s) == 1
    assert min(waits_s) - policy_checker.KEYS_WAIT_S >= 0.25


def test_a_proxy_with_two_files_shows_it(tmp_path: Path) -> None:
    assert "--file agentgate.lua" in agentgate(tmp_path, "adapter", "haproxy").stderr
    assert agentgate(tmp_path, "adapter", "caddy").stderr == ""
    assert "for an existing nginx server" in agentgate(tmp_path, "adapter", "nginx").stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("iis",), "give one of nginx, caddy, haproxy, apache, traefik, envoy"),
        (("nginx", "--file", "x"), "it has agentgate.conf"),
        (("nginx", "--service", "127.0.0.1:8080"), "must start with http://"),
        (("nginx", "--service", "https://gate.example", "--service-ca", "x;"), "full path of a file"),
        (("nginx", "--service", "http://127.0.0.1:99999"), "is not an address"),
        (("nginx", "--origin", "ftp://shop.example"), "must start with http:// or https://"),
        (("nginx", "--origin", "https://shop.example/path"), "scheme, host and port only"),
        (("nginx", "--origin", "https://user@shop.example"), "scheme, host and port only"),
        (("nginx", "--origin", 'https://shop.example";return 200'), "scheme, host and port only"),
        (("nginx", "--origin", "https://shop.example\n}"), "scheme, host and port only"),
        (("nginx", "--upstream", "http://"), "scheme, host and port only"),
        (("nginx", "--upstream", "http://a b"), "scheme, host and port only"),
        (("nginx", "--site", "shop"), "is not a site key"),
        (("nginx", "--listen", "80; x"), "is not a port"),
        (("nginx", "--listen", "0"), "is not a port"),
        (("nginx", "--secret-file", "absent"), "cannot be read"),
    ],
)
def test_what_cannot_be_put_in_is_blocked_with_a_reason(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    result = agentgate(tmp_path, "adapter", *arguments)

    assert (result.returncode, result.stdout) == (2, "")
    assert said in result.stderr


@pytest.mark.parametrize("secret", ["", "x", "ags_test always", 'ags_0123456789abcdef"', "ags_0123456789abcdef\nevil"])
def test_a_secret_that_is_none_is_blocked_and_not_repeated(secret: str) -> None:
    with pytest.raises(AdapterRefused, match="starts with ags_") as refused:
        render("nginx", Installation(secret=secret))

    assert not secret or secret not in str(refused.value)


def test_every_file_that_is_no_module_is_in_the_wheel() -> None:
    packages = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]
    shipped = {
        file
        for name, patterns in packages.items()
        for pattern in patterns
        for file in (ROOT / "src" / name).glob(pattern)
    }
    # The wheel contains compiled modules as libraries.
    sources = (".py", ".pyx")
    files = {ROOT / path for path in listed_paths() if path.startswith("src/") and not path.endswith(sources)}

    assert ROOT / "src" / "agentgate_tools" / "adapters" / "nginx.conf.txt" in files
    assert files - shipped == set()
