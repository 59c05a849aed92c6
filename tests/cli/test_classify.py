"""`agentgate classify`, on the formats in which servers write their logs."""

import json

import pytest

from tests.cli.commands import agentgate

CHROME = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36"
)
BOT = "Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)"
COMBINED = '203.0.113.9 - - [17/Nov/2026:07:20:03 +0000] "GET / HTTP/1.1" 200 512 "-" "{}"'
COMMON = '203.0.113.9 - - [17/Nov/2026:07:20:03 +0000] "GET / HTTP/1.1" 200 512'
CADDY = {"request": {"remote_ip": "203.0.113.9", "headers": {"User-Agent": [BOT]}}, "status": 200}
NGINX = {"remote_addr": "203.0.113.9", "http_user_agent": BOT}
TRAEFIK = {"ClientHost": "203.0.113.9", "request_User-Agent": BOT}


def classified(tmp_path, *lines):
    (tmp_path / "access.log").write_text("\n".join(lines) + "\n")
    result = agentgate(tmp_path, "classify", str(tmp_path / "access.log"), "--json")
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_a_log_is_counted_by_user_agent_with_what_each_would_be(tmp_path):
    found = classified(tmp_path, *[COMBINED.format(CHROME)] * 3, COMBINED.format(BOT), COMBINED.format("-"), COMMON)

    assert (found["requests"], found["unread"]) == (5, 1)
    assert found["outcomes"] == {"allow": 3, "challenge": 2}
    first, *others = found["userAgents"]
    assert (first["userAgent"], first["count"], first["outcome"], first["labels"]) == (
        CHROME,
        3,
        "allow",
        ["ua.browser"],
    )
    bot = next(each for each in others if each["userAgent"] == BOT)
    assert (bot["rule"], bot["claimedAgent"]) == ("automation-declared-bot", "AhrefsBot")


@pytest.mark.parametrize("line", [BOT, *map(json.dumps, (CADDY, NGINX, TRAEFIK))])
def test_lists_of_names_and_json_are_read(tmp_path, line):
    assert [each["userAgent"] for each in classified(tmp_path, line)["userAgents"]] == [BOT]


def test_the_table_is_for_people(tmp_path):
    (tmp_path / "names.txt").write_text(f"{CHROME}\n{BOT}\n")

    result = agentgate(tmp_path, "classify", str(tmp_path / "names.txt"))

    assert "automation-declared-bot" in result.stdout
    assert "2 User-Agents; requests: allow 1, challenge 1" in result.stdout


def test_a_log_without_user_agents_is_blocked_in_one_line(tmp_path):
    (tmp_path / "access.log").write_text(COMMON + "\n")

    result = agentgate(tmp_path, "classify", str(tmp_path / "access.log"))

    assert result.returncode == 2
    assert "combined" in result.stderr
    assert agentgate(tmp_path, "classify", str(tmp_path / "nothing")).returncode == 2
