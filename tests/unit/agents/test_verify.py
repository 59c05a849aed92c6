"""The profile's requirements for a signature, and the result when something is missing."""

import base64
from typing import Any

import pytest

from agentgate.agents.identity import Identity
from agentgate.agents.signing.fields import read_inputs, split_input
from agentgate.agents.signing.signed_text import signed_text
from agentgate.agents.signing.verify import AgentVerifier
from agentgate.lib.enums import AgentVerdict
from agentgate.sites.agent_policy import DEFAULT_POLICY, read_policy
from agentgate_tools.agent_simulator.sign import AgentForm
from tests.support.agent_client import SigningAgent
from tests.unit.agents.verifying import AGENT, DIRECTORY, KnownKeys, message_of, policy_with, verify

NOW = 1_800_000_000
URL = "https://shop.example/list?page=2"
SKEW_S = 60

agent = SigningAgent()
KEY_SET = f"{AGENT}/keys/set.json"
INVALID, UNVERIFIED, VERIFIED, UNSIGNED = (
    AgentVerdict.INVALID,
    AgentVerdict.UNVERIFIED,
    AgentVerdict.VERIFIED,
    AgentVerdict.UNSIGNED,
)


def known(*urls: str) -> KnownKeys:
    return KnownKeys(dict.fromkeys(urls or (DIRECTORY,), agent.jwks["keys"]))


def signed(**how: Any) -> dict[str, str]:
    how.setdefault("created", NOW)
    return agent.headers("GET", URL, **how)


def identify(headers: dict[str, str], *, keys: KnownKeys | None = None, now_s: float = NOW, **more: Any) -> Identity:
    return verify(AgentVerifier(keys or known()), message_of("GET", URL, headers), now_s=now_s, **more)


def test_a_signed_request_is_verified() -> None:
    identity = identify(signed(nonce="once"))
    assert (identity.verdict, identity.agent, identity.keyid) == (VERIFIED, AGENT, agent.keyid)
    assert identity.covered == {"@method", "@authority", "@path", "@query", "signature-agent"}
    assert (identity.has_nonce, identity.expires_ms) == (True, (NOW + 300 + SKEW_S) * 1000)
    assert identity.purposes == ("search",)


@pytest.mark.anyio
async def test_a_key_that_has_to_be_fetched_is_waited_for() -> None:
    verifier = AgentVerifier(KnownKeys({DIRECTORY: agent.jwks["keys"]}, late=True))
    found = verifier.verify(message_of("GET", URL, signed()), policy=DEFAULT_POLICY, now_ms=NOW * 1000, longest_s=600)
    assert not isinstance(found, Identity)
    assert (await found).verdict is VERIFIED


@pytest.mark.parametrize("form", AgentForm)
def test_every_form_of_signature_agent_is_read(form: AgentForm) -> None:
    keys = known()
    assert identify(signed(form=form), keys=keys).verdict is VERIFIED
    assert keys.asked == [(DIRECTORY, agent.keyid)]


@pytest.mark.parametrize(
    ("value", "url", "name"),
    [
        (AGENT, DIRECTORY, AGENT),
        (f"{AGENT}/", DIRECTORY, AGENT),
        ("HTTPS://Agent.Example:443", DIRECTORY, AGENT),
        (DIRECTORY, DIRECTORY, AGENT),
        (KEY_SET, KEY_SET, KEY_SET),
        (f"{KEY_SET}?v=2", f"{KEY_SET}?v=2", KEY_SET),
        ("https://agent.example:8443", DIRECTORY.replace("example/", "example:8443/"), "https://agent.example:8443"),
    ],
)
def test_the_key_set_is_looked_for_where_the_agent_shows(value: str, url: str, name: str) -> None:
    keys = known(url)
    identity = identify(signed(agent=value), keys=keys)
    assert (identity.verdict, identity.agent) == (VERIFIED, name)
    assert keys.asked == [(url, agent.keyid)]


