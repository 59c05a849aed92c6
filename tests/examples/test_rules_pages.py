"""The pages about rules, limits, presets, decoys, lists and feeds, followed by their own commands and files."""

import re
import shlex
from pathlib import Path

import pytest
import yaml

from tests.cli.commands import agentgate
from tests.support.gateway import Gate
from tests.support.service import ADMIN_KEY, RunningService

DOCS = Path(__file__).parents[2] / "docs"
# Next to the repository, or one folder further up.
VECTORS = [Path(__file__).parents[up] / "shared" / "vectors" / "anubis" for up in (3, 4)]
BLOCK = re.compile(r"^```(sh|yaml)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# Commands that need no service.
ALONE = (
    ("rules", "fmt"),
    ("rules", "lint"),
    ("rules", "test"),
    ("rules", "schema"),
    ("import",),
    ("adapter",),
    ("feed",),
)


# The pages do not differ by database.
pytestmark = pytest.mark.parametrize("settings", ["sqlite"], indirect=True)


class Reader:
    """A person who follows a page: every command in one folder, for one site."""

    def __init__(self, service: RunningService, folder: Path) -> None:
        self.gate = Gate(service)
        self.service = service
        self._folder = folder
        self.save("secret.txt", self.gate.secret)

    def save(self, name: str, text: str) -> None:
        (self._folder / name).write_text(text)

    def read(self, name: str) -> str:
        return (self._folder / name).read_text()

    def run(self, line: str) -> str:
        """Run a command as the page prints it, for this site; its output goes into the file that it names."""
        line, _, file = line.partition(" > ")
        words = shlex.split(line, comments=True)[1:]
        words = [self.gate.site_key if word.startswith(("site_shop", "site_git")) else word for word in words]
        urls = {"http://127.0.0.1:8080": self.service.public_url, "/etc/agentgate/secret": "secret.txt"}
        words = [urls.get(word, word) for word in words]
        if not any(tuple(words[: len(each)]) == each for each in ALONE):
            words += ["--url", self.service.admin_url]
        done = agentgate(self._folder, *words, AGENTGATE_ADMIN_KEY=ADMIN_KEY)
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
        if file:
            self.save(file.strip(), done.stdout)
        self.service.run(self.service.application.refresher.refresh())
        return done.stdout

    def push(self, document: dict[str, object]) -> None:
        self.save("rules.yaml", yaml.safe_dump({"version": "1", "default_action": "allow"} | document))
        self.run("agentgate rules lint rules.yaml")
        self.run("agentgate rules push site_shop1 rules.yaml --yes")

    def statuses(self, path: str, count: int = 1) -> list[int]:
        return [self.gate.check("GET", path).status_code for _ in range(count)]

    @property
    def site(self) -> dict[str, object]:
        found: dict[str, object] = self.service.operator.get(f"/v1/admin/sites/{self.gate.site_key}").json()
        return found


@pytest.fixture
def reader(service: RunningService, tmp_path: Path) -> Reader:
    return Reader(service, tmp_path)


def blocks(page: str, language: str, *containing: str) -> str:
    """Return the one block of a page with these words."""
    texts = [text for found, text in BLOCK.findall((DOCS / page).read_text(encoding="utf-8")) if found == language]
    [found] = [text for text in texts if all(each in text for each in containing)]
    return found


def lines(page: str, *containing: str) -> list[str]:
    text = blocks(page, "sh", *containing).replace("\\\n", " ")
    return [part.strip() for line in text.splitlines() for part in line.split(" && ") if part.strip()]


def rules_of(page: str, *containing: str) -> dict[str, object]:
    found = yaml.safe_load(blocks(page, "yaml", *containing))
    return {"rules": found} if isinstance(found, list) else found


def test_conditions_on_the_query_and_a_rate(reader: Reader) -> None:
    reader.push(rules_of("write-rules.md", "history-is-slow"))

    assert reader.statuses("/w/index.php?title=A&action=history", 31) == [204] * 30 + [401]
    assert reader.statuses("/w/index.php?title=A") == [204]


def test_protection_while_the_site_is_busy(reader: Reader) -> None:
    protect, attack = lines("write-rules.md", "--when busy")
    reader.run(protect)
    assert (reader.site["wholeSite"], reader.site["wholeSiteWhen"]) == (True, "busy")
    assert reader.statuses("/") == [204]
    reader.run(attack)

    assert reader.statuses("/") == [401]
    assert "underAttackUntil" in reader.site


def test_a_preset(reader: Reader) -> None:
    _, choose, end = lines("protect-applications.md", "--app forgejo")
    reader.run(f"{choose} --yes")
    assert reader.statuses("/org/repo/blame/branch/main/file") == [401]
    assert reader.statuses("/org/repo") == [204]
    reader.run(f"{end} --yes")

    assert reader.statuses("/org/repo/blame/branch/main/file") == [204]


def test_decoys(reader: Reader) -> None:
    [switch] = lines("protect-applications.md", "site decoys")
    told = reader.run(switch)
    link = re.search(r"<a href=(\S+)", told)
    assert link
    [adapter] = [line for line in lines_within("protect-applications.md") if "--decoys" in line]
    reader.run(adapter.replace("/etc/nginx/conf.d/agentgate.conf", "agentgate.conf"))
    assert "sub_filter </body> $agentgate_decoy</body>" in reader.read("agentgate.conf")
    group = rules_of("protect-applications.md", "group: decoys")
    reader.push(group)
    assert "x-service-decoy" in reader.gate.check("GET", "/").headers

    assert reader.statuses(link[1]) == [401]


def lines_within(page: str) -> list[str]:
    """Return the commands of blocks that are part of a list."""
    found = re.findall(r"^   ```sh\n(.*?)^   ```$", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return [" ".join(text.replace("\\\n", " ").split()) for text in found]


def test_weights_and_thresholds(reader: Reader) -> None:
    document = rules_of("write-rules.md", "thresholds:")
    reader.push(document)
    reader.save(
        "cases.yaml",
        yaml.safe_dump(
            {
                "cases": [
                    {"name": outcome, "request": {"url": "https://shop.example/"}, "labels": found, "outcome": outcome}
                    for outcome, found in (
                        ("challenge", ["net.tor"]),
                        ("block", ["net.tor", "net.datacenter"]),
                        ("allow", ["net.datacenter", "receipt.clearance"]),
                    )
                ]
            }
        ),
    )

    assert "3 of 3 cases passed" in reader.run("agentgate rules test rules.yaml cases.yaml")


def test_network_lists(reader: Reader) -> None:
    outside, crowdsec, save, add, show = lines("write-rules.md", "networks save")
    reader.save("lapi.key", "0123456789abcdef0123456789abcdef")
    reader.save("offices.txt", "203.0.113.0/24\n")
    for line in (outside, crowdsec, save, add):
        reader.run(line)
    assert all(name in reader.run(show) for name in ("spamhaus-drop", "bans", "offices"))
    document = rules_of("write-rules.md", "network_lists: [spamhaus-drop]")
    reader.push({"rules": [yaml.safe_load(yaml.safe_dump(document["rules"]).replace("spamhaus-drop", "offices"))[0]]})

    assert reader.statuses("/") == [403]
    reader.gate.address = "81.2.69.142"
    assert reader.statuses("/") == [204]


def test_the_feed_for_firewalls(reader: Reader) -> None:
    [patch] = lines("feed-firewall.md", "blockFeed")
    body = re.search(r"-d '([^']+)'", patch)
    assert body
    at = f"/v1/admin/sites/{reader.gate.site_key}"
    changed = reader.service.operator.patch(at, content=body[1], headers={"Content-Type": "application/json"})
    assert changed.json()["blockFeed"] is True
    command = lines("feed-firewall.md", "feed nftables", "nft -f -")[0].partition(" | ")[0]

    assert "table inet agentgate" in reader.run(command)


def test_scheduled_rules(reader: Reader) -> None:
    sale, group = yaml.safe_load(blocks("write-rules.md", "yaml", "weekdays: [sat, sun]"))
    sale |= {"from": "2020-11-27T00:00:00+01:00", "until": "2020-11-30T00:00:00Z"}
    reader.push({"rules": [sale, group]})
    assert reader.statuses("/sale/1") == [204]
    sale["until"] = "2999-11-30T00:00:00Z"
    reader.push({"rules": [sale, group]})

    assert reader.statuses("/sale/1") == [401]


def test_a_site_as_one_file(reader: Reader) -> None:
    reader.push(rules_of("write-rules.md", "history-is-slow"))
    export, plan, apply = lines("write-rules.md", "site export")
    reader.run(export)
    reader.save("site.yaml", reader.read("site.yaml").replace("more_than: 30", "more_than: 3"))
    assert "history-is-slow" in reader.run(plan)
    assert reader.statuses("/?action=raw", 4) == [204] * 4
    reader.run(apply)

    assert 401 in reader.statuses("/?action=raw", 4)


def test_the_default_policy_of_anubis(reader: Reader, tmp_path: Path) -> None:
    policies = next((each for each in VECTORS if each.is_dir()), None)
    if policies is None:
        pytest.skip("the policy files of Anubis are not present")
    (tmp_path / "anubis").mkdir()
    (tmp_path / "anubis" / "data").symlink_to(policies)
    (tmp_path / "botPolicies.yaml").symlink_to(policies / "botPolicies.yaml")
    convert, lint, push = lines("migrate-anubis.md", "import anubis")
    reader.run(convert)
    reader.run(lint)
    reader.run(f"{push} --yes")

    rules = reader.service.operator.get(f"/v1/admin/sites/{reader.gate.site_key}/rules").json()["ruleSet"]["rules"]
    assert len(rules) >= 37
    scanner = reader.gate.check("GET", "/", User_Agent="Mozilla/5.0 (compatible; Bytespider; spider@example.com)")
    assert scanner.status_code == 403


def test_rules_as_code(reader: Reader) -> None:
    reader.save("cases.yaml", blocks("write-rules.md", "yaml", "history pages require a check"))
    rule = {"name": "history", "match": {"query": {"action": ["history"]}}, "action": "challenge"}
    reader.save("rules.yaml", yaml.safe_dump({"version": "1", "rules": [rule], "default_action": "allow"}))
    reader.run("agentgate rules fmt rules.yaml")
    for line in lines("write-rules.md", "rules fmt --check"):
        reader.run(line)

    assert '"$schema"' in reader.read("rules.schema.json")
    hooks = yaml.safe_load(blocks("write-rules.md", "yaml", "repo: local"))["repos"][0]["hooks"]
    assert [reader.run(hook["entry"]) for hook in hooks]
