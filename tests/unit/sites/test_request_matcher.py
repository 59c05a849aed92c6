"""What predicates say of a request: how methods and paths are read, and that the strictest reading applies."""

import time
from random import Random
from typing import Any

import pytest

from agentgate.lib.enums import Outcome
from agentgate.lib.limits import GLOBS_PER_SET, NETWORKS_PER_SET
from agentgate.sites.records import SiteRoute
from agentgate.sites.request_matcher import RequestMatcher, host_name
from agentgate.sites.route_table import RouteTable
from agentgate.sites.rules.compile import compile_rules
from agentgate.sites.rules.evaluate import RuleVerdict
from agentgate.sites.rules.records import RuleSet
from agentgate.sites.rules.validate import check_rules
from tests.support.odd_spellings import odd_spelling, random_route
from tests.support.request_traits import traits_of


def decide(rules: list[dict[str, Any]], default: str = "allow", **request: Any) -> RuleVerdict:
    document = {"version": "1", "rules": rules, "default_action": default}
    assert check_rules(document, {}) == []
    compiled = compile_rules(RuleSet(version="1", rules=rules, default_action=default))
    return compiled.evaluate([], {}, route="*", action=None, traits=traits_of(compiled, request))


BLOCK_ADMIN = [{"name": "r", "match": {"paths": ["/admin/*"]}, "action": "block"}]
ALLOW_PUBLIC = [{"name": "r", "match": {"paths": ["/public/*"]}, "action": "allow"}]


@pytest.mark.parametrize(
    "path",
    [
        "/admin/x",
        "/ADMIN/x",
        "/%61dmin/x",
        "/x/../admin/x",
        "/x/%2e%2e/admin/x",
        "//admin/x",
        "/admin//x",
        "/;a=b/admin/x",
        "/admin;a=b/x",
        "/%2561dmin/x",
        "/admin%2fx",
        "/admin\\x",
        "/x%00/admin/x",
        "/ad%00min/x",
        "/admin",
        "/adm%EF%BD%89n/x",
        "/index.php?/../admin/x",
    ],
)
def test_no_spelling_of_a_path_gets_past_a_block(path: str) -> None:
    is_query = "?" in path
    assert decide(BLOCK_ADMIN, path=path).outcome is (Outcome.ALLOW if is_query else Outcome.BLOCK)


@pytest.mark.parametrize(
    "path", ["/public/../admin", "/public/..%2fadmin", "/PUBLIC/x", "//public/x", "/public;/x", "/public"]
)
def test_an_allow_opens_a_path_only_as_it_is(path: str) -> None:
    assert decide(ALLOW_PUBLIC, default="block", path=path).outcome is Outcome.BLOCK
    assert decide(ALLOW_PUBLIC, default="block", path="/public/x").outcome is Outcome.ALLOW


def test_whatever_could_be_a_route_could_be_the_same_path_to_a_rule() -> None:
    chance = Random(31)
    found = 0
    for _ in range(150):
        path = random_route(chance)
        glob = chance.choice((path, path[:-1] + "*"))
        route = SiteRoute(method="*", path=path, action="a")
        if glob.endswith("*"):
            route = SiteRoute(method="*", path_prefix=glob[:-1], action="a")
        table = RouteTable([route])
        rules = [{"name": "r", "match": {"paths": [glob]}, "action": "block"}]
        compiled = compile_rules(RuleSet(version="1", rules=rules, default_action="allow"))
        matcher = RequestMatcher(compiled.predicates)
        for _ in range(20):
            target = odd_spelling(chance, path)
            if not table.matches(frozenset(("GET",)), target, b"shop.example"):
                continue
            found += 1
            traits = matcher.of_page("GET", (), target, "shop.example")
            verdict = compiled.evaluate([], {}, route="*", action=None, traits=traits)
            assert verdict.outcome is Outcome.BLOCK, (glob, target)
    assert found > 1_500