@pytest.mark.parametrize(
    "value",
    [
        "http://agent.example",
        "https://user@agent.example",
        "https://agent.example#keys",
        "https://agent.example\\@other.example/keys",
        "https://agent.example:0",
        "https://agent example/",
        "https://",
        "agent.example",
        "data:application/json,{}",
        "https://agent..example",
        "https://agent.example./",
        f"https://agent.example/{'k' * 1024}",
    ],
)
def test_an_address_that_is_no_plain_https_url_makes_the_signature_invalid(value: str) -> None:
    keys = known()
    assert identify(signed(agent=value), keys=keys).verdict is INVALID
    assert keys.asked == []


@pytest.mark.parametrize(
    ("how", "verdict", "said"),
    [
        ({"created": NOW + SKEW_S}, VERIFIED, None),
        ({"created": NOW + SKEW_S + 1}, INVALID, "future"),
        ({"created": NOW - 300, "expires": NOW - SKEW_S + 1}, VERIFIED, None),
        ({"created": NOW - 300, "expires": NOW - SKEW_S}, INVALID, "expired"),
        ({"expires": NOW + 24 * 3600}, VERIFIED, None),
        ({"expires": NOW + 24 * 3600 + 1}, UNVERIFIED, "at most 86400 seconds"),
        ({"expires": NOW}, INVALID, "after created"),
        ({"cover": ("@method", "@path", "signature-agent")}, INVALID, "@authority or @target-uri"),
        ({"cover": ("@target-uri", "signature-agent")}, VERIFIED, None),
        ({"cover": ("@authority", "@method")}, INVALID, "cover signature-agent"),
        ({"cover": ("@authority",), "agent": None}, UNVERIFIED, "no Signature-Agent"),
        ({"keyid": "my-key"}, UNVERIFIED, "thumbprint"),
        ({"tag": None}, UNSIGNED, None),
        ({"tag": "agent-browser-auth"}, UNSIGNED, None),
    ],
)
def test_the_profile_is_kept(how: dict[str, Any], verdict: AgentVerdict, said: str | None) -> None:
    identity = identify(signed(**how))
    assert identity.verdict is verdict, identity.why
    assert (said or "") in (identity.why or "")


def test_a_short_window_is_kept_where_it_is_requested() -> None:
    assert identify(signed(expires=NOW + 600), longest_s=600).verdict is VERIFIED
    assert identify(signed(expires=NOW + 601), longest_s=600).verdict is UNVERIFIED


@pytest.mark.parametrize("name", ["created", "expires", "keyid"])
def test_a_parameter_that_the_profile_asks_for_must_be_there(name: str) -> None:
    headers = signed()
    parts = [part for part in headers["signature-input"].split(";") if not part.startswith(f"{name}=")]
    assert identify({**headers, "signature-input": ";".join(parts)}).verdict is INVALID


@pytest.mark.parametrize(
    ("algorithm", "verdict"),
    [
        ("ed25519", VERIFIED),
        ("rsa-pss-sha512", UNVERIFIED),
        ("ecdsa-p256-sha256", UNVERIFIED),
        ("hmac-sha256", INVALID),
        ("none", INVALID),
    ],
)
def test_other_algorithms_are_not_taken_for_ed25519(algorithm: str, verdict: AgentVerdict) -> None:
    headers = signed()
    changed = headers["signature-input"].replace('alg="ed25519"', f'alg="{algorithm}"')
    identity = identify({**headers, "signature-input": changed})
    assert identity.verdict is verdict
    assert identity.agent == AGENT


def test_a_key_of_a_standard_proves_nothing() -> None:
    # RFC 8032 7.1, test 1: the private key is in the standard.
    seed = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
    everybody = SigningAgent(seed=seed)
    keys = KnownKeys({DIRECTORY: everybody.jwks["keys"]})
    identity = identify(everybody.headers("GET", URL, created=NOW), keys=keys)
    assert (identity.verdict, keys.asked) == (INVALID, [])


