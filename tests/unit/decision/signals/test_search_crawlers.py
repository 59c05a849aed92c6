"""Claims of search crawlers: confirmed by published networks or by DNS, found forged, or not known yet."""

import asyncio
import json

import pytest

from agentgate.decision.signals.observe import observe
from agentgate.decision.threat_data.intel import load_intel, make_intel
from agentgate.decision.threat_data.intel_file import write_set
from agentgate.decision.threat_data.search_operators import read_operators
from agentgate.decision.threat_data.search_verification import (
    FORGED_MS,
    FREE_ELSEWHERE,
    FREE_IN_KNOWN_NETWORK,
    MOST_KNOWN,
    MOST_WAITING,
    UNKNOWN_MS,
    VERIFIED_MS,
    CrawlerClaim,
    CrawlerStatus,
    CrawlerStatuses,
    SearchConfirmer,
    SearchVerdicts,
)
from agentgate.http.outbound.dns import NameLookup
from agentgate.lib.clock import HOUR_MS, FixedClock
from agentgate_tools.threat_lists.imports import import_folder
from tests.support.dns_server import PTR, A, DnsServer, dns_server
from tests.unit.decision.signals.requests import make_facts

GOOGLEBOT = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
DUCKDUCKBOT = "DuckDuckBot/1.1; (+http://duckduckgo.com/duckduckbot.html)"
ADDRESS = "192.178.5.1"
NAME = "crawl-66-249-66-1.googlebot.com"
GOOGLE, BING = read_operators()[:2]


@pytest.fixture
def server():
    with dns_server() as running:
        yield running


def standing_of(server: DnsServer, address: str = ADDRESS) -> CrawlerStatus:
    confirmer = SearchConfirmer(CrawlerStatuses(), NameLookup((("127.0.0.1", server.port),)), FixedClock(0))
    return asyncio.run(confirmer.confirm(CrawlerClaim(address, GOOGLE)))


def searched(intel, user_agent: str, address: str, now_ms: int = 0) -> list[str]:
    labels = observe(make_facts(user_agent=user_agent, address=address, now_ms=now_ms), intel).labels
    return [label for label in labels if label.startswith(("agent.search_", "agent.program_"))]


def test_a_name_of_the_operator_that_leads_back_confirms(server: DnsServer) -> None:
    server.point(ADDRESS, NAME)
    server.point("2001:4860:4801:10::1", "six.googlebot.com")

    assert standing_of(server) is CrawlerStatus.VERIFIED
    assert standing_of(server, "2001:4860:4801:10::1") is CrawlerStatus.VERIFIED


@pytest.mark.parametrize("name", ["host.example", "googlebot.com.evil.example", "notgooglebot.com", "googlebot.com"])
def test_a_name_of_another_user_is_a_forgery(server: DnsServer, name: str) -> None:
    server.point(ADDRESS, name)

    assert standing_of(server) is CrawlerStatus.FORGED


def test_a_name_that_does_not_lead_back_is_a_forgery(server: DnsServer) -> None:
    server.point(ADDRESS, NAME, back=False)
    assert standing_of(server) is CrawlerStatus.FORGED

    server.records[NAME, A] = ["192.178.5.2"]
    assert standing_of(server) is CrawlerStatus.FORGED


def test_an_address_without_a_name_is_a_forgery(server: DnsServer) -> None:
    assert standing_of(server) is CrawlerStatus.FORGED


def test_a_server_that_fails_or_is_silent_shows_nothing(server: DnsServer) -> None:
    server.code = 2
    assert standing_of(server) is CrawlerStatus.UNKNOWN

    server.silent = True
    assert standing_of(server) is CrawlerStatus.UNKNOWN


def test_one_of_several_names_is_enough(server: DnsServer) -> None:
    server.records["1.5.178.192.in-addr.arpa", PTR] = ["host.example", NAME]
    server.records[NAME, A] = ["192.0.2.1", ADDRESS]

    assert standing_of(server) is CrawlerStatus.VERIFIED


