"""Path aliases that only the application knows are covered by the routes in docs/allow-webhooks.md."""

import json
import re
from pathlib import Path

import pytest

from agentgate.sites.records import SiteRoute
from agentgate.sites.request_methods import methods_of
from agentgate.sites.route_table import RouteTable

PAGE = Path(__file__).parents[3] / "docs" / "allow-webhooks.md"


def _routes() -> list[SiteRoute]:
    shown = re.search(r"```json\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert shown is not None
    return [
        SiteRoute(
            method=route["method"],
            action=route["action"],
            **({"path": route["path"]} if "path" in route else {"path_prefix": route["pathPrefix"]}),
        )
        for route in json.loads(shown[1])["routes"]
    ]


def _actions(routes: list[SiteRoute], path: str) -> set[str | None]:
    found = RouteTable(routes).matches(methods_of("POST", path.encode()), path.encode())
    return {route.action for route in found}


@pytest.mark.parametrize("path", ["/pay", "/pay/", "/PAY", "/pay.json", "/pay.x", "/index.php/pay", "/INDEX.php/pay/"])
def test_the_routes_of_the_page_cover_the_names_that_it_lists(path: str) -> None:
    assert "pay" in _actions(_routes(), path)


@pytest.mark.parametrize("path", ["/pay.json", "/index.php/pay", "/en/pay"])
def test_a_name_that_no_route_has_is_not_seen(path: str) -> None:
    # As the documentation states. Otherwise `/pay.json` could not be another page.
    assert _actions([SiteRoute(method="POST", action="pay", path="/pay")], path) == set()


def test_what_is_missing_is_still_under_the_catch_all() -> None:
    assert _actions(_routes(), "/en/pay") == {"browse"}
