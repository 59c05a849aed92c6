"""A client that goes offline and comes back: what it accepts, what it keeps, and what reconciling finds."""

import threading

import pytest

from agentgate_client import Client, OfflineVerifier, Reconciler, Unavailable, VerificationFailed
from tests.site_server.signer import NOW_S, SITE_KEY, Signer
from tests.support.ports import free_port

SIGNER = Signer()
STRANGER = Signer(b"\x02" * 32)


@pytest.fixture
def now():
    return lambda: float(NOW_S)


@pytest.fixture
def away(now):
    """Create a client whose service is unavailable, with an offline verifier as the fallback."""
    verifier = OfflineVerifier(SIGNER.key_set(), SITE_KEY, now_s=now)
    return Client(f"http://127.0.0.1:{free_port()}", "ags_x", retries=0, offline=verifier)


def test_a_client_without_its_service_accepts_by_signature_once(away):
    token = SIGNER.receipt()

    assert away.verify(token, expected_action="signup").source == "offline"
    with pytest.raises(VerificationFailed, match="token_used"):
        away.verify(token, expected_action="signup")
    with pytest.raises(VerificationFailed, match="action_mismatch"):
        away.verify(SIGNER.receipt(), expected_action="login")


def test_fail_open_does_not_allow_what_the_signature_rejects(now):
    verifier = OfflineVerifier(SIGNER.key_set(), SITE_KEY, now_s=now)
    client = Client(f"http://127.0.0.1:{free_port()}", "ags_x", retries=0, fail_open=True, offline=verifier)

    with pytest.raises(VerificationFailed, match="invalid_token"):
        client.verify(STRANGER.receipt(), expected_action="signup")


def test_a_full_queue_prevents_acceptance(away):
    reconciler = Reconciler(away, capacity=1)
    away.verify(SIGNER.receipt(), expected_action="signup")

    with pytest.raises(Unavailable, match="reconciled"):
        away.verify(SIGNER.receipt(), expected_action="signup")
    assert len(reconciler) == 1


def test_a_queue_in_a_file_outlives_the_process_and_a_torn_line(away, tmp_path):
    path = tmp_path / "offline.jsonl"
    reconciler = Reconciler(away, path=path)
    away.verify(SIGNER.receipt(), expected_action="signup", request_id="order-1")
    with path.open("a") as file:
        file.write('{"token": "a.b')

    assert path.stat().st_mode & 0o777 == 0o600
    assert len(reconciler) == 1
    assert [question.request_id for question in Reconciler(away, path=path)._queue] == ["order-1"]


# With the real service.


@pytest.fixture
def pair(gate):
    """A client that can lose its service, and one that cannot."""
    verifier = OfflineVerifier(gate.url, SITE_KEY, now_s=gate.now_s)
    assert verifier.refresh()
    client = gate.client(retries=0, offline=verifier)
    return client, gate.client()


def lose(client):
    """Cut a client off from its service until the returned function is called."""
    connections = client._connections
    connections.close()
    there = connections._port
    connections._port = free_port()

    def bring_back():
        connections._port = there

    return bring_back


def test_what_was_accepted_offline_is_redeemed_afterwards(gate, pair, tmp_path):
    client, other = pair
    reconciler = Reconciler(client, path=tmp_path / "queue")
    once, twice, late = gate.token(), gate.token(), gate.token()
    bring_back = lose(client)
    accepted = [client.verify(token, expected_action="signup") for token in (once, twice)]
    assert [verified.source for verified in accepted] == ["offline", "offline"]
    other.verify(twice, expected_action="signup")
    assert reconciler.reconcile().waiting == 2

    bring_back()
    result = reconciler.reconcile()

    assert [verified.request_id for verified in result.redeemed] == [accepted[0].request_id]
    assert result.double_spent == (accepted[1].request_id,)
    assert (result.expired, result.refused, result.waiting) == ((), (), 0)
    assert (tmp_path / "queue").read_text() == ""
    with pytest.raises(VerificationFailed, match="token_used"):
        other.verify(once, expected_action="signup")
    bring_back = lose(client)
    never = client.verify(late, expected_action="signup")
    gate.service.clock.advance(seconds=121)
    bring_back()
    assert reconciler.reconcile().expired == (never.request_id,)


def test_a_token_accepted_offline_is_not_accepted_again_when_the_service_is_back(gate, pair):
    client, _ = pair
    token = gate.token()
    bring_back = lose(client)
    client.verify(token, expected_action="signup")
    bring_back()

    with pytest.raises(VerificationFailed, match="token_used"):
        client.verify(token, expected_action="signup")


def test_a_token_redeemed_online_is_not_accepted_again_when_the_service_is_unavailable(gate, pair):
    client, _ = pair
    token = gate.token()
    client.verify(token, expected_action="signup")
    lose(client)

    with pytest.raises(VerificationFailed, match="token_used"):
        client.verify(token, expected_action="signup")


def test_reconciling_in_the_background_shows_the_outcome(gate, pair):
    client, _ = pair
    reconciler = Reconciler(client)
    bring_back = lose(client)
    accepted = client.verify(gate.token(), expected_action="signup")
    bring_back()
    told, done = [], threading.Event()
    reconciler.start(lambda result: (told.append(result), done.set()), every_s=0.01)

    assert done.wait(10)
    reconciler.close()
    assert [verified.request_id for verified in told[0].redeemed] == [accepted.request_id]


def test_the_service_and_the_offline_verifier_agree(gate):
    """The same token, asked of both: what the service redeems the verifier accepts, with the same words."""
    token = gate.token(c_data="x")
    offline = OfflineVerifier(gate.url, SITE_KEY, now_s=gate.now_s).verify(
        token, expected_action="signup", request_id="one"
    )
    online = gate.client().verify(token, expected_action="signup", request_id="one")

    assert {name: getattr(online, name) for name in online.__slots__ if name != "source"} == {
        name: getattr(offline, name) for name in offline.__slots__ if name != "source"
    }
