"""Parts of a request that a signature can name in several ways: members, parameters, strict and binary forms."""

import base64

import http_sf
import pytest

from agentgate.agents.identity import Identity, SignedMessage
from agentgate.agents.signing.fields import Unreadable, read_inputs
from agentgate.agents.signing.signed_text import signed_text
from agentgate.agents.signing.verify import AgentVerifier
from agentgate.lib.enums import AgentVerdict
from tests.support.agent_client import SigningAgent
from tests.unit.agents.verifying import AGENT, DIRECTORY, KnownKeys, message_of, verify

NOW = 1_800_000_000
URL = "https://shop.example/list?page=2"
INVALID, VERIFIED = AgentVerdict.INVALID, AgentVerdict.VERIFIED

agent = SigningAgent()


def by_hand(*lines: str, parameters: str | None = None, url: str = URL, **headers: str) -> Identity:
    """Sign the given lines, right or wrong as they are, and return the identity of the signed request."""
    identifiers = " ".join(line.partition(": ")[0] for line in lines)
    times = f"created={NOW};expires={NOW + 60}" if parameters is None else parameters
    text = f'({identifiers});{times};keyid="{agent.keyid}";tag="web-bot-auth"'
    signature = agent.key.sign("\n".join([*lines, f'"@signature-params": {text}']).encode())
    sent = {
        "signature-agent": f'"{AGENT}"',
        **{name.replace("_", "-"): value for name, value in headers.items()},
        "signature-input": f"sig1={text}",
        "signature": f"sig1=:{base64.b64encode(signature).decode()}:",
    }
    return verify(AgentVerifier(KnownKeys({DIRECTORY: agent.jwks["keys"]})), message_of("GET", url, sent), now_s=NOW)


HOST_LINE = '"@authority": shop.example'
AGENT_LINE = f'"signature-agent": "{AGENT}"'


def test_a_member_of_a_header_is_not_the_whole_header() -> None:
    line = '"content-digest";key="sha-256": :AAAA:'
    identity = by_hand(HOST_LINE, line, AGENT_LINE, content_digest="sha-256=:AAAA:, sha-512=:AAAA:")
    assert identity.verdict is VERIFIED, identity.why
    assert identity.covered == {"@authority", "signature-agent"}


def test_a_header_covered_strictly_or_as_bytes_is_covered_whole() -> None:
    lines = ('"accept";sf: a;q=1, b', '"x-note";bs: :aGkh:')
    identity = by_hand(HOST_LINE, *lines, AGENT_LINE, accept="a;q=1,   b", x_note=" hi! ")
    assert identity.verdict is VERIFIED, identity.why
    assert identity.covered == {"@authority", "signature-agent", "accept", "x-note"}


def test_a_query_parameter_is_covered_when_the_url_has_it_once() -> None:
    line = '"@query-param";name="page": 2'
    assert by_hand(HOST_LINE, line, AGENT_LINE).verdict is VERIFIED
    twice = by_hand(HOST_LINE, line, AGENT_LINE, url=f"{URL}&page=2")
    assert (twice.verdict, twice.why) == (
        INVALID,
        "the signature covers a query parameter that the URL has not exactly once",
    )


def test_a_component_that_is_covered_twice_is_invalid() -> None:
    assert by_hand(HOST_LINE, HOST_LINE, AGENT_LINE).verdict is INVALID


def test_a_parameter_that_comes_twice_is_invalid() -> None:
    assert by_hand(HOST_LINE, AGENT_LINE).verdict is VERIFIED
    times = f"created={NOW - 9999};created={NOW};expires={NOW + 60}"
    assert "twice" in (by_hand(HOST_LINE, AGENT_LINE, parameters=times).why or "")


def test_of_two_agents_in_one_header_the_signature_must_state_which() -> None:
    two = f'a="{AGENT}", b="https://other.example"'
    identity = by_hand(HOST_LINE, f'"signature-agent": {two}', signature_agent=two)
    assert "member of Signature-Agent" in (identity.why or "")
    named = by_hand(HOST_LINE, f'"signature-agent";key="a": "{AGENT}"', signature_agent=two)
    assert (named.verdict, named.agent) == (VERIFIED, AGENT)
    labelled = two.replace("a=", "sig1=", 1)
    by_label = by_hand(HOST_LINE, f'"signature-agent": {labelled}', signature_agent=labelled)
    assert (by_label.verdict, by_label.agent) == (VERIFIED, AGENT)


def test_the_host_is_the_one_that_was_requested_whatever_the_header_shows() -> None:
    identity = by_hand(HOST_LINE, '"host": shop.example', AGENT_LINE, host="gate.internal")
    assert identity.verdict is VERIFIED, identity.why


@pytest.mark.parametrize(
    ("target", "accept"),
    [("/list\n@query: ?", b"*/*"), ("/liste\xe9", b"*/*"), ("/list", b"*/*\nother: 1"), ("/list", b"\xff")],
)
def test_what_could_be_taken_for_other_lines_cannot_be_covered(target: str, accept: bytes) -> None:
    [found] = read_inputs(b'sig1=("@path" "accept")').values()
    message = SignedMessage(
        method="GET", scheme="https", authority="shop.example", target=target, headers={b"accept": accept}
    )
    with pytest.raises(Unreadable, match="line breaks"):
        signed_text(message, found)


@pytest.mark.parametrize(
    "written",
    [
        'a=("@path";nonce="x");nonce="y"',
        'a=("x)y";nonce="x");created=1',
        'a=("@path");tag="b;nonce=";nonce="y"',
        'a=("@path");tag="b";nonce="y";created=1',
        'a=("@path");created=1;nonce="y", b=("@path");created=2',
        'a=("@path");created=1; nonce="y"',
    ],
)
def test_a_nonce_is_read_where_it_is_alone(written):
    read = read_inputs(written.encode())
    expected = http_sf.parse(written.encode(), tltype="dictionary")

    assert list(read) == list(expected)
    for label, (items, parameters) in expected.items():
        assert read[label].parameters == parameters
        assert [(each.name, each.parameters) for each in read[label].coverage.components] == items


@pytest.mark.parametrize("after", ["1", ",b=1", '"', " ;x", '(";tag="'])
def test_what_follows_a_nonce_without_a_semicolon_is_rejected(after):
    with pytest.raises(Unreadable):
        read_inputs(f'a=("@path");nonce="y"{after}'.encode())
