"""Sessions, pre-sessions and links to the second (C12), and revocations that hold from the next request on."""

from collections.abc import Callable

import pytest

from agentgate.lib.enums import AccountRole
from agentgate.people.identity.records import LinkKind
from tests.api.account.steps import begin_with_mfa, make_link, turn_mfa_on
from tests.support.cast import EMAILS, Cast, add_user, sign_in, signed_in_client
from tests.support.service import RunningService

ACCOUNT, CONSOLE = "/v1/account", "/v1/console"
MINUTE, HOUR = 60, 3600

pytestmark = pytest.mark.parametrize("settings", ["sqlite"], indirect=True)


def test_a_session_lives_two_hours_without_use_less_a_second(service: RunningService, people: Cast) -> None:
    service.clock.advance(seconds=2 * HOUR - 1)
    assert people.alice.get(f"{ACCOUNT}/session").status_code == 200
    service.clock.advance(seconds=2 * HOUR)
    assert people.alice.get(f"{ACCOUNT}/session").json()["error"] == "session_expired"


def test_a_session_in_use_lives_twelve_hours_less_a_second(service: RunningService, people: Cast) -> None:
    for _ in range(12):
        service.clock.advance(seconds=HOUR - 1)
        assert people.alice.get(f"{ACCOUNT}/session").status_code == 200
    service.clock.advance(seconds=11)
    assert people.alice.get(f"{ACCOUNT}/session").status_code == 200
    service.clock.advance(seconds=1)
    assert people.alice.get(f"{ACCOUNT}/session").json()["error"] == "session_expired"


def test_a_sign_in_waits_five_minutes_less_a_second_for_its_code(service: RunningService, people: Cast) -> None:
    turn_mfa_on(service, people.alice)
    client = begin_with_mfa(service, EMAILS["alice"])

    service.clock.advance(seconds=5 * MINUTE - 1)
    assert client.post(f"{ACCOUNT}/login/mfa", json={"code": "000000"}).json()["error"] == "invalid_code"
    service.clock.advance(seconds=1)
    assert client.post(f"{ACCOUNT}/login/mfa", json={"code": "000000"}).json()["error"] == "session_expired"


def test_an_invitation_waits_seven_days_less_a_second(service: RunningService, people: Cast) -> None:
    invited = add_user(service, "ines@acme.example", account_id=people.acme, role=AccountRole.MEMBER, invited=True)
    link = make_link(service, LinkKind.INVITE, invited.id, people.acme)

    service.clock.advance(seconds=7 * 24 * HOUR - 1)
    assert service.public.get(f"{ACCOUNT}/invite/{link}").status_code == 200
    service.clock.advance(seconds=1)
    assert service.public.get(f"{ACCOUNT}/invite/{link}").json()["error"] == "invalid_link"


def test_a_reset_link_waits_an_hour_less_a_second(service: RunningService, people: Cast) -> None:
    link = make_link(service, LinkKind.RESET, people.user_ids["bob"])

    def reset() -> str:
        # Too weak to be set, so that a link that works is not used up.
        reply = service.public.post(f"{ACCOUNT}/password/reset", json={"token": link, "password": "short"})
        error: str = reply.json()["error"]
        return error

    service.clock.advance(seconds=HOUR - 1)
    assert reset() == "weak_password"
    service.clock.advance(seconds=1)
    assert reset() == "invalid_link"


def suspend_user(service: RunningService, people: Cast) -> None:
    assert service.operator.post(f"/v1/admin/users/{people.user_ids['bob']}/suspend", json={}).status_code == 200


def suspend_account(service: RunningService, people: Cast) -> None:
    body = {"reason": "unpaid bills"}
    assert service.operator.post(f"/v1/admin/customers/{people.acme}/suspend", json=body).status_code == 200


def delete_account(service: RunningService, people: Cast) -> None:
    assert people.alice.request("DELETE", f"{CONSOLE}/account", json={"confirm": "Acme"}).status_code == 200


def remove_member(service: RunningService, people: Cast) -> None:
    assert people.alice.delete(f"{CONSOLE}/members/{people.user_ids['bob']}").status_code == 204


def require_mfa(service: RunningService, people: Cast) -> None:
    turn_mfa_on(service, people.alice)
    assert people.alice.patch(f"{CONSOLE}/account", json={"requireMfa": True}).status_code == 200


def end_sessions(service: RunningService, people: Cast) -> None:
    other = sign_in(service, EMAILS["bob"])
    assert other.post(f"{ACCOUNT}/sessions/revoke-others").status_code == 204


@pytest.mark.parametrize(
    ("revoke", "code"),
    [
        (suspend_user, "user_suspended"),
        (suspend_account, "account_suspended"),
        (delete_account, "session_expired"),
        (remove_member, "no_account"),
        (require_mfa, "mfa_setup_required"),
        (end_sessions, "session_expired"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_what_is_taken_away_is_gone_with_the_next_request(
    service: RunningService, people: Cast, revoke: Callable[[RunningService, Cast], None], code: str
) -> None:
    assert people.bob.get(f"{CONSOLE}/account").status_code == 200

    revoke(service, people)

    assert people.bob.get(f"{CONSOLE}/account").json()["error"] == code


def test_a_password_reset_ends_every_other_session(service: RunningService, people: Cast) -> None:
    link = make_link(service, LinkKind.RESET, people.user_ids["bob"])
    body = {"token": link, "password": "eleven quiet lanterns sway"}

    assert service.new_public_client().post(f"{ACCOUNT}/password/reset", json=body).status_code == 200

    assert people.bob.get(f"{ACCOUNT}/session").json()["error"] == "session_expired"


def test_a_member_who_is_demoted_may_at_once_do_less(service: RunningService, people: Cast) -> None:
    user = add_user(service, "olive@acme.example", account_id=people.acme, role=AccountRole.ADMIN)
    client = signed_in_client(service, user, account_id=people.acme)
    assert client.get(f"{CONSOLE}/audit").status_code == 200

    assert people.alice.patch(f"{CONSOLE}/members/{user.id}", json={"role": "readonly"}).status_code == 200

    assert client.get(f"{CONSOLE}/audit").json()["error"] == "forbidden"