def test_the_first_request_is_unconfirmed_and_later_ones_have_the_response(server: DnsServer) -> None:
    server.point(ADDRESS, NAME)

    async def play() -> tuple[list[str], list[str], list[str]]:
        crawler_statuses = CrawlerStatuses()
        confirmer = SearchConfirmer(crawler_statuses, NameLookup((("127.0.0.1", server.port),)), FixedClock(0))
        confirmer.start()
        intel = make_intel(None, crawler_statuses)
        first = searched(intel, GOOGLEBOT, ADDRESS)
        other = searched(intel, GOOGLEBOT, "198.51.100.7")
        async with asyncio.timeout(5):
            while len(crawler_statuses) < 2:  # noqa: ASYNC110 - the cache has no event for a new entry
                await asyncio.sleep(0.005)
        later = searched(intel, GOOGLEBOT, ADDRESS), searched(intel, GOOGLEBOT, "198.51.100.7")
        await confirmer.close()
        assert first == other
        return first, *later

    assert asyncio.run(play()) == (["agent.search_unconfirmed"], ["agent.search_verified"], ["agent.search_forged"])
    # Asked once each, however many requests came.
    assert server.asked.count("1.5.178.192.in-addr.arpa") == 1


def listening(crawler_statuses: CrawlerStatuses) -> list[CrawlerClaim]:
    claims: list[CrawlerClaim] = []
    crawler_statuses.on_claim = claims.append
    return claims


@pytest.mark.parametrize(
    ("crawler_status", "lasts_ms"), [(CrawlerStatus.VERIFIED, VERIFIED_MS), (CrawlerStatus.FORGED, FORGED_MS)]
)
def test_a_response_is_remembered_for_its_time_and_then_asked_for_again(
    crawler_status: CrawlerStatus, lasts_ms: int
) -> None:
    crawler_statuses = CrawlerStatuses()
    claims = listening(crawler_statuses)
    crawler_statuses.learn(CrawlerClaim(ADDRESS, GOOGLE), crawler_status, 0)

    assert crawler_statuses.find(ADDRESS, GOOGLE, lasts_ms - 1) is crawler_status
    assert claims == []
    # The old status remains valid during the new lookup.
    assert crawler_statuses.find(ADDRESS, GOOGLE, lasts_ms) is crawler_status
    assert claims == [CrawlerClaim(ADDRESS, GOOGLE)]


def test_anyone_who_lets_our_questions_time_out_is_unconfirmed_only_once() -> None:
    crawler_statuses = CrawlerStatuses()
    listening(crawler_statuses)

    assert crawler_statuses.find(ADDRESS, GOOGLE, 0) is CrawlerStatus.UNCONFIRMED
    crawler_statuses.learn(CrawlerClaim(ADDRESS, GOOGLE), CrawlerStatus.UNKNOWN, 0)
    assert crawler_statuses.find(ADDRESS, GOOGLE, 1) is CrawlerStatus.UNKNOWN
    assert crawler_statuses.find(ADDRESS, GOOGLE, UNKNOWN_MS) is CrawlerStatus.UNKNOWN


def test_a_failed_question_does_not_end_what_was_known() -> None:
    crawler_statuses = CrawlerStatuses()
    listening(crawler_statuses)
    crawler_statuses.learn(CrawlerClaim(ADDRESS, GOOGLE), CrawlerStatus.VERIFIED, 0)

    crawler_statuses.find(ADDRESS, GOOGLE, VERIFIED_MS)
    crawler_statuses.learn(CrawlerClaim(ADDRESS, GOOGLE), CrawlerStatus.UNKNOWN, VERIFIED_MS)

    assert crawler_statuses.find(ADDRESS, GOOGLE, VERIFIED_MS + 1) is CrawlerStatus.VERIFIED