def test_a_key_is_looked_for_at_the_agents_own_address_only() -> None:
    other = "https://other.example/.well-known/http-message-signatures-directory"
    identity = identify(signed(), keys=known(other))
    assert (identity.verdict, identity.agent, identity.why) == (UNVERIFIED, AGENT, "no such key")


def test_a_signature_by_another_key_is_invalid() -> None:
    stranger = SigningAgent(seed=b"s" * 32)
    headers = stranger.headers("GET", URL, created=NOW, keyid=agent.keyid)
    assert identify(headers).verdict is INVALID


def test_keys_of_the_policy_need_no_fetch_and_no_others_count() -> None:
    keys = known()
    assert identify(signed(), keys=KnownKeys({}), policy=policy_with(agent.jwks)).verdict is VERIFIED
    others = policy_with(SigningAgent(seed=b"o" * 32).jwks)
    identity = identify(signed(), keys=keys, policy=others)
    assert (identity.verdict, identity.why) == (UNVERIFIED, "the site lists other keys for this agent")
    assert keys.asked == []


def test_an_entry_of_the_policy_without_keys_leaves_the_key_set_to_the_agent() -> None:
    policy = read_policy({"agents": {AGENT: {"decision": "allow"}}})
    assert identify(signed(), policy=policy).verdict is VERIFIED


@pytest.mark.parametrize(
    ("times", "verdict"),
    [
        ({"nbf": NOW - 1, "exp": NOW + 1}, VERIFIED),
        ({"nbf": NOW + 1}, UNVERIFIED),
        ({"exp": NOW}, UNVERIFIED),
        ({"nbf": (NOW - 1) * 1000, "exp": (NOW + 1) * 1000}, VERIFIED),
        ({"exp": NOW * 1000}, UNVERIFIED),
        ({"exp": "never"}, UNVERIFIED),
    ],
)
def test_a_key_of_the_policy_is_good_for_its_time(times: dict[str, Any], verdict: AgentVerdict) -> None:
    policy = policy_with({"keys": [{**agent.key.jwk, **times}]})
    assert identify(signed(), policy=policy).verdict is verdict


@pytest.mark.parametrize(
    "change",
    [{"kty": "EC"}, {"crv": "X25519"}, {"use": "enc"}, {"alg": "RS256"}, {"d": "AAAA"}, {"x": "AAAA"}, {"x": 5}],
)
def test_a_key_that_is_not_for_this_is_not_used(change: dict[str, Any]) -> None:
    policy = policy_with({"keys": [{**agent.key.jwk, **change}]})
    assert identify(signed(), policy=policy).verdict is UNVERIFIED


def test_the_nonce_makes_a_signature_one_of_its_kind() -> None:
    first, again = identify(signed(nonce="a")), identify(signed(nonce="a", expires=NOW + 30))
    assert first.replay_key == again.replay_key
    assert first.replay_key != identify(signed(nonce="b")).replay_key


def test_a_nonce_belongs_to_its_agent_and_key() -> None:
    """A nonce of one agent must not keep another agent, or another key of the same agent, from using the same nonce."""
    ours = identify(signed(nonce="a"))
    second_key = SigningAgent(seed=bytes(range(1, 33)))
    other_agent = SigningAgent(url="https://other.example")
    keys = KnownKeys(
        {
            DIRECTORY: second_key.jwks["keys"],
            DIRECTORY.replace("agent.example", "other.example"): other_agent.jwks["keys"],
        }
    )

    theirs = [
        identify(each.headers("GET", URL, created=NOW, nonce="a"), keys=keys) for each in (second_key, other_agent)
    ]

    assert [each.verdict for each in theirs] == [VERIFIED, VERIFIED]
    assert (theirs[0].agent, theirs[1].keyid) == (ours.agent, ours.keyid)
    assert len({each.replay_key for each in (ours, *theirs)}) == 3


def test_without_a_nonce_the_signature_itself_does() -> None:
    first, again = identify(signed(nonce=False)), identify(signed(nonce=False))
    assert not first.has_nonce
    assert first.replay_key == again.replay_key
    assert first.replay_key != identify(signed(nonce=False, expires=NOW + 30)).replay_key


