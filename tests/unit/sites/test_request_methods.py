"""Methods: a request's own, and what headers, parameters and forms could make of it."""

import pytest

from agentgate.sites.request_methods import has_fields, methods_of

EDITS = {"PUT", "PATCH", "DELETE"}


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("GET", {"GET"}),
        ("HEAD", {"HEAD", "GET"}),
        ("DELETE", {"DELETE"}),
        ("PROPFIND", {"PROPFIND"}),
        ("MKCALENDAR", {"MKCALENDAR"}),
        ("REPORT", {"REPORT"}),
        ("PURGE", None),
        ("get", None),
        ("", None),
        ("GET,POST", None),
    ],
)
def test_head_is_also_get_and_an_unknown_verb_could_be_any(method: str, expected: set[str] | None):
    assert methods_of(method, b"/x") == expected


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        ([b"DELETE"], {"GET", "DELETE"}),
        ([b" delete "], {"GET", "DELETE"}),
        ([b"HEAD"], {"GET", "HEAD"}),
        ([b"PUT, PATCH", b"DELETE"], {"GET", *EDITS}),
        ([b"FOO"], None),
        ([b""], None),
        ([b"DELETE,"], None),
        ([b"DEL\xffETE"], None),
    ],
)
def test_an_override_is_also_its_method_and_one_not_understood_could_be_any(
    overrides: list[bytes], expected: set[str] | None
):
    assert methods_of("GET", b"/x", overrides=overrides) == expected


@pytest.mark.parametrize(
    "target",
    [
        b"/x?_method=DELETE",
        b"/x?_method=delete",
        b"/x?a=1&_method=DELETE",
        b"/x?%5fmethod=DELETE",
        b"/x?%5Fm%65thod=D%45LETE",
        b"/x?%255fmethod=DELETE",
        b"/x?_m%u0065thod=DELETE",
        b"/x;_method=DELETE",
        b"/x?a=1;_method=DELETE",
        b"/x%3F_method=DELETE",
        b"/x%3b_method=DELETE",
        b"/x?_METHOD=DELETE",
        b"/x?_method[]=DELETE",
        b"/x?_method%5B0%5D=DELETE",
        b"/x?.method=DELETE",
        b"/x?+_method=+DELETE+",
        b"/x?%20_method=DELETE%20",
        b"/x?[method=DELETE",
        b"/x?_met%00hod=DELETE",
        b"/x?a%00_method=DELETE",
        b"/x?_method=DEL%C2%ADETE&_method=DELETE",
        b"/x?X-HTTP-Method-Override=DELETE",
        b"/x?a=%26_method=DELETE",
    ],
)
def test_a_method_in_the_query_is_found_however_it_is_written(target: bytes):
    methods = methods_of("GET", target)

    assert methods is None or methods == {"GET", "DELETE"}


@pytest.mark.parametrize(
    "target", [b"/x?_method=FOO", b"/x?_method=", b"/x?_method", b"/x?_method=DELETE%ff", b"/x;_method=x?y"]
)
def test_a_method_in_the_query_that_is_not_understood_could_be_any(target: bytes):
    assert methods_of("GET", target) is None


@pytest.mark.parametrize(
    "target",
    [
        b"/x?payment_method=card",
        b"/x?shipping[method]=dhl",
        b"/x?method=card",
        b"/x?_methods=a",
        b"/x?q=%20the+scientific%20method",
        b"/methods/_method_x",
        b"/x?q=how%3F&m=ethod",
        b"/x?q=%E3%81%82%FF",
    ],
)
def test_an_ordinary_query_names_no_method(target: bytes):
    assert methods_of("GET", target) == {"GET"}


def test_a_target_beyond_the_bounds_could_have_any_method():
    assert methods_of("GET", b"/x?q=%41" + b"y" * 20_000) is None


def test_a_body_with_fields_could_name_any_method_unless_the_site_excludes_it():
    assert methods_of("POST", b"/x", has_fields=True) is None
    assert methods_of("POST", b"/x", has_fields=True, form_override=False) == {"POST"}
    assert methods_of("POST", b"/x", has_fields=False) == {"POST"}
    assert methods_of("GET", b"/x", has_fields=True) == {"GET"}
    assert methods_of("POST", b"/x?_method=PUT", has_fields=True, form_override=False) == {"POST", "PUT"}


@pytest.mark.parametrize(
    ("content_type", "expected"),
    [
        (None, True),
        (b"", True),
        (b"application/x-www-form-urlencoded", True),
        (b"Application/X-WWW-Form-URLencoded; charset=utf-8", True),
        (b"multipart/form-data; boundary=x", True),
        (b"multipart/mixed", True),
        (b"application/json, application/x-www-form-urlencoded", True),
        (b"application/json;x=multipart/form-data", True),
        (b"json", True),
        (b"a b/c", True),
        (b"application/json", True),
        (b" Application/JSON ; charset=utf-8", True),
        (b"application/vnd.api+json", True),
        (b"text/plain", False),
        (b"application/xml", False),
        (b"application/octet-stream", False),
    ],
)
def test_forms_json_and_bodies_of_an_unclear_type_have_fields(content_type: bytes | None, expected: bool):
    assert has_fields(content_type) is expected
