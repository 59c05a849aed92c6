"""`agentgate adapter --robots`: the proxy serves the robots.txt that AgentGate writes."""

import dataclasses
from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from agentgate_tools.adapters.render import INCLUDES, AdapterRefused, render
from tests.proxies.running import STARTERS, running_proxy
from tests.proxies.visiting import Installed

OWN = "User-agent: *\nDisallow: /private/\n"
GPTBOT = [
    ("Host", "shop.example"),
    ("User-Agent", "Mozilla/5.0 (compatible; GPTBot/1.4; +https://openai.com/gptbot)"),
    ("Accept", "*/*"),
]


@pytest.fixture(scope="module")
def written(site: Installed) -> Iterator[str]:
    """The file that AgentGate writes for the site."""
    at = f"/v1/admin/sites/{site.site_key}"
    use = {"search": "allow", "agent": "allow", "training": "block"}
    assert site.service.operator.patch(at, json={"robotsTxt": OWN, "aiUse": use}).status_code == 200
    site.service.run(site.service.application.refresher.refresh())
    yield site.service.public.get(f"/v1/sites/{site.site_key}/robots.txt").text
    assert site.service.operator.patch(at, json={"robotsTxt": ""}).status_code == 200


@pytest.mark.parametrize("proxy", STARTERS)
def test_the_proxy_serves_the_file_of_agentgate_and_no_other_path_changes(
    site: Installed, written: str, proxy: str
) -> None:
    assert OWN in written
    with running_proxy(proxy, replace(site.installation, robots=True)) as port:
        installed = dataclasses.replace(site, proxy=proxy, port=port)

        served = installed.visit("GET", "/robots.txt", usual=GPTBOT)
        assert (served.status, served.body.decode()) == (200, written)
        for path in ("/robots.txt.bak", "/page", "/page/robots.txt"):
            assert installed.visit("GET", path).asked.target == path
        assert installed.visit("GET", "/page", usual=GPTBOT).status in {401, 403}


def test_without_the_option_the_site_serves_its_own_file(installed: Installed) -> None:
    assert installed.visit("GET", "/robots.txt", usual=GPTBOT).asked.target == "/robots.txt"


def test_a_file_for_many_sites_has_no_robots_txt(site: Installed) -> None:
    many = replace(site.installation, robots=True, fleet=True)
    with pytest.raises(AdapterRefused, match="--robots is for one site"):
        render("nginx", many, INCLUDES["nginx"][0])