def both(first: dict[str, str], second: dict[str, str]) -> dict[str, str]:
    joined = {name: f"{first[name]}, {second[name]}" for name in ("signature-input", "signature")}
    return {**first, **second, **joined}


def test_two_signatures_of_one_agent_are_both_recorded() -> None:
    identity = identify(both(signed(label="a", nonce="1"), signed(label="b", nonce="2")))
    assert (identity.verdict, identity.agent, len(identity.others)) == (VERIFIED, AGENT, 1)
    assert identity.replay_key != identity.others[0].replay_key


def test_four_signatures_are_too_many() -> None:
    headers = both(both(signed(label="a"), signed(label="b")), both(signed(label="c"), signed(label="d")))
    identity = identify(headers)
    assert (identity.verdict, "at most 3" in (identity.why or "")) == (INVALID, True)


def test_a_signature_that_is_not_checked_here_does_not_spoil_one_that_is() -> None:
    other = signed(label="b")
    other["signature-input"] = other["signature-input"].replace("ed25519", "rsa-pss-sha512")
    assert identify(both(signed(label="a"), other)).verdict is VERIFIED
    assert identify(both(other, signed(label="a"))).verdict is VERIFIED


def test_a_wrong_signature_next_to_a_right_one_is_ignored() -> None:
    stranger = SigningAgent(seed=b"s" * 32).headers("GET", URL, created=NOW, keyid=agent.keyid, label="b")
    for headers in (both(signed(label="a"), stranger), both(stranger, signed(label="a"))):
        identity = identify(headers)
        assert (identity.verdict, identity.others) == (VERIFIED, ())
    assert identify(stranger).verdict is INVALID


def test_signatures_of_two_agents_stand_for_themselves() -> None:
    first = signed(label="a", form=AgentForm.MEMBER)
    second = signed(label="b", form=AgentForm.MEMBER, agent="https://other.example")
    headers = both(first, second) | {"signature-agent": f"{first['signature-agent']}, {second['signature-agent']}"}
    other = DIRECTORY.replace("agent.example", "other.example")

    identity = identify(headers, keys=known(DIRECTORY, other))
    alone = identify(headers)

    assert [each.agent for each in (identity, *identity.others)] == [AGENT, "https://other.example"]
    assert not identity.is_outermost
    assert (alone.agent, alone.others) == (AGENT, ())


def test_the_agent_is_the_one_whose_signature_covers_the_other() -> None:
    inner = signed(label="inner", form=AgentForm.MEMBER)
    other = "https://other.example"
    sent = {**inner, "signature-agent": f'{inner["signature-agent"]}, outer="{other}"'}
    listed = (
        '("@authority" "signature";key="inner" "signature-input";key="inner" "signature-agent";key="outer")'
        f';created={NOW};expires={NOW + 60};keyid="{agent.keyid}";tag="web-bot-auth"'
    )
    parts = {**sent, "signature-input": f"{inner['signature-input']}, outer={listed}"}
    text = signed_text(message_of("GET", URL, parts), read_inputs(f"outer={listed}".encode())["outer"])
    value = base64.b64encode(agent.key.sign(text)).decode()
    headers = {**parts, "signature": f"{inner['signature']}, outer=:{value}:"}

    identity = identify(headers, keys=known(DIRECTORY, DIRECTORY.replace("agent.example", "other.example")))

    assert (identity.agent, identity.is_outermost) == (other, True)
    assert [each.agent for each in identity.others] == [AGENT]


def test_a_key_that_the_site_lists_needs_no_signature_agent() -> None:
    headers = signed(cover=("@authority",), agent=None)

    identity = identify(headers, policy=policy_with(agent.jwks))

    assert (identity.verdict, identity.agent) == (VERIFIED, AGENT)
    assert identify(headers, policy=policy_with(SigningAgent(seed=b"s" * 32).jwks)).verdict is UNVERIFIED


