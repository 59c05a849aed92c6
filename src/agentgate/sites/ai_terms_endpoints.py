"""The AI terms of a site over public HTTP: robots.txt, the RSL license, and header lines for the site's pages."""

from collections.abc import Callable, Sequence

from agentgate.http.call import Call
from agentgate.http.cors import OPEN_TO_ALL
from agentgate.http.replies import Reply, Text
from agentgate.lib.errors import Refused
from agentgate.lib.records import Record
from agentgate.sites.ai_terms import NamedCrawler, header_lines, license_xml, robots_txt
from agentgate.sites.decoys import forbid_decoys
from agentgate.sites.directory import SiteDirectory, SiteView

MAX_AGE = ("cache-control", "public, max-age=300")


class AiHeaders(Record, frozen=True, kw_only=True):
    """Header lines that a site adds to its pages; none before its owner has decided about AI use."""

    headers: dict[str, str]


class AiTerms:
    """Writes the terms of sites."""

    def __init__(self, sites: SiteDirectory, crawlers: Callable[[], Sequence[NamedCrawler]], base_url: str) -> None:
        self._sites = sites
        self._crawlers = crawlers
        self._base_url = base_url

    def robots(self, site_key: str) -> str:
        site = self._find(site_key)
        text = robots_txt(site.robots_txt, site.ai_use, self._crawlers(), self._license_url(site))
        return forbid_decoys(text, site.id) if site.decoys else text

    def license(self, site_key: str) -> str:
        """Return the license of a site, for its first origin."""
        site = self._find(site_key)
        return license_xml(min(site.origins, default=""), site.ai_use)

    def headers(self, site_key: str) -> dict[str, str]:
        site = self._find(site_key)
        return {} if site.ai_use is None else dict(header_lines(site.ai_use, self._license_url(site)))

    def _license_url(self, site: SiteView) -> str:
        return f"{self._base_url}/v1/sites/{site.site_key}/license.xml"

    def _find(self, site_key: str) -> SiteView:
        site = self._sites.find(site_key)
        if site is None or site.disabled:
            raise Refused("site_not_found")
        return site


async def read_robots(call: Call, terms: AiTerms) -> Reply[Text]:
    """Read the robots.txt of a site: the owner's file, the groups of its AI use, and its decoys."""
    return _text(terms.robots(call.params["siteKey"]), "text/plain; charset=utf-8")


async def read_license(call: Call, terms: AiTerms) -> Reply[Text]:
    """Read the license of a site for AI uses (RSL 1.0)."""
    return _text(terms.license(call.params["siteKey"]), "application/xml; charset=utf-8")


async def read_ai_headers(call: Call, terms: AiTerms) -> Reply[AiHeaders]:
    """Read the header lines that the site's pages carry for AI use."""
    return Reply(body=AiHeaders(headers=terms.headers(call.params["siteKey"])), headers=(MAX_AGE, *OPEN_TO_ALL))


def _text(text: str, media_type: str) -> Reply[Text]:
    return Reply(body=Text(text.encode(), media_type), headers=(MAX_AGE, *OPEN_TO_ALL))
