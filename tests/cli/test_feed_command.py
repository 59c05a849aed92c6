"""`agentgate feed`: what it prints for nftables, and responses that must not reach a shell of root."""

import json
import os
import re
import shutil
import subprocess
from configparser import ConfigParser
from pathlib import Path

import pytest
from click.testing import CliRunner

from agentgate_tools.commands import feed as module
from agentgate_tools.commands.api_client import HttpApi
from agentgate_tools.commands.feed import Dropped, nftables

FOUND = [
    {"value": "81.2.69.142", "duration": "540s", "id": 1},
    {"value": "2a01:4f8:0:0::5", "duration": "60s", "id": 2},
]
NFT = shutil.which("nft") or "/usr/sbin/nft"


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "secret"
    path.write_text("s3cret\n")
    return path


def run(monkeypatch: pytest.MonkeyPatch, secret: Path, found: object, *words: str) -> tuple[int, str]:
    monkeypatch.setattr(HttpApi, "get", lambda *_: found)
    result = CliRunner().invoke(module.feed, [*words, "http://127.0.0.1:1", "--secret-file", str(secret)])
    return result.exit_code, result.output + str(result.exception or "")


def test_the_list_has_one_canonical_address_in_each_line(monkeypatch: pytest.MonkeyPatch, secret: Path) -> None:
    assert run(monkeypatch, secret, FOUND, "list") == (0, "81.2.69.142\n2a01:4f8::5\n")
    assert run(monkeypatch, secret, None, "list")[1].strip() == ""
    _, text = run(monkeypatch, secret, FOUND, "list", "--json")
    assert json.loads(text)[0][0] == "81.2.69.142"


def test_the_script_replaces_both_sets_and_drops_only_web_ports() -> None:
    lines = list(nftables([Dropped("81.2.69.142", "540s"), Dropped("2a01:4f8::5", "60s")]))
    assert "add element inet agentgate blocked_ip { 81.2.69.142 timeout 540s }" in lines
    assert "add element inet agentgate blocked_ip6 { 2a01:4f8::5 timeout 60s }" in lines
    assert all("dport { 80, 443 }" in line for line in lines if "drop" in line)
    assert not [line for line in nftables([]) if "add element" in line]
    for line in lines:
        assert "inet agentgate" in line


@pytest.mark.parametrize(
    "wrong",
    [
        [{"value": "0.0.0.0/0", "duration": "1s"}],
        [{"value": "1.1.1.1 } ; flush ruleset #", "duration": "1s"}],
        [{"value": "1.1.1.1", "duration": "1s }; flush ruleset"}],
        [{"value": "1.1.1.1"}],
        ["1.1.1.1"],
        {"error": "x"},
    ],
)
def test_a_response_that_is_no_feed_prints_nothing(
    monkeypatch: pytest.MonkeyPatch, secret: Path, wrong: object
) -> None:
    code, text = run(monkeypatch, secret, wrong, "nftables")
    assert code != 0
    assert "flush ruleset" not in text
    assert "did not return a feed" in text


def test_the_units_and_the_jail_of_the_page_fit_together() -> None:
    page = (Path(__file__).parents[2] / "docs" / "feed-firewall.md").read_text()
    unit, timer, jail, rules = (ConfigParser(interpolation=None) for _ in range(4))
    for parser, text in zip((unit, timer, jail, rules), re.findall(r"```ini\n(.*?)```", page, re.DOTALL), strict=True):
        parser.read_string(text)
    start, _, after = unit["Service"]["ExecStart"].partition("agentgate feed nftables ")
    assert start.endswith("set -e; ")
    assert after.split(" > ")[1].split(";")[0] == after.rstrip("'").split()[-1] == "/run/agentgate.nft"
    assert timer["Timer"]["OnUnitActiveSec"] == "1min"
    assert f"fail2ban-client set {jail.sections()[0]} banip" in page
    assert jail["agentgate"]["logpath"] in page
    assert not re.search(rules["Definition"]["failregex"], Path(__file__).read_text())


@pytest.mark.skipif(not Path(NFT).exists(), reason="nft is missing")
def test_nft_reads_the_script() -> None:
    script = "\n".join(nftables([Dropped("81.2.69.142", "540s"), Dropped("2a01:4f8::5", "60s")])) + "\n"
    # In a bare root, no namespace of users can be made, and the superuser needs none. A kernel may lack nf_tables.
    alone = ["unshare", "-n" if os.geteuid() == 0 else "-rn"]
    if subprocess.run([*alone, NFT, "list", "ruleset"], capture_output=True, check=False).returncode:
        pytest.skip("a network namespace needs the superuser here, or the kernel has no nf_tables")
    done = subprocess.run([*alone, NFT, "-f", "-"], input=script * 2, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
