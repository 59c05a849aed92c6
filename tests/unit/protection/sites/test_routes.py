"""Routes: exact before prefix, longer before shorter, a named method before any."""

import pytest

from agentgate.protection.sites.records import SiteRoute
from agentgate.protection.sites.routes import UNMATCHED, MatchedRoute, RouteTable

TABLE = RouteTable(
    [
        SiteRoute(method="POST", action="login", path="/login"),
        SiteRoute(method="*", action="any_login", path="/login"),
        SiteRoute(method="*", action="api", path_prefix="/api/"),
        SiteRoute(method="*", action="orders", path_prefix="/api/orders"),
        SiteRoute(method="DELETE", action="delete_order", path_prefix="/api/orders"),
        SiteRoute(method="GET", action="read", path_prefix="/api/"),
        SiteRoute(method="GET", action="exact", path="/api/orders/latest"),
    ]
)


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("POST", "/login", MatchedRoute("/login", "login")),
        ("GET", "/login", MatchedRoute("/login", "any_login")),
        ("GET", "/api/orders/latest", MatchedRoute("/api/orders/latest", "exact")),
        ("POST", "/api/orders/latest", MatchedRoute("/api/orders*", "orders")),
        ("DELETE", "/api/orders/7", MatchedRoute("/api/orders*", "delete_order")),
        # The longer prefix wins although the shorter one names the method.
        ("GET", "/api/orders/7", MatchedRoute("/api/orders*", "orders")),
        ("GET", "/api/users", MatchedRoute("/api/*", "read")),
        ("PUT", "/api/users", MatchedRoute("/api/*", "api")),
        ("GET", "/Login", UNMATCHED),
        ("GET", "/", UNMATCHED),
    ],
)
def test_a_request_falls_under_the_most_telling_route(method: str, path: str, expected: MatchedRoute):
    assert TABLE.match(method, path) == expected
