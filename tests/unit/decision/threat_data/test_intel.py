"""The bundled data, the file of an imported set, and taking over a new one."""

from pathlib import Path

import pytest

from agentgate.decision.signals.facts import RequestFacts
from agentgate.decision.signals.observe import observe
from agentgate.decision.threat_data.intel import DATA, IntelDirectory, load_intel
from agentgate.decision.threat_data.intel_file import FILE_NAME, IntelRefused, encode_set, read_set, write_set
from agentgate_tools.threat_lists.imports import import_folder

NOW_MS = 1_790_000_000_000
LISTS = {
    "block.txt": "203.0.113.0/24\n2001:db8::7 # one address\n",
    "allow.txt": "203.0.113.9\n",
    "tor-exits.txt": "ExitNode 00AA\nPublished 2026-01-01 00:00:00\nExitAddress 198.51.100.7 2026-01-01 00:00:00\n",
    "vpn.txt": "198.51.100.0/28\n",
    "asn.tsv": "192.0.2.0\t192.0.2.255\t64496\tDE\tEXAMPLE\n2001:db8::\t2001:db8:ffff::\t64497\tFR\tOTHER\n",
}


def put(folder, lists):
    folder.mkdir(exist_ok=True)
    for name, text in lists.items():
        (folder / name).write_text(text, "utf-8")
    return folder


@pytest.fixture
def imported(tmp_path):
    found, _ = import_folder(put(tmp_path / "lists", LISTS), now_ms=NOW_MS)
    return found


def labels(intel, address):
    facts = RequestFacts(now_ms=0, method="GET", target="/", address=address, headers=())
    return [label for label in observe(facts, intel).labels if label.startswith(("net.", "list."))]


def test_the_bundled_data_are_useful_on_their_own():
    intel = load_intel(None)

    assert len(intel.tokens.tokens) >= 1_500
    assert labels(intel, "159.65.1.1") == ["net.datacenter"]
    assert labels(intel, "81.2.69.160") == []


def test_the_bundled_data_are_small_and_have_their_licenses():
    files = [path for path in DATA.rglob("*") if path.is_file()]

    assert sum(path.stat().st_size for path in files) < 1_500_000
    assert {path.name for path in (DATA / "licenses").iterdir()} == {
        "ai-crawler-index.txt",
        "ai.robots.txt",
        "coreruleset.txt",
        "crawler-detect.txt",
        "crawler-user-agents.txt",
        "nginx-ultimate-bad-bot-blocker.txt",
        "opawg-user-agents.txt",
        "well-known-bots.txt",
    }


def test_an_imported_set_shows_what_its_lists_show(tmp_path, imported):
    write_set(tmp_path / FILE_NAME, imported)
    intel = load_intel(tmp_path)

    assert labels(intel, "203.0.113.5") == ["list.block"]
    assert labels(intel, "203.0.113.9") == ["list.allow", "list.block"]
    assert labels(intel, "198.51.100.7") == ["net.tor", "net.vpn"]
    assert labels(intel, "192.0.2.77") == ["net.asn.64496", "net.country.de"]
    assert labels(intel, "2001:db8::7") == ["list.block", "net.asn.64497", "net.country.fr"]
    assert labels(intel, "2001:db8::8") == ["net.asn.64497", "net.country.fr"]
    assert labels(intel, "159.65.1.1") == ["net.datacenter"]


def test_a_written_set_is_read_back_the_same(tmp_path, imported):
    write_set(tmp_path / FILE_NAME, imported)

    assert read_set(tmp_path / FILE_NAME) == imported
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith("unfinished")] == []


def test_a_damaged_set_is_rejected_wherever_the_damage_is(tmp_path, imported):
    sound = encode_set(imported)
    path = tmp_path / FILE_NAME
    refused = 0
    for place in range(0, len(sound), 7):
        path.write_bytes(sound[:place] + bytes([sound[place] ^ 0x55]) + sound[place + 1 :])
        try:
            read_set(path)
        except IntelRefused:
            refused += 1

    # A changed byte that is never read, such as a time in the archive's index, does no harm.
    assert refused > len(sound) / 7 * 0.5


@pytest.mark.parametrize("content", [b"", b"PK", b"not an archive", b"\0" * 1000])
def test_what_is_not_a_set_is_rejected_with_advice(tmp_path, content):
    (tmp_path / FILE_NAME).write_bytes(content)

    with pytest.raises(IntelRefused, match="run `agentgate intel update` again"):
        load_intel(tmp_path)


def test_a_directory_takes_over_a_new_set(tmp_path, imported):
    directory = IntelDirectory(tmp_path)
    before = directory.current

    write_set(tmp_path / FILE_NAME, imported)

    assert directory.refresh() is True
    assert directory.current is not before
    assert labels(directory.current, "203.0.113.5") == ["list.block"]
    assert directory.refresh() is False
    assert directory.status() == (True, "set of 2026-09-21T14:13:20.000Z")


def test_a_damaged_set_leaves_the_last_one_active(tmp_path, imported):
    write_set(tmp_path / FILE_NAME, imported)
    directory = IntelDirectory(tmp_path)
    before = directory.current

    Path(tmp_path / FILE_NAME).write_bytes(b"damaged")

    assert directory.refresh() is False
    assert directory.current is before
    fine, line = directory.status()
    assert not fine
    assert "cannot be read" in line


def test_a_set_that_is_gone_stays_active_and_is_reported(tmp_path, imported):
    write_set(tmp_path / FILE_NAME, imported)
    directory = IntelDirectory(tmp_path)

    (tmp_path / FILE_NAME).unlink()

    assert directory.refresh() is False
    assert labels(directory.current, "203.0.113.5") == ["list.block"]
    assert directory.status()[0] is False


def test_without_a_set_the_bundled_data_are_enough_unless_a_folder_was_named(tmp_path):
    assert IntelDirectory(None).status() == (True, "bundled data only")
    assert IntelDirectory(tmp_path / "none").status() == (True, "bundled data only")
    assert IntelDirectory(tmp_path / "none", expected=True).status()[0] is False
