"""The population: who is in it, that the seed decides about all of it, and how visits go."""

from collections import Counter
from ipaddress import ip_address
from itertools import islice

import pytest

from tests.population.browsers import CHROMES
from tests.population.client_hints import brand_list
from tests.population.languages import LANGUAGES, firefox_languages, in_tenths
from tests.population.visitors import in_turns, population, strangers

SEED = 27
CLEARANCE = "ag_clearance_1234=agc2.abc"
# What differs from page to page; the rest is the head that a browser sends again and again.
OF_THE_PAGE = frozenset({"cookie", "referer", "sec-fetch-site"})


@pytest.fixture(scope="module")
def people():
    return list(population(SEED, visitors=4_000, pages=8))


def head_of(request):
    return tuple((name, value) for name, value in request.headers if name.lower() not in OF_THE_PAGE)


def test_the_same_seed_gives_the_same_people_and_another_seed_others():
    first, again, other = ([*population(seed, visitors=50)] for seed in (1, 1, 2))

    assert first == again
    assert [visitor.address for visitor in first] != [visitor.address for visitor in other]


def test_the_first_visitors_are_the_same_for_any_number_of_them():
    assert list(population(SEED, visitors=10)) == list(islice(population(SEED, visitors=25_000), 10))


def test_six_browsers_on_five_platforms_in_many_versions_and_languages(people):
    browsers = [visitor.browser for visitor in people]

    assert {browser.name for browser in browsers} == {
        "Chrome",
        "Edge",
        "Safari",
        "Firefox",
        "Samsung Internet",
        "WebView",
    }
    assert {browser.platform for browser in browsers} == {"Windows", "macOS", "Linux", "Android", "iOS"}
    assert {browser.mobile for browser in browsers} == {True, False}
    assert len({(browser.name, browser.version) for browser in browsers}) >= 60
    assert len({browser.version for browser in browsers if browser.name == "Chrome"}) >= 30
    assert len({browser.language for browser in browsers}) >= 20


def test_people_send_many_heads_and_most_are_sent_by_several(people):
    heads = Counter(head_of(visitor.navigation(1)) for visitor in people)

    assert len(heads) > 1_024
    assert sum(count for count in heads.values() if count > 1) > len(people) / 2


def test_addresses_are_public_mostly_of_ipv4_and_hardly_ever_shared(people):
    addresses = [ip_address(visitor.address) for visitor in people]

    assert all(address.is_global for address in addresses)
    assert 0.6 < sum(address.version == 4 for address in addresses) / len(addresses) < 0.9
    assert len(set(addresses)) > 0.99 * len(addresses)
    assert all(str(address) == visitor.address for address, visitor in zip(addresses, people, strict=True))


def test_a_visit_begins_without_cookies_and_continues_with_referrer_and_clearance(people):
    for visitor in people[:200]:
        first, *others = ({name.lower(): value for name, value in request.headers} for request in _visit(visitor))

        assert len(others) == 7
        assert "cookie" not in first
        assert first["sec-fetch-site"] == ("cross-site" if "referer" in first else "none")
        assert all(CLEARANCE in headers["cookie"].split("; ") for headers in others)
        assert [headers["referer"] for headers in others] == [visitor.origin + path for path in visitor.paths[:-1]]
        assert {headers["sec-fetch-site"] for headers in others} == {"same-origin"}


def _visit(visitor):
    return list(visitor.navigations(CLEARANCE))


def test_visits_overlap_and_each_keeps_its_order():
    turns = list(in_turns(population(SEED, visitors=100, pages=8), SEED, at_once=30))
    pages = {visitor.number: [] for visitor, _ in turns}
    for visitor, page in turns:
        pages[visitor.number].append(page)

    assert pages == {number: list(range(8)) for number in range(100)}
    assert len({visitor.number for visitor, _ in turns[:30]}) > 10


def test_strangers_share_neither_user_agent_nor_address_nor_page():
    everybody = list(strangers(SEED, 2_000))

    assert len({visitor.browser.user_agent for visitor in everybody}) == 2_000
    assert len({path for visitor in everybody for path in visitor.paths}) == 4_000
    assert len({visitor.address for visitor in everybody}) > 1_990


def test_a_mix_of_chromes_has_only_these():
    browsers = [visitor.browser for visitor in population(SEED, visitors=1_000, mix=CHROMES)]

    assert {browser.engine for browser in browsers} == {"chromium"}
    assert {browser.name for browser in browsers} == {"Chrome", "Edge"}


@pytest.mark.parametrize(
    ("brand", "major", "expected"),
    [
        ("Google Chrome", 116, '"Chromium";v="116", "Not)A;Brand";v="24", "Google Chrome";v="116"'),
        ("Microsoft Edge", 120, '"Not_A Brand";v="8", "Chromium";v="120", "Microsoft Edge";v="120"'),
        ("Google Chrome", 123, '"Google Chrome";v="123", "Not:A-Brand";v="8", "Chromium";v="123"'),
        ("Google Chrome", 124, '"Chromium";v="124", "Google Chrome";v="124", "Not-A.Brand";v="99"'),
        ("Google Chrome", 131, '"Google Chrome";v="131", "Chromium";v="131", "Not_A Brand";v="24"'),
        ("Google Chrome", 133, '"Not(A:Brand";v="99", "Google Chrome";v="133", "Chromium";v="133"'),
        ("Microsoft Edge", 149, '"Microsoft Edge";v="149", "Chromium";v="149", "Not)A;Brand";v="24"'),
    ],
)
def test_brands_are_those_that_were_seen(brand, major, expected):
    assert brand_list(brand, major) == expected


@pytest.mark.parametrize(
    ("tag", "version", "expected"),
    [
        ("en-US", 146, "en-US,en;q=0.5"),
        ("en-US", 147, "en-US,en;q=0.9"),
        ("de", 140, "de,en-US;q=0.7,en;q=0.3"),
        ("ru-RU", 144, "ru-RU,ru;q=0.8,en-US;q=0.5,en;q=0.3"),
        ("zh-CN", 128, "zh-CN,zh;q=0.8,zh-TW;q=0.7,zh-HK;q=0.5,en-US;q=0.3,en;q=0.2"),
    ],
)
def test_firefox_weighs_languages_as_it_was_seen_to(tag, version, expected):
    (language,) = (language for language in LANGUAGES if language.firefox[0] == tag)

    assert firefox_languages(language, version) == expected


def test_chromium_weighs_each_language_10_percent_less():
    assert in_tenths(("fr-FR", "fr", "en-US", "en")) == "fr-FR,fr;q=0.9,en-US;q=0.8,en;q=0.7"
