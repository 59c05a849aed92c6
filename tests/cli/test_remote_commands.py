"""The commands that talk to a running service: site, credential, invite, rules, tail, explain, apply, protect."""

import io
import json
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
import yaml

from agentgate.lib.moment import Moment
from agentgate_tools.adapters.render import FILES
from tests.cli.commands import Result, agentgate
from tests.support.browser_client import ORIGIN
from tests.support.service import ADMIN_KEY, RunningService
from tests.support.suggestions import named, suggest, verified

# One store is enough: the commands know the API only.
pytestmark = pytest.mark.parametrize("settings", ["sqlite"], indirect=True)
Command = Callable[..., Result]
RULES = {
    "version": "1",
    "rules": [{"name": "no-tor", "match": {"all_labels": ["net.tor"]}, "action": "block"}],
    "default_action": "allow",
}


@pytest.fixture
def run(service: RunningService, tmp_path: Path) -> Command:
    """Return what runs a command against the service."""
    return lambda *given: agentgate(tmp_path, *given, "--url", service.admin_url, AGENTGATE_ADMIN_KEY=ADMIN_KEY)


@pytest.fixture
def site(run: Command, request: pytest.FixtureRequest) -> str:
    key = f"site_cli_{abs(hash(request.node.name)) % 10**9}"
    assert run("site", "create", "Shop", "--origin", ORIGIN, "--site-key", key).returncode == 0
    return key


def written(folder: Path, name: str, value: object) -> str:
    (folder / name).write_text(value if isinstance(value, str) else json.dumps(value))
    return name


def test_a_site_is_made_in_monitor_mode_listed_shown_and_switched(run: Command, site: str) -> None:
    shown = json.loads(run("site", "show", site, "--json").stdout)
    listed = run("site", "list")

    assert (shown["mode"], shown["allowedOrigins"]) == ("monitor", [ORIGIN])
    assert site in listed.stdout
    first, *told = run("site", "mode", site, "enforce").stdout.splitlines()
    assert first == f"{site} is in enforce mode"
    assert {line.partition(",")[0].strip() for line in told[1:]} == set(FILES)
    assert "  nginx, agentgate.conf or agentgate-server.conf: error_page 500 502 503 504 = @agentgate_closed;" in told
    assert "@agentgate_open;" in run("site", "mode", site, "monitor").stdout
    wrong = run("site", "mode", site, "strict")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "'strict' is not one of 'monitor', 'enforce'" in wrong.stderr
    assert json.loads(run("site", "mode", site, "monitor", "--json").stdout)["mode"] == "monitor"


def test_a_secret_is_printed_alone_and_works_until_it_is_revoked(
    run: Command, site: str, service: RunningService
) -> None:
    made = run("credential", "create", site, "--name", "nginx")
    secret = made.stdout.strip()
    [listed] = json.loads(run("credential", "list", site, "--json").stdout)
    rotated = json.loads(run("credential", "rotate", site, listed["id"], "--json").stdout)

    assert secret.startswith("ags_")
    assert listed["name"] == "nginx"
    assert listed["id"] in made.stderr
    assert rotated["secret"] != secret
    assert run("credential", "revoke", site, rotated["credential"]["id"]).returncode == 0
    checked = service.public.post(
        "/v1/siteverify", json={"token": "x", "secret": rotated["secret"], "expectedAction": "a"}
    )
    assert checked.status_code == 401


def test_an_invite_prints_its_link(run: Command) -> None:
    told = run("invite", "ann@cli.example", "--customer", "Cli Shop", "--role", "owner")

    assert told.stdout.startswith("http")
    assert "ann@cli.example" in told.stdout


def test_a_second_customer_of_a_name_is_made_intentionally_only(run: Command, service: RunningService) -> None:
    assert run("invite", "bea@cli.example", "--customer", "Twice").returncode == 0

    again = run("invite", "cyd@cli.example", "--customer", "Twice")
    assert again.returncode == 2
    known = again.stderr.partition("--customer ")[2].split()[0]
    assert "--another" in again.stderr
    assert run("invite", "cyd@cli.example", "--customer", known).returncode == 0
    assert run("invite", "dan@cli.example", "--customer", "Twice", "--another").returncode == 0
    found = service.operator.get("/v1/admin/customers").json()["items"]
    assert sorted((each["id"] == known, each["members"]) for each in found if each["name"] == "Twice") == [
        (False, 1),
        (True, 2),
    ]