def test_a_flood_of_claims_is_bounded_and_not_believed() -> None:
    crawler_statuses = CrawlerStatuses()
    claims = listening(crawler_statuses)
    found = [crawler_statuses.find(f"2001:db8:{number:x}::1", GOOGLE, 0) for number in range(MOST_WAITING + 50)]

    assert len(claims) == MOST_WAITING
    assert found.count(CrawlerStatus.UNCONFIRMED) == FREE_ELSEWHERE
    assert found[-1] is CrawlerStatus.UNKNOWN
    for number in range(MOST_KNOWN + 10):
        crawler_statuses.learn(CrawlerClaim(f"2001:db8:1::{number:x}", GOOGLE), CrawlerStatus.FORGED, 0)
    assert len(crawler_statuses) == MOST_KNOWN


def test_forged_claims_from_many_networks_hardly_pass() -> None:
    crawler_statuses = CrawlerStatuses()
    listening(crawler_statuses)
    found = [crawler_statuses.find(f"198.{18 + n // 200}.{n % 200}.9", GOOGLE, n) for n in range(400)]

    assert found.count(CrawlerStatus.UNCONFIRMED) / len(found) <= 0.02


def test_a_network_in_which_the_operator_has_crawlers_has_its_own_budget() -> None:
    crawler_statuses = CrawlerStatuses()
    listening(crawler_statuses)
    crawler_statuses.learn(CrawlerClaim("203.0.113.1", GOOGLE), CrawlerStatus.VERIFIED, 0)
    found = [crawler_statuses.find(f"203.0.113.{n}", GOOGLE, 0) for n in range(2, 40)]

    assert found.count(CrawlerStatus.UNCONFIRMED) == FREE_IN_KNOWN_NETWORK
    # The next hour has a new budget. A visitor that passed still passes until the result arrives.
    assert crawler_statuses.find("203.0.113.2", GOOGLE, 1) is CrawlerStatus.UNCONFIRMED
    assert crawler_statuses.find("203.0.113.39", GOOGLE, HOUR_MS) is CrawlerStatus.UNCONFIRMED


def test_responses_survive_a_restart_and_an_outage_of_dns(tmp_path) -> None:
    before = CrawlerStatuses()
    before.learn(CrawlerClaim(ADDRESS, GOOGLE), CrawlerStatus.VERIFIED, 0)
    before.learn(CrawlerClaim("198.51.100.7", GOOGLE), CrawlerStatus.FORGED, 0)
    before.learn(CrawlerClaim("198.51.100.8", GOOGLE), CrawlerStatus.UNKNOWN, 0)
    SearchVerdicts(tmp_path, before).save()
    after = CrawlerStatuses()
    SearchVerdicts(tmp_path, after).load()
    listening(after)

    assert len(after) == 2
    assert after.find(ADDRESS, GOOGLE, 1) is CrawlerStatus.VERIFIED
    # The status has expired, and DNS does not respond: the known status remains valid.
    assert after.find(ADDRESS, GOOGLE, 10 * VERIFIED_MS) is CrawlerStatus.VERIFIED
    assert after.find("198.51.100.7", GOOGLE, 1) is CrawlerStatus.FORGED


def test_a_damaged_file_of_responses_is_passed_over(tmp_path) -> None:
    (tmp_path / "search-verdicts.json").write_bytes(b"[[")
    crawler_statuses = CrawlerStatuses()
    SearchVerdicts(tmp_path, crawler_statuses).load()

    assert len(crawler_statuses) == 0


def test_a_preview_is_verified_by_its_networks_and_never_forged() -> None:
    intel = load_intel(None)
    preview = "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)"

    assert searched(intel, preview, "69.171.230.1") == ["agent.program_verified"]
    # People's own phones fetch previews under that name.
    assert searched(intel, preview, "198.51.100.7") == []


