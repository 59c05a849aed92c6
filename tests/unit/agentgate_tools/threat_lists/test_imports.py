"""Published lists in their own formats, sound and broken."""

import gzip
import json

import pytest

from agentgate.decision.signals.detectors.address import country_text
from agentgate.decision.threat_data.intel import load_intel
from agentgate.decision.threat_data.intel_file import FILE_NAME, IntelRefused, write_set
from agentgate.decision.threat_data.networks import BLOCK, DATACENTER, TOR
from agentgate.lib.ip_address import read_address
from agentgate_tools.threat_lists.imports import import_folder
from tests.unit.decision.threat_data.mmdb import make_mmdb

AWS = {"prefixes": [{"ip_prefix": "192.0.2.0/25"}], "ipv6_prefixes": [{"ipv6_prefix": "2001:db8:a::/48"}]}
GOOGLE = {"prefixes": [{"ipv4Prefix": "198.51.100.0/24"}, {"ipv6Prefix": "2001:db8:b::/48"}]}
AZURE = {"values": [{"properties": {"addressPrefixes": ["203.0.113.0/24", "2001:db8:c::/48"]}}]}


def read(folder, name, content):
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    imported, reports = import_folder(folder, now_ms=0)
    return imported, reports[0]


@pytest.mark.parametrize(
    ("content", "addresses"),
    [
        (AWS, ["192.0.2.1", "2001:db8:a::1"]),
        (GOOGLE, ["198.51.100.1", "2001:db8:b::1"]),
        (AZURE, ["203.0.113.1", "2001:db8:c::1"]),
    ],
)
def test_ranges_of_the_clouds_are_data_centres(tmp_path, content, addresses):
    imported, report = read(tmp_path, "ranges.json", json.dumps(content))

    assert (report.taken, report.refused) == (2, 0)
    assert [imported.flags.find(read_address(address)) for address in addresses] == [DATACENTER, DATACENTER]


def test_a_compressed_table_of_networks_is_read(tmp_path):
    content = gzip.compress(b"192.0.2.0\t192.0.2.255\t64496\tDE\tA\n192.0.3.0\t192.0.3.255\t0\tNone\tNot routed\n")

    imported, report = read(tmp_path, "ip2asn-combined.tsv.gz", content)

    assert (report.taken, report.refused) == (2, 0)
    assert imported.asn.find(read_address("192.0.2.9")) == 64496
    assert imported.asn.find(read_address("192.0.3.9")) == 0


def test_databases_of_networks_and_countries_are_read(tmp_path):
    asn = make_mmdb("GeoLite2-ASN", {"192.0.2.0/24": {"autonomous_system_number": 64496}})
    country = make_mmdb("GeoLite2-Country", {"192.0.2.0/25": {"country": {"iso_code": "DE"}}})
    (tmp_path / "country.mmdb").write_bytes(country)
    (tmp_path / "asn.mmdb").write_bytes(asn)

    imported, reports = import_folder(tmp_path, now_ms=0)

    assert [(report.taken, report.refused) for report in reports] == [(1, 0), (1, 0)]
    assert imported.asn.find(read_address("192.0.2.200")) == 64496
    assert country_text(imported.country.find(read_address("192.0.2.1"))) == "de"
    assert imported.country.find(read_address("192.0.2.200")) == 0


def test_plain_tor_lists_are_read(tmp_path):
    imported, report = read(tmp_path, "torbulkexitlist.txt", "198.51.100.1\n198.51.100.2\n")

    assert report.taken == 2
    assert imported.flags.find(read_address("198.51.100.2")) == TOR


def test_a_newer_list_of_crawlers_adds_its_names(tmp_path):
    entries = [
        {"pattern": "BrandNewBot", "tags": ["seo"], "instances": ["BrandNewBot/1"]},
        {"pattern": "a.*b", "tags": []},
    ]

    imported, report = read(tmp_path, "crawler-user-agents.json", json.dumps(entries))

    assert [token.name for token in imported.tokens] == ["BrandNewBot"]
    assert report.refused == 0
    assert [refusal.reason for refusal in report.refusals] == ["pattern 'a.*b' is not plain text, or too general"]