@pytest.mark.parametrize(
    "parameters", [";created=1;created=2", ";nonce=1", ";expires=01", ';created="1"', ";a=?1", ";x"]
)
def test_parameters_in_another_form_are_read_in_full_and_alike(parameters: str) -> None:
    text = f'sig1=("@authority"){parameters};tag="web-bot-auth"'.encode()

    assert split_input(text) is None


def test_times_and_nonce_are_cut_out_and_the_rest_is_kept() -> None:
    text = 'sig1=("@authority" "x";key="a");created=5;keyid="k";expires=9;nonce="n)";tag="web-bot-auth"'

    cut = split_input(text.encode())

    assert cut is not None
    assert cut[1:] == ('sig1=("@authority" "x";key="a");keyid="k";tag="web-bot-auth"', "n)", 5, 9)
    assert read_inputs(text.encode())["sig1"].text == text[5:]
    assert read_inputs(text.encode())["sig1"].parameters["created"] == 5


def test_a_signature_of_another_protocol_next_to_the_one_of_the_agent_is_ignored() -> None:
    other = signed(label="b", tag="something-else")
    assert identify(both(other, signed(label="a"))).verdict is VERIFIED


def test_a_label_that_comes_twice_is_invalid() -> None:
    assert identify(both(signed(), signed())).verdict is INVALID


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({"signature": ""}, INVALID),
        ({"signature": "other=:AAAA:"}, INVALID),
        ({"signature": "sig1=5"}, INVALID),
        ({"signature": "sig1=:AAAA:"}, INVALID),
        ({"signature-agent": '"https://agent.example'}, INVALID),
        ({"signature-agent": 'a="https://agent.example", b="https://other.example"'}, INVALID),
        ({"signature-agent": "5"}, INVALID),
        ({"signature-agent": "sig1=5"}, INVALID),
        ({"signature-agent": 'sig1="https://agent.example";type=cimd'}, UNVERIFIED),
        ({"signature-agent": 'sig1="https://agent.example";later'}, UNVERIFIED),
        ({"signature-input": 'sig1=("@authority"'}, UNSIGNED),
        ({"signature-input": 'sig1=("@authority");tag="web-bot-auth'}, INVALID),
        ({"signature-input": 'sig1=5;tag="web-bot-auth"'}, INVALID),
        ({"signature-input": 'sig1=(5);tag="web-bot-auth"'}, INVALID),
        ({"signature-input": 'sig1=();keyId="a"'}, UNSIGNED),
    ],
)
def test_headers_that_say_too_little_give_a_verdict(changes: dict[str, str], verdict: AgentVerdict) -> None:
    assert identify(signed() | changes).verdict is verdict


def test_the_header_of_an_older_protocol_is_not_a_signature_of_an_agent() -> None:
    headers = {"signature": 'keyId="https://social.example/actor#key",headers="host date",signature="AAAA"'}
    assert identify(headers).verdict is UNSIGNED


@pytest.mark.parametrize(
    "component",
    [
        '"@status"',
        '"@signature-params"',
        '"@method";req',
        '"accept";tr',
        '"@query-param"',
        '"@unknown"',
        '"Accept"',
        '"accept";new',
    ],
)
def test_a_component_that_no_request_has_makes_the_signature_invalid(component: str) -> None:
    headers = signed(headers={"accept": "*/*"})
    changed = headers["signature-input"].replace('("@method"', f'({component} "@method"')
    assert "cannot cover" in (identify({**headers, "signature-input": changed}).why or "")


def test_what_is_too_large_is_rejected_before_it_is_read() -> None:
    headers = signed()
    for name in ("signature", "signature-input", "signature-agent"):
        assert identify({**headers, name: headers[name] + " " * 8192}).verdict is INVALID
    names = " ".join(f'"x-{number}"' for number in range(31))
    many = headers["signature-input"].replace('("@method"', f'({names} "@method"')
    assert "at most 30" in (identify({**headers, "signature-input": many}).why or "")
    labels = ", ".join(headers["signature-input"].replace("sig1", f"s{number}") for number in range(6))
    assert "at most 5" in (identify({**headers, "signature-input": labels}).why or "")
