"""The files in deploy/ and the command that prints them: one text, and nothing put into it unchecked."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

from agentgate.protection.agents import policy_checker
from agentgate_tools.adapters.render import EXAMPLE, FILES, AdapterRefused, Installation, render
from tests.cli.commands import agentgate
from tests.tidy.sources import ROOT, listed_paths

SECRET = "ags_" + "s" * 43
SHIPPED = [(proxy, file) for proxy, files in FILES.items() for file in files]
ANSWER_TIMEOUT = r"(?:proxy_read_timeout |response_header_timeout |responseHeaderTimeout: |timeout server )(\d+)s"
WITHOUT_SERVICE = {("haproxy", "agentgate.lua"), ("apache", "agentgate.conf"), ("nginx", "agentgate-location.conf")}
WITHOUT_SECRET = {*WITHOUT_SERVICE, ("nginx", "agentgate-http.conf")}
VALUES = ("--service", "http://10.0.0.5:9000", "--origin", "https://a.example:8443", "--upstream", "http://10.0.0.6")


@pytest.mark.parametrize(("proxy", "file"), SHIPPED)
def test_each_file_in_deploy_is_what_the_command_prints(proxy: str, file: str) -> None:
    # To write it anew: agentgate adapter <proxy> --file <file> > deploy/<proxy>/<file>
    assert (ROOT / "deploy" / proxy / file).read_text() == render(proxy, EXAMPLE, file)


@pytest.mark.parametrize("proxy", FILES)
def test_each_proxy_has_a_readme_that_names_its_files(proxy: str) -> None:
    text = (ROOT / "deploy" / proxy / "README.md").read_text()

    assert f"agentgate adapter {proxy}" in text
    assert all(file in text for file in FILES[proxy])


@pytest.mark.parametrize(("proxy", "file"), SHIPPED)
def test_every_value_is_put_in(tmp_path: Path, proxy: str, file: str) -> None:
    (tmp_path / "secret").write_text(f"{SECRET}\n")
    site = ("--site", "site_other-1", "--secret-file", "secret")

    result = agentgate(tmp_path, "adapter", proxy, *site, *VALUES, "--file", file)

    assert result.returncode == 0, result.stderr
    assert not any(example in result.stdout for example in ("shop", "127.0.0.1:8080", ":3000", "{{", "}}"))
    assert (SECRET in result.stdout) == ((proxy, file) not in WITHOUT_SECRET)
    assert ("9000" in result.stdout) == ((proxy, file) not in WITHOUT_SERVICE)


def test_a_check_that_waits_for_an_agents_keys_answers_before_an_adapter_gives_up() -> None:
    waits_s = {
        int(seconds) for proxy, file in SHIPPED for seconds in re.findall(ANSWER_TIMEOUT, render(proxy, EXAMPLE, file))
    }

    # Those of the page and of the way to the site are longer.
    assert min(waits_s) == 1
    assert min(waits_s) - policy_checker.KEYS_WAIT_S >= 0.25


def test_a_proxy_with_two_files_says_so(tmp_path: Path) -> None:
    assert "--file agentgate.lua" in agentgate(tmp_path, "adapter", "haproxy").stderr
    assert agentgate(tmp_path, "adapter", "caddy").stderr == ""
    # Those of nginx are for another way to set it up.
    assert "for a server of your own" in agentgate(tmp_path, "adapter", "nginx").stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("iis",), "give one of nginx, caddy, haproxy, apache, traefik, envoy"),
        (("nginx", "--file", "x"), "it has agentgate.conf"),
        (("nginx", "--service", "127.0.0.1:8080"), "must begin with http://"),
        (("nginx", "--service", "https://gate.example", "--service-ca", "x;"), "full path of a file"),
        (("nginx", "--service", "http://127.0.0.1:99999"), "is not an address"),
        (("nginx", "--origin", "ftp://shop.example"), "must begin with http:// or https://"),
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
def test_what_cannot_be_put_in_is_refused_with_a_reason(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    result = agentgate(tmp_path, "adapter", *arguments)

    assert (result.returncode, result.stdout) == (2, "")
    assert said in result.stderr


@pytest.mark.parametrize("secret", ["", "x", "ags_test always", 'ags_0123456789abcdef"', "ags_0123456789abcdef\nevil"])
def test_a_secret_that_is_none_is_refused_and_not_repeated(secret: str) -> None:
    with pytest.raises(AdapterRefused, match="begins with ags_") as refused:
        render("nginx", Installation(secret=secret))

    assert not secret or secret not in str(refused.value)


def test_traefik_clears_then_asks_itself_with_the_secret_that_the_site_never_gets() -> None:
    http = yaml.safe_load(render("traefik", EXAMPLE))["http"]

    for name, steps in (("", ["clear", "plain", "check", "hide"]), ("-websocket", ["clear", "check", "hide"])):
        router = http["routers"][f"protected-site_shop{name}"]
        assert [step.rpartition("-")[2] for step in router["middlewares"]] == steps
    for name, router in http["routers"].items():
        assert set(router["middlewares"]) <= set(http["middlewares"])
        assert router["service"] in http["services"]
        asks = router.get("entryPoints") == ["agentgate"] and not name.endswith("-away")
        assert ("agentgate-site_shop-credential" in router["middlewares"]) == (asks or name.endswith("-own"))
    check = http["middlewares"]["agentgate-site_shop-check"]["forwardAuth"]
    assert check["address"] == "http://127.0.0.1:9191/site_shop/v1/gateway/check"
    assert check["trustForwardHeader"] is False


def test_envoy_fails_closed_and_lets_nobody_through_whom_nobody_let_through() -> None:
    resources = yaml.safe_load(render("envoy", EXAMPLE))["static_resources"]
    manager = resources["listeners"][0]["filter_chains"][0]["filters"][0]["typed_config"]

    names = [step["name"].rpartition(".")[2] for step in manager["http_filters"]]
    assert names == ["header_mutation", "request", "ext_authz", "page", "router"]
    authorization = manager["http_filters"][2]["typed_config"]
    assert authorization["failure_mode_allow"] is False
    assert authorization["status_on_error"] == {"code": "ServiceUnavailable"}
    (host,) = manager["route_config"]["virtual_hosts"]
    assert [route["match"]["headers"] for route in host["routes"] if "upstream_site_shop" in str(route)] == [
        [{"name": "x-agentgate-to", "string_match": {"exact": "site"}}]
    ]
    assert host["routes"][-1] == {"match": {"prefix": "/"}, "direct_response": {"status": 503}}


def test_every_file_that_is_no_module_is_in_the_wheel() -> None:
    packages = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]
    shipped = {
        file
        for name, patterns in packages.items()
        for pattern in patterns
        for file in (ROOT / "src" / name).glob(pattern)
    }
    # What is compiled is in the wheel as a library.
    sources = (".py", ".pyx")
    files = {ROOT / path for path in listed_paths() if path.startswith("src/") and not path.endswith(sources)}

    assert ROOT / "src" / "agentgate_tools" / "adapters" / "nginx.conf.txt" in files
    assert files - shipped == set()
