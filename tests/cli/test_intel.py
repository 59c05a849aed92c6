"""`agentgate intel update` and `intel show`, on real files."""

import gzip
import json
import tracemalloc
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest
from msgspec import structs

from agentgate.decision.threat_data.intel_file import FILE_NAME
from agentgate.decision.threat_data.search_operators import read_operators
from agentgate_tools.commands.command import CommandRefused
from agentgate_tools.commands.intel import fetch_operators
from agentgate_tools.threat_lists import imports
from agentgate_tools.threat_lists.imports import LONGEST_LINE
from tests.cli.commands import agentgate


def put(folder, **lists):
    lists_folder = folder / "lists"
    lists_folder.mkdir(exist_ok=True)
    for name, text in lists.items():
        (lists_folder / f"{name}.txt").write_text(text)
    return str(lists_folder)


def test_an_update_is_shown_afterwards(tmp_path):
    lists = put(tmp_path, block="192.0.2.0/24\n", tor="198.51.100.7\n")

    updated = agentgate(tmp_path, "intel", "update", lists)
    shown = agentgate(tmp_path, "intel", "show", "--json")

    assert updated.returncode == 0
    assert "block.txt (block): 1 taken, 0 refused" in updated.stdout
    found = json.loads(shown.stdout)
    assert found["imported"] is not None
    assert {"source": "tor.txt", "kind": "tor", "taken": 1} in found["sources"]


def test_the_set_goes_into_the_folder_that_is_set(tmp_path):
    intel_dir = tmp_path / "threats"
    intel_dir.mkdir()

    agentgate(tmp_path, "intel", "update", put(tmp_path, vpn="192.0.2.1\n"), AGENTGATE_INTEL_DIR=str(intel_dir))

    assert [path.name for path in intel_dir.iterdir()] == [FILE_NAME]


def test_a_rejected_line_changes_nothing_and_is_named(tmp_path):
    agentgate(tmp_path, "intel", "update", put(tmp_path, block="192.0.2.0/24\n"))
    before = (tmp_path / "data/intel" / FILE_NAME).read_bytes()

    result = agentgate(tmp_path, "intel", "update", put(tmp_path, block="192.0.2.0/24\nnonsense\n"))

    assert result.returncode == 2
    assert "block.txt:2: 'nonsense'" in result.stdout
    assert "--skip-refused" in result.stderr
    assert (tmp_path / "data/intel" / FILE_NAME).read_bytes() == before


def test_the_rest_of_a_list_can_be_taken(tmp_path):
    lists = put(tmp_path, block="192.0.2.0/24\nnonsense\n")

    result = agentgate(tmp_path, "intel", "update", lists, "--skip-refused")

    assert result.returncode == 0
    assert "block.txt (block): 1 taken, 1 refused" in result.stdout


def test_a_folder_that_is_not_there_is_rejected_in_one_line(tmp_path):
    result = agentgate(tmp_path, "intel", "update", str(tmp_path / "none"))

    assert result.returncode == 2
    assert result.stderr.startswith("agentgate: there is no folder")
    assert not (tmp_path / "data").exists()


def test_without_an_update_the_bundled_data_are_shown(tmp_path):
    shown = agentgate(tmp_path, "intel", "show")

    assert shown.returncode == 0
    assert "bundled user agents" in shown.stdout


def write_bomb(path, block, times):
    with gzip.open(path, "wb", compresslevel=9) as bomb:
        for _ in range(times):
            bomb.write(block)


def test_a_packed_list_of_one_long_line_is_rejected_without_unpacking_it(tmp_path):
    lists = tmp_path / "lists"
    lists.mkdir()
    # 256 MB in a file of 250 kB.
    write_bomb(lists / "ip2asn.tsv.gz", b"1" * 1_048_576, 256)
    tracemalloc.start()
    try:
        refused = agentgate(tmp_path, "intel", "update", str(lists))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert refused.returncode == 2
    assert "line 1 of ip2asn.tsv.gz has more than 65536 bytes; give the file in its published format" in refused.stderr
    assert most < 16_000_000


def test_a_line_as_long_as_one_may_be_is_read_to_its_end(tmp_path):
    line = "1.0.0.0\t1.0.0.255\t13335\tUS\t"
    lists = tmp_path / "lists"
    lists.mkdir()
    padded = line + "x" * (LONGEST_LINE - len(line) - 1) + "\n"
    (lists / "ip2asn.tsv").write_text(padded + line + "Cloudflare\n")

    updated = agentgate(tmp_path, "intel", "update", str(lists))

    assert "ip2asn.tsv (iptoasn): 2 taken, 0 refused" in updated.stdout