def test_a_site_is_shown_in_plain_lines(run: Command, site: str) -> None:
    assert run("site", "open", site, "/hooks", "--to", "anyone").returncode == 0

    shown = run("site", "show", site).stdout

    assert "mode: monitor\n" in shown
    assert f"allowedOrigins: {ORIGIN}\n" in shown
    assert "wholeSite: no\n" in shown
    assert "openPaths: path /hooks, sender anyone\n" in shown
    assert "{" not in shown
    assert "'" not in shown


def test_labels_are_json_either_way(run: Command, site: str) -> None:
    assert run("labels", "export", "--site-key", site, "--json").stdout == ""


def test_rules_are_checked_tried_compared_replayed_and_put_active(run: Command, site: str, tmp_path: Path) -> None:
    good = written(tmp_path, "rules.json", RULES)
    bad = written(tmp_path, "bad.json", json.dumps(RULES, indent=1).replace('"block"', '"bloc"'))

    wrong = agentgate(tmp_path, "rules", "lint", str(tmp_path / bad))
    assert wrong.returncode == 1
    assert "/bad.json:" in wrong.stdout
    assert agentgate(tmp_path, "rules", "lint", str(tmp_path / good)).returncode == 0
    tried = json.loads(run("rules", "try", site, good, "--target", f"{ORIGIN}/login", "--json").stdout)
    assert tried["outcome"] == "allow"
    assert run("rules", "diff", site, good).returncode == 1
    assert json.loads(run("rules", "backtest", site, good, "--json").stdout)["evaluated"] == 0
    assert run("rules", "push", site, bad, "--yes").returncode == 1
    assert "revision" in run("rules", "push", site, good, "--yes").stdout
    assert run("rules", "diff", site, good).returncode == 0
    same = written(tmp_path, "same.yaml", yaml.safe_dump(RULES))
    assert run("rules", "diff", site, same).stdout == "no difference\n"
    assert json.loads(run("rules", "diff", site, same, "--json").stdout) == {"differs": False, "diff": ""}
    assert "requires --yes" in run("rules", "push", site, same, "--json").stderr
    assert json.loads(run("rules", "push", site, same, "--json", "--yes").stdout)["revision"] == 1
    assert (
        "broken.yaml:2:1: This is not YAML"
        in run("rules", "diff", site, written(tmp_path, "broken.yaml", "a: [\n")).stderr
    )
    assert run("rules", "push", site, good, "--yes").stdout == "no difference\n"
    assert json.loads(run("rules", "show", site).stdout)["rules"][0]["name"] == "no-tor"
    assert "must be `Name: value`" in run("rules", "try", site, good, "--target", ORIGIN, "--header", "x").stderr


UNKNOWN = {"version": "1", "rules": [{"name": "old", "match": {"cookies": ["x"]}, "action": "block"}]}
UNKNOWN["default_action"] = "allow"


