"""Links that no person sees: made per site and day, and forbidden to every crawler that reads robots.txt."""

from urllib.robotparser import RobotFileParser

import pytest

from agentgate.sites.decoys import STANDING, folder_of, forbid_decoys, html_of, link_of, targets_on
from agentgate.sites.rules.patterns.robots_rules import RobotsRules

SITE, OTHER, DAY = "st_0123456789abcdef", "st_fedcba9876543210", 20_400
FILES = (
    "",
    "User-agent: *\nAllow: /\n",
    "User-agent: Bingbot\nDisallow: /search\n",
    "# Ours\nUser-agent: A\n# and\n\nuser-agent : Bingbot # both\nDisallow: /search\n\nUser-agent: *\nDisallow:\n",
    "User-agent: *\nAllow: /\n\nUser-agent: Bingbot\nDisallow: /search\n\nUser-agent: *\nContent-Signal: search=yes\n",
    "Sitemap: https://shop.example/sitemap.xml\nUser-agent: Bingbot",
    "Disallow: /nobodys\n",
)


def test_a_link_is_of_one_site_and_day_and_counts_until_the_next() -> None:
    links = {link_of(site, day) for site in (SITE, OTHER) for day in (DAY, DAY + 1, STANDING)}

    assert len(links) == 6
    assert all(link.startswith((folder_of(SITE), folder_of(OTHER))) for link in links)
    assert link_of(SITE, DAY) in targets_on(SITE, DAY) & targets_on(SITE, DAY + 1)
    assert link_of(SITE, DAY) not in targets_on(SITE, DAY + 2) | targets_on(SITE, DAY - 1) | targets_on(OTHER, DAY)
    assert link_of(SITE, STANDING) in targets_on(SITE, DAY) & targets_on(SITE, DAY + 300)
    assert SITE not in link_of(SITE, DAY)


def test_no_part_of_the_link_ends_a_string_or_a_line_of_a_proxy() -> None:
    assert set("\"'\n\r;$\\").isdisjoint(html_of(link_of(SITE, DAY)))


@pytest.mark.parametrize("own", FILES)
@pytest.mark.parametrize("crawler", ["bingbot", "a", "other"])
def test_robots_txt_forbids_only_the_folder_and_to_all(own: str, crawler: str) -> None:
    text = forbid_decoys(own, SITE)
    before, after = RobotsRules(own), RobotsRules(text)
    plain = RobotFileParser()
    plain.parse(text.splitlines())

    for target in (link_of(SITE, DAY), link_of(SITE, STANDING), folder_of(SITE) + "x"):
        verdict = after.judge(target)
        assert verdict is not None
        assert verdict.disallows(crawler, is_closed=False)
        assert not plain.can_fetch(crawler, f"https://shop.example{target}")
    for target in ("/", "/search", "/nobodys", folder_of(OTHER)):
        one, other = before.judge(target), after.judge(target)
        assert one is not None
        assert other is not None
        assert one.disallows(crawler, is_closed=False) is other.disallows(crawler, is_closed=False)
    assert [line for line in text.splitlines() if line and "Disallow: " + folder_of(SITE) not in line][
        : len([line for line in own.splitlines() if line])
    ] == [line for line in own.splitlines() if line]
