"""The route tables compared with the specification: built endpoints, endpoints that are missing, and additions."""

from collections import Counter

from tests.contract.additions import ADDITIONS
from tests.contract.not_built_yet import NOT_BUILT_YET
from tests.contract.spec import endpoints, spec_text

SURFACE_OF_PREFIX = {"/v1/admin/": "admin", "/v1/account/": "account", "/v1/console/": "console"}


def in_spec():
    return [f"{endpoint.method} {endpoint.path}" for endpoint in endpoints(spec_text())]


def surfaces():
    from agentgate.routes import SURFACES

    return SURFACES


def built():
    return {f"{row.method} {row.path}" for surface in surfaces() for row in surface.rows}


def test_every_endpoint_of_the_specification_is_built_or_listed_as_not_built_yet():
    assert [name for name in in_spec() if name not in built() and name not in NOT_BUILT_YET] == []


def test_what_is_built_is_no_longer_listed_as_not_built_yet():
    assert [name for name in NOT_BUILT_YET if name in built()] == []


def test_the_list_of_what_is_not_built_yet_follows_the_specification():
    assert list(NOT_BUILT_YET) == [name for name in in_spec() if name in NOT_BUILT_YET]


def test_nothing_is_built_beyond_the_specification_and_the_listed_additions():
    assert sorted(built() - set(in_spec()) - set(ADDITIONS)) == []


def test_an_addition_never_stands_for_an_endpoint_of_the_specification():
    assert sorted(set(ADDITIONS) & set(in_spec())) == []


def test_no_surface_has_the_same_endpoint_twice():
    rows = Counter((surface.name, row.method, row.path) for surface in surfaces() for row in surface.rows)

    assert [row for row, count in rows.items() if count > 1] == []


def test_each_endpoint_is_in_the_surface_its_prefix_names():
    misplaced = [
        (surface.name, row.path)
        for surface in surfaces()
        for row in surface.rows
        for prefix, name in SURFACE_OF_PREFIX.items()
        if row.path.startswith(prefix) != (surface.name == name) and row.path.startswith("/v1/")
    ]

    assert misplaced == []