def test_a_packed_list_that_unpacks_to_too_much_is_rejected(tmp_path, monkeypatch):
    monkeypatch.setattr(imports, "MOST_FILE_BYTES", 1_000_000)
    lists = tmp_path / "lists"
    lists.mkdir()
    write_bomb(lists / "ip2asn.tsv.gz", b"\n" * 100_000, 11)

    refused = agentgate(tmp_path, "intel", "update", str(lists))

    assert refused.returncode == 2
    assert "ip2asn.tsv.gz unpacks to more than 1000000 bytes" in refused.stderr


NAMES = {"BrandNewBot": {"operator": "New", "function": "AI Search Crawlers", "respect": "", "frequency": ""}}


def test_a_single_file_is_kept_next_to_the_others_and_replaces_its_namesake(tmp_path):
    (tmp_path / "robots.json").write_text(json.dumps(NAMES))
    (tmp_path / "names-scanner.txt").write_text("WeaknessFinder\nAP3A.240617.008\n")

    first = agentgate(tmp_path, "intel", "update", str(tmp_path / "robots.json"))
    second = agentgate(tmp_path, "intel", "update", str(tmp_path / "names-scanner.txt"))
    found = json.loads(agentgate(tmp_path, "intel", "show", "--json").stdout)

    assert (first.returncode, second.returncode) == (0, 0)
    assert "names-scanner.txt (names-scanner): 1 taken" in second.stdout
    assert {row["source"] for row in found["sources"]} >= {"robots.json", "names-scanner.txt"}


def test_a_single_file_does_not_lose_what_a_folder_brought(tmp_path):
    agentgate(tmp_path, "intel", "update", put(tmp_path, block="192.0.2.0/24\n"))
    (tmp_path / "robots.json").write_text(json.dumps(NAMES))

    result = agentgate(tmp_path, "intel", "update", str(tmp_path / "robots.json"))

    assert result.returncode == 2
    assert "block.txt" in result.stderr


def test_a_list_is_fetched_from_an_address_and_only_safely(tmp_path):
    class Lists(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(NAMES).encode())

        def log_message(self, *_given: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Lists) as server:
        Thread(target=server.handle_request, daemon=True).start()
        fetched = agentgate(tmp_path, "intel", "update", f"http://127.0.0.1:{server.server_port}/robots.json")
    unsafe = agentgate(tmp_path, "intel", "update", "http://lists.example/robots.json")

    assert "robots.json (json): 1 taken, 0 refused" in fetched.stdout
    assert unsafe.returncode == 2
    assert "https" in unsafe.stderr


def test_the_lists_of_operators_are_fetched_and_one_that_fails_leaves_the_old_one(tmp_path):
    class Lists(BaseHTTPRequestHandler):
        def do_GET(self):
            found = self.path == "/one.json"
            self.send_response(200 if found else 404)
            self.end_headers()
            self.wfile.write(b'{"prefixes": [{"ipv4Prefix": "192.0.2.0/24"}]}' if found else b"")

        def log_message(self, *_):
            pass

    (tmp_path / "search-google-agent-1.json").write_text("older")
    with HTTPServer(("127.0.0.1", 0), Lists) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        known = {each.name: each for each in read_operators()}
        asked = [
            structs.replace(known["gptbot"], lists=(f"{url}/one.json",)),
            structs.replace(known["google-agent"], lists=(f"{url}/two.json",)),
            known["amazonbot"],
        ]
        failed = fetch_operators(tmp_path, asked)
        with pytest.raises(CommandRefused):
            fetch_operators(tmp_path, asked[1:])
        server.shutdown()

    assert "192.0.2.0/24" in (tmp_path / "search-gptbot-1.json").read_text()
    assert (tmp_path / "search-google-agent-1.json").read_text() == "older"
    assert [line.partition(":")[0] for line in failed] == ["google-agent"]


def test_a_list_is_of_the_operator_with_the_longest_name(tmp_path):
    (tmp_path / "search-google-agent-1.json").write_text('{"prefixes": [{"ipv4Prefix": "192.0.2.0/24"}]}')

    _, [report] = imports.import_folder(tmp_path, now_ms=0)

    assert report.kind == "search-google-agent"
