"""Checks of feeds: can a feed reader load the feeds that the front page links?"""

import shlex
from http import HTTPStatus

from agentgate_tools.doctor.asking import Asked, Site
from agentgate_tools.doctor.checks import REFUSED, Installation
from agentgate_tools.doctor.feeds import feeds_of
from agentgate_tools.doctor.findings import Finding, passed, warned

# A reader that is not on any list, so it gets a response only if the feed is open.
READER = (("User-Agent", "FeedCheck/1.0"), ("Accept", "application/rss+xml, application/atom+xml, */*;q=0.5"))


def feeds_on(site: Site, home: Asked | None) -> list[str]:
    """Return the feeds that a site's front page links; none if it was not served."""
    if home is None or home.status != HTTPStatus.OK:
        return []
    return feeds_of(site.origin + site.path, home.body)


def check_feeds(installation: Installation, home: Asked) -> Finding:
    """Request each feed of the page as a feed reader."""
    site = installation.site
    found = feeds_on(site, home)
    if not found:
        return passed("feeds", "the page links no feed")
    answers = {feed: site.try_asking("GET", feed, *READER) for feed in found}
    closed = [feed for feed, answer in answers.items() if answer is not None and answer.status in REFUSED]
    if closed:
        # All of them: declared feeds replace the root feeds.
        fix = f"Declare all feeds of the page: agentgate site feeds {installation.site_key} {shlex.join(found)}"
        return warned("feeds", f"feed readers are blocked or challenged at {', '.join(closed)}", fix)
    return passed("feeds", f"feed readers can load {', '.join(found)}")