@pytest.mark.parametrize(
    ("glob", "path"),
    [
        ("/caf%C3%A9/*", "/caf%c3%a9/x"),
        ("/café/*", "/caf%C3%A9/x"),
        ("/a%20b", "/a%20b"),
        ("*", "/x/../y"),
        ("/*", "//"),
    ],
)
def test_an_escape_of_a_plain_path_is_read_for_sure(glob: str, path: str) -> None:
    rules = [{"name": "r", "match": {"paths": [glob]}, "action": "allow"}]

    assert decide(rules, default="block", path=path).outcome is Outcome.ALLOW


@pytest.mark.parametrize(
    ("method", "overrides", "allowed", "blocked"),
    [
        ("POST", [], True, True),
        ("POST", ["DELETE"], False, True),
        ("GET", ["POST"], False, True),
        ("GET", ["nonsense"], False, True),
        ("GET", [], False, False),
        ("PURGE", [], False, False),
        ("POST", ["POST"], True, True),
    ],
)
def test_an_overridden_method_is_read_in_the_strictest_way(
    method: str, overrides: list[str], *, allowed: bool, blocked: bool
) -> None:
    request = {"method": method, "overrides": overrides}
    allow = [{"name": "r", "match": {"methods": ["POST"]}, "action": "allow"}]
    block = [{"name": "r", "match": {"methods": ["POST"]}, "action": "block"}]

    assert (decide(allow, default="block", **request).outcome is Outcome.ALLOW) is allowed
    assert (decide(block, **request).outcome is Outcome.BLOCK) is blocked


def test_of_rules_that_could_match_the_strictest_decides_and_a_sure_one_ends_the_search() -> None:
    rules = [
        {"name": "a", "match": {"paths": ["/a/*"]}, "action": "challenge"},
        {"name": "b", "match": {"paths": ["/a/b"]}, "action": "drop"},
        {"name": "all", "match": {}, "action": "allow"},
        {"name": "never", "match": {}, "action": "drop"},
    ]

    assert decide(rules, path="/a/b").rule == "a"
    assert decide(rules, path="/a//b").rule == "b"
    assert decide(rules, path="/x").rule == "all"


def test_rules_about_a_page_say_nothing_where_no_page_is_seen() -> None:
    rules = [{"name": "r", "match": {"not_paths": ["/public/*"]}, "action": "block"}]
    compiled = compile_rules(RuleSet(version="1", rules=rules, default_action="allow"))
    traits = RequestMatcher(compiled.predicates).of_call("203.0.113.7", None, "curl")

    assert compiled.evaluate([], {}, route="*", action=None, traits=traits).outcome is Outcome.ALLOW


@pytest.mark.parametrize(
    ("host", "name"),
    [("Shop.example:8443", "shop.example"), ("shop.example.", "shop.example"), ("[2001:DB8::1]:80", "[2001:db8::1]")],
)
def test_a_host_is_read_without_its_port(host: str, name: str) -> None:
    assert host_name(host) == name


def test_the_largest_set_is_compiled_and_asked_in_bounded_time() -> None:
    globs = ["/" + "a*" * 20 + str(number) for number in range(GLOBS_PER_SET)]
    networks = [f"10.{number // 256}.{number % 256}.0/24" for number in range(NETWORKS_PER_SET)]
    rules = [{"name": "g", "match": {"paths": globs}, "action": "block"}]
    rules += [{"name": "n", "match": {"networks": networks[:1000]}, "action": "block"}]
    rules += [{"name": "m", "match": {"networks": networks[1000:]}, "action": "block"}]

    started = time.process_time()
    compiled = compile_rules(RuleSet(version="1", rules=rules, default_action="allow"))
    built = time.process_time()
    for path in ("/" + "a" * 4_000, "/" + "a/../" * 800, "/" + "%61" * 1_000):
        traits_of(compiled, {"path": path, "address": "10.1.2.3"})
    asked = time.process_time()

    assert built - started < 2.0
    assert asked - built < 2.0