def test_rules_with_warnings_are_saved_only_if_a_person_acknowledges_them(
    run: Command, site: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = written(tmp_path, "rules.json", UNKNOWN)
    whole = written(tmp_path, "site.yaml", yaml.safe_dump({"siteKey": site, "rules": UNKNOWN}))

    linted = agentgate(tmp_path, "rules", "lint", str(tmp_path / file))
    assert "cookies is not a condition" in linted.stdout
    assert "is valid, with 1 warning" in linted.stdout
    for refused in (run("rules", "push", site, file, "--yes"), run("apply", whole, "--yes")):
        assert refused.returncode == 2
        assert "so the rule old matches nothing" in refused.stderr
        assert "--acknowledge" in refused.stderr
    monkeypatch.setattr("sys.stdin", io.StringIO("y\nn\n"))
    assert "stopped" in run("rules", "push", site, file).stderr
    assert json.loads(run("rules", "show", site, "--json").stdout)["revision"] == 0
    monkeypatch.setattr("sys.stdin", io.StringIO("y\ny\n"))
    assert "revision 1 is active" in run("rules", "push", site, file).stdout
    other = written(tmp_path, "other.json", {**UNKNOWN, "version": "2"})
    assert "revision 2 is active" in run("rules", "push", site, other, "--yes", "--acknowledge").stdout


def visit(service: RunningService, secret: str, target: str = "/") -> None:
    headers = {
        "Authorization": f"Bearer {secret}",
        "X-Original-Method": "GET",
        "X-Original-URL": f"{ORIGIN}{target}",
        "X-Original-Address": "203.0.113.7",
        "User-Agent": "python-requests/2.32",
    }
    assert service.public.get("/v1/gateway/check", headers=headers).status_code in {204, 401, 403}
    # What happens at this very moment is not in a range that ends with it.
    service.clock.advance(ms=1)


def wait_for_decisions(run: Command, site: str, count: int) -> list[dict[str, object]]:
    for _ in range(100):
        lines = run("tail", site, "--once", "--json", "--last", "100").stdout.splitlines()
        if len(lines) >= count:
            return [json.loads(line) for line in lines]
    pytest.fail("the decisions did not come")


def test_tail_shows_decisions_oldest_first_and_explain_shows_why(
    run: Command, site: str, service: RunningService
) -> None:
    secret = run("credential", "create", site).stdout.strip()
    for _ in range(3):
        visit(service, secret)
    decisions = wait_for_decisions(run, site, 3)

    assert [each["id"] for each in decisions] == sorted(str(each["id"]) for each in decisions)
    line = run("tail", "--once", "--last", "1").stdout
    assert str(decisions[-1]["id"]) in line
    why = run("explain", str(decisions[-1]["id"]))
    assert "GET" in why.stdout
    assert "ua." in why.stdout
    assert (
        run("site", "create", "Other", "--origin", "https://other.example", "--site-key", "site_cli_two").returncode
        == 0
    )
    assert "give the site key: " in run("tail", "--once").stderr
    unknown = run("explain", "dec_0000000000000")
    assert (unknown.returncode, "no site has a decision" in unknown.stderr) == (2, True)


def test_a_file_creates_a_site_shows_its_plan_and_changes_what_differs(
    run: Command, tmp_path: Path, service: RunningService
) -> None:
    wanted = {"siteKey": "site_cli_applied", "name": "Applied", "allowedOrigins": ["https://applied.example"]}
    name = written(tmp_path, "site.yaml", yaml.safe_dump(wanted))

    first = run("apply", name, "--yes")
    assert "the site will be created" in first.stdout
    assert run("apply", name, "--yes").stdout == "no changes\n"
    written(
        tmp_path,
        "site.yaml",
        yaml.safe_dump(wanted | {"mode": "enforce", "rules": RULES, "agentPolicy": {"default": "challenge"}}),
    )
    plan = json.loads(run("apply", name, "--yes", "--json").stdout)
    assert plan["mode"] == {"before": "monitor", "after": "enforce"}
    assert set(plan) == {"mode", "rules", "agentPolicy"}
    assert run("apply", name, "--yes").stdout == "no changes\n"
    policy = service.operator.get("/v1/admin/sites/site_cli_applied/agent-policy").json()
    assert policy["default"] == "challenge"
    written(tmp_path, "site.yaml", yaml.safe_dump(wanted | {"mode": "monitor", "agentPolicy": {"default": "deny"}}))
    refused = run("apply", name, "--yes")
    assert (refused.returncode, "nothing was changed" in refused.stderr) == (2, True)
    assert service.operator.get("/v1/admin/sites/site_cli_applied").json()["mode"] == "enforce"
    assert "siteKey" in run("apply", written(tmp_path, "x.yaml", "name: x"), "--yes").stderr


def test_an_exported_site_is_applied_elsewhere_with_lists_overrides_and_webhooks(
    run: Command, tmp_path: Path, service: RunningService
) -> None:
    tomorrow = Moment(service.clock.now_ms() + 86_400_000).text()
    wanted = {
        "siteKey": "site_cli_first",
        "name": "First",
        "allowedOrigins": ["https://first.example"],
        "overrides": {"automation-http-library": "count"},
        "listEntries": [
            {"kind": "network", "value": "203.0.113.0/24", "outcome": "allow", "note": "office"},
            {"kind": "program", "value": "BadBot", "outcome": "block", "expiresAt": tomorrow},
        ],
        "webhooks": [{"url": "https://hooks.example/a", "events": ["health"]}],
    }
    first = run("apply", written(tmp_path, "first.yaml", yaml.safe_dump(wanted)), "--yes")
    assert first.returncode == 0, first.stderr
    assert "secret of https://hooks.example/a: " in first.stderr

    exported = run("site", "export", "site_cli_first").stdout
    assert run("apply", written(tmp_path, "same.yaml", exported), "--yes").stdout == "no changes\n"
    found = yaml.safe_load(exported)
    assert (found["overrides"], len(found["listEntries"])) == (wanted["overrides"], 2)
    assert "whsec" not in exported

    copied = exported.replace("site_cli_first", "site_cli_second").replace("first.example", "second.example")
    planned = run("apply", written(tmp_path, "second.yaml", copied), "--dry-run")
    assert "the site will be created" in planned.stdout
    assert service.operator.get("/v1/admin/sites/site_cli_second").status_code == 404
    assert run("apply", "second.yaml", "--yes").returncode == 0
    again = yaml.safe_load(run("site", "export", "site_cli_second").stdout)
    assert {**again, "siteKey": "", "allowedOrigins": ""} == {**found, "siteKey": "", "allowedOrigins": ""}

    # An entry that the file omits is removed, and rules keep the overrides that the file omits.
    changed = {"siteKey": "site_cli_second", "rules": RULES, "listEntries": wanted["listEntries"][:1]}
    assert run("apply", written(tmp_path, "second.yaml", yaml.safe_dump(changed)), "--yes").returncode == 2
    changed["overrides"] = {}
    assert run("apply", written(tmp_path, "second.yaml", yaml.safe_dump(changed)), "--yes").returncode == 0
    left = service.operator.get("/v1/admin/sites/site_cli_second/list-entries").json()["items"]
    assert [each["value"] for each in left if not each["expired"]] == ["203.0.113.0/24"]


def test_network_lists_are_managed(run: Command, tmp_path: Path, service: RunningService) -> None:
    assert (
        service.operator.post("/v1/admin/sites", json={"siteKey": "site_cli_nets", "name": "Nets"}).status_code == 201
    )
    at = ("networks", "save", "site_cli_nets")
    assert run(*at, "offices").returncode == 0
    assert run(*at, "drop", "--source-url", "https://lists.invalid/").returncode == 0
    key = written(tmp_path, "key", "bouncer-key\n")
    lapi = ("--source-url", "https://lapi.invalid/", "--source", "crowdsec", "--key-file", key)
    assert run(*at, "bans", *lapi).returncode == 0
    file = written(tmp_path, "networks.txt", "# offices\n203.0.113.0/24 # first\n\n2001:db8::/32\n")
    assert run("networks", "add", "site_cli_nets", "offices", "192.0.2.1", "--file", file).returncode == 0
    assert run("networks", "remove", "site_cli_nets", "offices", "192.0.2.0/24").returncode == 0
    assert run("networks", "show", "site_cli_nets", "offices").stdout == "203.0.113.0/24\n2001:db8::/32\n"
    many = "\n".join(f"      - 198.51.{number}.0/24" for number in range(0, 60, 2))
    policy = written(
        tmp_path, "policy.yaml", f"bots:\n  - name: Hosting\n    action: DENY\n    remote_addresses:\n{many}\n"
    )
    converted = run("import", "anubis", policy, "--site", "site_cli_nets")
    assert "network_lists" in converted.stdout, converted.stderr
    assert run("networks", "show", "site_cli_nets", "anubis-hosting").stdout.count("/24") == 30
    listed = run("networks", "list", "site_cli_nets").stdout
    assert all(word in listed for word in ("offices", "drop", "bans", "https://lists.invalid/"))
    assert run("networks", "refresh", "site_cli_nets", "drop").returncode == 0
    assert run("networks", "delete", "site_cli_nets", "offices").returncode == 0
    assert run("networks", "show", "site_cli_nets", "offices").returncode == 2


def test_without_a_yes_nothing_is_changed(run: Command, tmp_path: Path, service: RunningService) -> None:
    name = written(tmp_path, "site.yaml", yaml.safe_dump({"siteKey": "site_cli_asked", "name": "Asked"}))

    told = run("apply", name)

    assert told.returncode == 2
    assert service.operator.get("/v1/admin/sites/site_cli_asked").status_code == 404


def test_protect_creates_site_secret_and_file_once(run: Command, tmp_path: Path, service: RunningService) -> None:
    # Not the service on the default port, if one runs.
    service_of = ("--service", service.public_url)
    given = ("protect", "https://protected.example", "--proxy", "nginx", "--no-watch", *service_of)

    first = run(*given)
    (folder,) = (tmp_path / "agentgate-proxy").iterdir()
    file = folder / "agentgate.conf"
    text = file.read_text()
    again = run(*given)
    told = json.loads(run(*given, "--json").stdout)

    assert "in monitor mode" in first.stdout
    assert "ags_" in text
    assert "PUT_THE_SECRET" not in text
    assert [each for each in file.parent.iterdir() if each.stat().st_mode & 0o077] == []
    assert sorted(told["files"]) == sorted(
        f"agentgate-proxy/{folder.name}/{each.name}" for each in file.parent.iterdir()
    )
    assert (told["created"], told["written"]) == (False, False)
    assert "Kept existing files" in again.stdout
    assert file.read_text() == text
    sites = service.operator.get("/v1/admin/sites").json()["items"]
    assert [each["mode"] for each in sites if "https://protected.example" in each["allowedOrigins"]] == ["monitor"]
    assert "use one of nginx" in run("protect", "https://x.example", "--proxy", "iis").stderr
    assert "not the address of a site" in run("protect", "ftp://x", "--proxy", "nginx").stderr


def test_protect_and_the_installation_page_show_charges_of_sites_with_prices(
    run: Command, tmp_path: Path, service: RunningService
) -> None:
    policy = {"default": "challenge", "quotaPerMinute": 60, "actions": {"submit": {"price": "USD 0.05"}}}
    texts = {}
    for name in ("free", "priced"):
        given = ("site", "create", name, "--origin", f"https://{name}.example", "--site-key", f"site_cli_{name}")
        assert run(*given).returncode == 0
        if name == "priced":
            changed = service.operator.put(f"/v1/admin/sites/site_cli_{name}/agent-policy", json=policy)
            assert changed.status_code == 200, changed.text
        told = run("protect", f"https://{name}.example", "--proxy", "nginx", "--no-watch", "--out", name)
        assert told.returncode == 0, told.stderr
        shown = service.operator.get(f"/v1/admin/sites/site_cli_{name}/adapters/nginx").json()["files"]
        texts[name] = [(tmp_path / name / "agentgate.conf").read_text(), *(each["text"] for each in shown)]

    header = "add_header Crawler-Charged $agentgate_charged always;"
    assert not any("Crawler-Charged" in text for text in texts["free"])
    # The complete file of protect, and of the page the complete file and the include for server {}.
    assert [header in text for text in texts["priced"]].count(True) == 3


FRONT_PAGE = b"""<link rel="alternate" type="application/rss+xml" href="/blog/feed/">
<link rel="alternate stylesheet" type="text/css" href="/a.css"><link rel="alternate" hreflang="de">
<link rel=alternate type=application/atom+xml href="?feed=atom">
<link rel="alternate" type="application/rss+xml" href="https://elsewhere.example/feed">
<link rel="alternate" type="application/rss+xml" href="/feed">"""


class FrontPage(BaseHTTPRequestHandler):
    """The front page of a site with feeds."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(FRONT_PAGE)))
        self.end_headers()
        self.wfile.write(FRONT_PAGE)

    def log_message(self, *_: object) -> None:
        pass


def test_protect_finds_the_feeds_of_the_front_page_and_a_command_declares_them(
    run: Command, service: RunningService
) -> None:
    with HTTPServer(("127.0.0.1", 0), FrontPage) as upstream:
        Thread(target=upstream.serve_forever, daemon=True).start()
        given = ("protect", "https://fed.example", "--proxy", "nginx", "--no-watch", "--site-key", "site_cli_fed")
        told = run(*given, "--upstream", f"http://127.0.0.1:{upstream.server_port}")
        upstream.shutdown()

    assert told.returncode == 0, told.stderr
    assert "To declare them: agentgate site feeds site_cli_fed /blog/feed/ '/?feed=atom' /feed" in told.stdout
    assert run("site", "feeds", "site_cli_fed", "/blog/feed/", "/?feed=atom").returncode == 0
    declared = service.operator.get("/v1/admin/sites/site_cli_fed").json()["feeds"]
    assert declared == ["/blog/feed/", "/?feed=atom"]


def test_a_command_adds_origins_to_a_site(run: Command, service: RunningService) -> None:
    assert run("site", "create", "Two", "--site-key", "site_cli_two", "--origin", "https://two.example").returncode == 0
    added = run("site", "origins", "site_cli_two", "https://www.two.example", "https://two.example")
    malformed = run("site", "origins", "site_cli_two", "two.example")

    assert added.stdout.strip() == "site_cli_two: allowed origins are https://two.example, https://www.two.example"
    assert malformed.returncode != 0
    kept = service.operator.get("/v1/admin/sites/site_cli_two").json()["allowedOrigins"]
    assert kept == ["https://two.example", "https://www.two.example"]


def test_suggestions_are_listed_accepted_and_withdrawn(run: Command, service: RunningService) -> None:
    assert run("site", "create", "Suggested", "--origin", ORIGIN, "--site-key", "site_cli_suggested").returncode == 0
    site_id = service.operator.get("/v1/admin/sites/site_cli_suggested").json()["id"]
    suggest(service, site_id, verified("stripe", "/hooks/pay"))

    listed = json.loads(run("site", "suggestions", "site_cli_suggested", "--json").stdout)
    (found,) = listed["items"]
    assert "POST /hooks/pay to stripe" in run("site", "suggestions", "site_cli_suggested").stdout.replace("\n", " ")
    accepted = run("site", "suggestions", "site_cli_suggested", "--accept", found["id"], "--note", "payments")
    assert accepted.stdout == "site_cli_suggested: POST /hooks/pay to stripe is open\n"
    opened = service.operator.get("/v1/admin/sites/site_cli_suggested").json()["openPaths"]
    assert opened == [{"path": "/hooks/pay", "sender": "stripe", "method": "POST", "note": "payments"}]
    assert run("site", "suggestions", "site_cli_suggested", "--withdraw", found["id"]).returncode == 0
    assert service.operator.get("/v1/admin/sites/site_cli_suggested").json()["openPaths"] == []
    both = run("site", "suggestions", "site_cli_suggested", "--accept", found["id"], "--withdraw", found["id"])
    assert both.returncode == 2


def suggest_clients(service: RunningService, site_key: str) -> None:
    """Save a verified sender, another one with a masked path, and a client that only claims a name."""
    site_id = service.operator.get(f"/v1/admin/sites/{site_key}").json()["id"]
    senders = [verified("stripe", "/hooks/pay"), verified("github", "/hooks/#")]
    suggest(service, site_id, *senders, named("uptimething", "/status"))


def test_protect_names_blocked_senders_with_the_command_that_allows_them(run: Command, service: RunningService) -> None:
    given = ("protect", "https://sent.example", "--proxy", "nginx", "--no-watch", "--site-key", "site_cli_sent")
    given += ("--service", service.public_url)
    assert "senders" not in run(*given).stdout
    suggest_clients(service, "site_cli_sent")

    told = run(*given)

    listed = service.operator.get("/v1/admin/sites/site_cli_sent/suggestions").json()["items"]
    (stripe,) = [each["id"] for each in listed if each.get("sender") == "stripe"]
    assert "stripe (POST /hooks/pay, 7 a day)" in told.stdout
    assert f"agentgate site suggestions site_cli_sent --accept {stripe}\n" in told.stdout
    assert "Other clients that enforce mode blocks: agentgate site suggestions site_cli_sent\n" in told.stdout
    assert "uptimething" not in told.stdout
    assert service.operator.get("/v1/admin/sites/site_cli_sent").json()["openPaths"] == []


def test_protect_watches_until_enforce_can_be_judged(
    run: Command, site: str, service: RunningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    from agentgate_tools.commands.remote import protect

    monkeypatch.setattr(protect, "PAUSE_S", 0.02)
    monkeypatch.setattr(protect, "ENOUGH", 5)
    monkeypatch.setattr(protect.click, "confirm", lambda _question: True)
    secret = run("credential", "create", site).stdout.strip()
    service.operator.patch(f"/v1/admin/sites/{site}", json={"allowedOrigins": [ORIGIN, "https://watched.example"]})
    for _ in range(6):
        visit(service, secret)
    suggest_clients(service, site)

    told = run("protect", "https://watched.example", "--proxy", "caddy")

    assert told.returncode == 0, told.stderr
    assert f"{site} is in enforce mode" in told.stdout
    shown = json.loads(run("site", "show", site, "--json").stdout)
    assert shown["mode"] == "enforce"
    # The verified sender only, and only where its path is known.
    assert [(each["path"], each["sender"]) for each in shown["openPaths"]] == [("/hooks/pay", "stripe")]


def test_a_service_that_is_not_there_is_shown_with_the_remedy(settings: object, tmp_path: Path) -> None:
    told = agentgate(tmp_path, "site", "list", "--url", "http://127.0.0.1:9", AGENTGATE_ADMIN_KEY=ADMIN_KEY)

    assert told.returncode == 2
    assert "agentgate serve" in told.stderr


def test_the_version_is_reported(settings: object, tmp_path: Path) -> None:
    assert agentgate(tmp_path, "--version").stdout.startswith("agentgate ")