def test_a_line_that_is_not_a_network_is_rejected_with_its_number(tmp_path):
    imported, report = read(tmp_path, "block.txt", "# mine\n192.0.2.1\n\nnonsense\n1.2.3.4/99\n")

    assert (report.taken, report.refused) == (1, 2)
    assert [refusal.line for refusal in report.refusals] == [4, 5]
    assert imported.flags.find(read_address("192.0.2.1")) == BLOCK


@pytest.mark.parametrize("line", ["0.0.0.0/0", "64.0.0.0/2", "::/0", "2000::/3"])
def test_a_network_that_is_half_the_internet_is_rejected(tmp_path, line):
    _, report = read(tmp_path, "block.txt", line)

    assert report.taken == 0
    assert "too wide" in report.refusals[0].reason


@pytest.mark.parametrize(
    "line",
    [
        "192.0.2.0\t192.0.2.255",
        "b\ta\t1\tDE\tX",
        "192.0.2.9\t192.0.2.1\t1\tDE\tX",
        "192.0.2.0\t::1\t1\tDE\tX",
        "192.0.2.0\t192.0.2.1\tmany\tDE\tX",
        "192.0.2.0\t192.0.2.1\t1\tGermany\tX",
        "192.0.2.0\t192.0.2.1\t-4\tDE\tX",
    ],
)
def test_a_line_that_is_not_a_range_with_a_number_is_rejected(tmp_path, line):
    _, report = read(tmp_path, "table.tsv", line)

    assert (report.taken, report.refused) == (0, 1)


AGENT = {
    "origin": "https://agent.example",
    "name": "Example",
    "operator": "Example",
    "purpose": "agent",
    "source": "https://agent.example/docs",
    "date": "2026-11-19",
    "status": "confirmed",
}


def test_a_list_of_known_agents_replaces_the_bundled_one(tmp_path):
    assert "chatgpt.com" in load_intel(None).agent_hosts
    imported, report = read(tmp_path, "known_agents.json", json.dumps({"note": "", "agents": [AGENT]}))

    assert (report.kind, report.taken) == ("known_agents", 1)
    write_set(tmp_path / FILE_NAME, imported)
    assert load_intel(tmp_path).agent_hosts == {"agent.example"}


@pytest.mark.parametrize(
    "origin", ["http://agent.example", "https://agent.example/", "https://agent.example:8443", "*"]
)
def test_a_list_of_known_agents_with_another_origin_is_rejected_whole(tmp_path, origin):
    with pytest.raises(IntelRefused):
        read(tmp_path, "known_agents.json", json.dumps({"note": "", "agents": [{**AGENT, "origin": origin}]}))


def test_a_file_of_no_known_kind_is_rejected_and_the_reason_names_the_known(tmp_path):
    _, report = read(tmp_path, "addresses.csv", "192.0.2.1\n")

    assert report.refused == 1
    assert "datacenter*.txt" in report.refusals[0].reason


def test_a_licence_next_to_the_lists_is_not_a_list(tmp_path):
    (tmp_path / "LICENSE.txt").write_text("MIT")

    _, report = read(tmp_path, "vpn.txt", "192.0.2.1\n")

    assert report.file == "vpn.txt"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("ranges.json", b"{"),
        ("ranges.json", b"{}"),
        ("ranges.json", b'"text"'),
        ("ranges.json", b'{"values": [1]}'),
        ("asn.tsv.gz", b"not compressed"),
        ("asn.mmdb", b"not a database"),
    ],
)
def test_a_file_that_is_not_what_its_name_shows_is_rejected_whole(tmp_path, name, content):
    with pytest.raises(IntelRefused, match=f"{name} cannot be read"):
        read(tmp_path, name, content)


def test_an_empty_folder_is_rejected(tmp_path):
    with pytest.raises(IntelRefused, match="has no files"):
        import_folder(tmp_path, now_ms=0)