def test_the_same_address_may_be_one_operators_and_not_anothers() -> None:
    crawler_statuses = CrawlerStatuses()
    listening(crawler_statuses)
    crawler_statuses.learn(CrawlerClaim(ADDRESS, GOOGLE), CrawlerStatus.VERIFIED, 0)

    assert crawler_statuses.find(ADDRESS, BING, 0) is CrawlerStatus.UNCONFIRMED


def test_without_dns_and_without_networks_no_one_can_tell() -> None:
    assert searched(load_intel(None), GOOGLEBOT, ADDRESS) == ["agent.search_unknown"]


def test_bundled_networks_verify_without_dns() -> None:
    assert searched(load_intel(None), GOOGLEBOT, "66.249.66.1") == ["agent.search_verified"]


def test_who_claims_nothing_is_not_looked_up() -> None:
    crawler_statuses = CrawlerStatuses()
    claims = listening(crawler_statuses)

    assert searched(make_intel(None, crawler_statuses), "Mozilla/5.0 (compatible; GPTBot/1.2)", ADDRESS) == []
    assert claims == []


@pytest.mark.parametrize("address", ["10.1.2.3", "127.0.0.1", "fd00::1", "not an address"])
def test_addresses_of_no_open_network_are_not_looked_up(address: str) -> None:
    crawler_statuses = CrawlerStatuses()
    claims = listening(crawler_statuses)

    assert searched(make_intel(None, crawler_statuses), GOOGLEBOT, address) == []
    assert claims == []


def test_published_networks_confirm_without_a_question(tmp_path) -> None:
    lists = tmp_path / "lists"
    lists.mkdir()
    prefixes = {"prefixes": [{"ipv4Prefix": "192.178.5.0/27"}, {"ipv6Prefix": "2001:4860:4801:10::/64"}]}
    (lists / "search-google.json").write_text(json.dumps(prefixes))
    (lists / "search-duckduckgo.txt").write_text("20.191.45.212\n2001:db8::5\n")
    imported, reports = import_folder(lists, now_ms=1)
    write_set(tmp_path / "threat-data.zip", imported)
    crawler_statuses = CrawlerStatuses()
    claims = listening(crawler_statuses)
    intel = load_intel(tmp_path, crawler_statuses)

    assert [(report.kind, report.taken) for report in reports] == [("search-duckduckgo", 2), ("search-google", 2)]
    assert searched(intel, GOOGLEBOT, "192.178.5.9") == ["agent.search_verified"]
    assert searched(intel, GOOGLEBOT, "2001:4860:4801:10::9") == ["agent.search_verified"]
    assert searched(intel, DUCKDUCKBOT, "20.191.45.212") == ["agent.search_verified"]
    assert searched(intel, DUCKDUCKBOT, "2001:db8::5") == ["agent.search_verified"]
    assert claims == []
    # If an operator has no names in DNS, only its list counts; for others, DNS is queried.
    assert searched(intel, DUCKDUCKBOT, "192.0.2.9") == ["agent.search_forged"]
    assert searched(intel, GOOGLEBOT, "192.178.6.9") == ["agent.search_unconfirmed"]
    assert claims == [CrawlerClaim("192.178.6.9", GOOGLE)]
    # The list shows whose crawlers these are, and adds no network labels.
    assert not any(label.startswith("net.") for label in observe(make_facts(address="192.178.5.9"), intel).labels)


def test_a_list_of_an_unknown_operator_is_blocked(tmp_path) -> None:
    (tmp_path / "search-nobody.txt").write_text("192.0.2.1\n")

    _, [report] = import_folder(tmp_path, now_ms=0)

    assert (report.taken, report.refused) == (0, 1)


def test_every_operator_is_found_by_a_name_that_the_lists_know() -> None:
    intel = load_intel(None)
    known = {token.text for token in intel.tokens.tokens}

    for operator in read_operators():
        assert set(operator.tokens) <= known, operator.name
    numbers = [operator.number for operator in read_operators()]
    assert len(set(numbers)) == len(numbers)
    assert all(8 <= number < 64 for number in numbers)
