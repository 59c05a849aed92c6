"""Content in canonical form: one form for every spelling, as RFC 8785 has it."""

import hashlib

import pytest

from agentgate.agents.submit.canonical import NotCanonical, content_bytes, submission_hash, texts


def test_text_is_its_own_bytes() -> None:
    assert content_bytes('Grüße "dir"\n') == 'Grüße "dir"\n'.encode()


def test_the_example_of_the_standard_comes_out_as_there() -> None:
    content = {
        "numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": '\u20ac$\u000f\nA\'B"\\\\"/',
        "literals": [None, True, False],
    }

    assert content_bytes(content).decode() == (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )


@pytest.mark.parametrize(
    ("number", "text"),
    [
        *((0.0, "0"), (-0.0, "0"), (1.0, "1"), (-1.5, "-1.5"), (1e20, "100000000000000000000"), (1e21, "1e+21")),
        *((1e-6, "0.000001"), (1e-7, "1e-7"), (5e-324, "5e-324"), (1.7976931348623157e308, "1.7976931348623157e+308")),
        *((123456789.125, "123456789.125"), (2**53 - 1, "9007199254740991"), (-3, "-3")),
    ],
)
def test_numbers_look_as_ecmascript_writes_them(number, text) -> None:
    assert content_bytes([number]).decode() == f"[{text}]"


def test_names_are_sorted_by_utf_16_units() -> None:
    names = {"\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\U0001f600": 5, "\u0080": 6, "\u00f6": 7}

    assert content_bytes(names) == '{"\\r":2,"1":4,"\u0080":6,"ö":7,"€":1,"😀":5,"\ufb33":3}'.encode()


@pytest.mark.parametrize("content", [2**53, -(2**53), float("inf"), [float("nan")], "\ud800", {"a": ["\udfff"]}])
def test_what_has_no_canonical_form_is_rejected(content) -> None:
    with pytest.raises(NotCanonical):
        content_bytes(content)


def test_what_is_nested_too_deeply_is_rejected() -> None:
    content: list = []
    for _ in range(33):
        content = [content]

    with pytest.raises(NotCanonical, match="nested too deeply"):
        content_bytes(content)


def test_a_submission_differs_when_any_part_of_it_does() -> None:
    hashes = {
        submission_hash("site_a", "submit", None, "x"),
        submission_hash("site_b", "submit", None, "x"),
        submission_hash("site_a", "search", None, "x"),
        submission_hash("site_a", "submit", "tool", "x"),
        submission_hash("site_a", "submit", None, ["x"]),
    }

    assert len(hashes) == 5
    assert submission_hash("s", "a", None, {"b": 1, "a": 1.0}) == submission_hash("s", "a", None, {"a": 1, "b": 1})
    assert len(hashes.pop()) == hashlib.sha256().digest_size


def test_texts_are_the_values_in_their_order() -> None:
    assert list(texts({"name": "Ada", "more": ["x", 1, {"deep": "y"}], "none": None})) == ["Ada", "x", "y"]
