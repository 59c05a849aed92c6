"""One-time links: used once, replaced by newer ones, and never written for a stranger's host."""

import asyncio

import pytest

from agentgate.http.call import Actor
from agentgate.lib.clock import DAY_MS, HOUR_MS
from agentgate.lib.enums import ActorKind, OutboxStatus
from agentgate.lib.errors import Refused
from agentgate.lib.secrets import digest
from agentgate.people.identity.links import LinkUrls, end_links, issue_link, peek_link, spend_link
from agentgate.people.identity.records import LinkKind
from agentgate.people.outbox.records import StoredMessage
from tests.unit.people.identity.calls import NOW_MS, make_call

INVITE, RESET = LinkKind.INVITE, LinkKind.RESET
OPERATOR = Actor(kind=ActorKind.OPERATOR, name="Olga")


@pytest.fixture
def issue(store):
    """Issue a link and put a message with it into the outbox."""

    async def issue(kind, user, **options):
        async def work(stores):
            issued = await issue_link(stores, make_call(), kind, user.id, **options)
            await stores.outbox.add_message(message_with(issued.link.secret_digest))
            return issued

        return await store.change(work)

    return issue


def message_with(link_digest):
    return StoredMessage(
        id=f"msg_{link_digest.hex()[:16]}",
        recipient="ann@example.com",
        kind="invite",
        subject="Hello",
        body=b"sealed",
        link_digest=link_digest,
        status=OutboxStatus.PENDING,
        attempts=0,
        next_attempt_ms=NOW_MS,
        created_ms=NOW_MS,
    )


@pytest.fixture
def kept_bodies(store):
    """Return the digests of the links whose messages still have a body."""

    async def kept_bodies():
        return {found.link_digest for found in await store.read.outbox.list_messages(100) if found.body}

    return kept_bodies


def spend(store, kind, secret, **options):
    return store.change(lambda stores: spend_link(stores, make_call(**options), kind, secret))


async def is_invalid(pending):
    try:
        await pending
    except Refused as refused:
        if refused.code != "invalid_link":
            raise
        return True
    return False


@pytest.mark.anyio
async def test_a_link_is_stored_as_a_digest_only(store, issue, ann):
    issued = await issue(INVITE, ann, account_id="acc_1")

    stored = await store.read.links.find_link(digest(issued.secret))
    assert stored == issued.link
    assert (stored.user_id, stored.account_id, stored.kind) == (ann.id, "acc_1", INVITE)
    assert issued.secret not in repr(stored)
    assert len(issued.secret) == 43


@pytest.mark.anyio
async def test_looking_at_a_link_does_not_use_it(store, issue, ann):
    issued = await issue(RESET, ann)

    for _ in range(3):
        assert await peek_link(store.read, make_call(), RESET, issued.secret) == issued.link


@pytest.mark.anyio
async def test_a_link_can_be_redeemed_once(store, issue, ann):
    issued = await issue(RESET, ann)

    assert await spend(store, RESET, issued.secret) == issued.link
    assert await is_invalid(spend(store, RESET, issued.secret))
    assert await is_invalid(peek_link(store.read, make_call(), RESET, issued.secret))


@pytest.mark.anyio
async def test_of_many_who_spend_a_link_at_once_one_succeeds(store, issue, ann):
    issued = await issue(INVITE, ann)

    failed = await asyncio.gather(*(is_invalid(spend(store, INVITE, issued.secret)) for _ in range(64)))

    assert sorted(failed) == [False] + [True] * 63


@pytest.mark.anyio
@pytest.mark.parametrize(("kind", "lasts_ms"), [(INVITE, 7 * DAY_MS), (RESET, HOUR_MS)])
async def test_a_link_lasts_as_long_as_its_kind_shows(store, issue, ann, kind, lasts_ms):
    issued = await issue(kind, ann)

    assert not await is_invalid(peek_link(store.read, make_call(after_ms=lasts_ms - 1), kind, issued.secret))
    assert await is_invalid(peek_link(store.read, make_call(after_ms=lasts_ms), kind, issued.secret))
    assert await is_invalid(spend(store, kind, issued.secret, after_ms=lasts_ms))
    assert not await is_invalid(spend(store, kind, issued.secret, after_ms=lasts_ms - 1))


@pytest.mark.anyio
async def test_a_link_of_one_kind_is_none_of_the_other(store, issue, ann):
    issued = await issue(RESET, ann)

    assert await is_invalid(peek_link(store.read, make_call(), INVITE, issued.secret))
    assert await is_invalid(spend(store, INVITE, issued.secret))
    assert not await is_invalid(spend(store, RESET, issued.secret))


@pytest.mark.anyio
@pytest.mark.parametrize("secret", ["", "x", "\ud800", "x" * 10_000])
async def test_a_secret_that_no_one_was_sent_is_invalid(store, issue, ann, secret):
    await issue(RESET, ann)

    assert await is_invalid(spend(store, RESET, secret))


@pytest.mark.anyio
async def test_a_new_link_ends_the_older_and_its_message_loses_its_body(store, issue, ann, kept_bodies):
    older = await issue(RESET, ann)
    newer = await issue(RESET, ann)

    assert await is_invalid(spend(store, RESET, older.secret))
    assert await kept_bodies() == {newer.link.secret_digest}
    assert not await is_invalid(spend(store, RESET, newer.secret))


@pytest.mark.anyio
async def test_a_new_invitation_leaves_other_accounts_other_users_and_other_kinds_alone(store, issue, ann, bob):
    others = [
        (INVITE, await issue(INVITE, ann, account_id="acc_2")),
        (RESET, await issue(RESET, ann)),
        (INVITE, await issue(INVITE, bob, account_id="acc_1")),
    ]
    older = await issue(INVITE, ann, account_id="acc_1")

    await issue(INVITE, ann, account_id="acc_1")

    assert await is_invalid(peek_link(store.read, make_call(), INVITE, older.secret))
    for kind, other in others:
        assert not await is_invalid(peek_link(store.read, make_call(), kind, other.secret))


@pytest.mark.anyio
async def test_of_many_links_issued_at_once_one_is_left(store, issue, ann):
    issued = await asyncio.gather(*(issue(RESET, ann) for _ in range(16)))

    invalid = [await is_invalid(peek_link(store.read, make_call(), RESET, one.secret)) for one in issued]
    assert sorted(invalid) == [False] + [True] * 15


@pytest.mark.anyio
async def test_redeeming_a_link_ends_every_other_of_the_user_and_no_one_elses(store, issue, ann, bob, kept_bodies):
    spent = await issue(INVITE, ann, account_id="acc_1")
    others = [(INVITE, await issue(INVITE, ann, account_id="acc_2")), (RESET, await issue(RESET, ann))]
    of_bob = await issue(INVITE, bob, account_id="acc_1")

    await spend(store, INVITE, spent.secret)

    for kind, other in others:
        assert await is_invalid(spend(store, kind, other.secret))
    assert await kept_bodies() == {of_bob.link.secret_digest}
    assert not await is_invalid(spend(store, INVITE, of_bob.secret))


@pytest.mark.anyio
async def test_a_rejected_attempt_ends_nothing(store, issue, ann, kept_bodies):
    issued = await issue(INVITE, ann)

    assert await is_invalid(spend(store, INVITE, issued.secret, after_ms=7 * DAY_MS))

    assert await kept_bodies() == {issued.link.secret_digest}


@pytest.mark.anyio
async def test_links_can_be_ended_for_one_account(store, issue, ann, kept_bodies):
    ended = await issue(INVITE, ann, account_id="acc_1")
    kept = await issue(INVITE, ann, account_id="acc_2")

    await store.change(lambda stores: end_links(stores, make_call(), INVITE, ann.id, account_id="acc_1"))

    assert await is_invalid(spend(store, INVITE, ended.secret))
    assert await kept_bodies() == {kept.link.secret_digest}


class LateStores:
    """Stores of a unit of work that read a link just before another one used it, as can happen on PostgreSQL."""

    def __init__(self, stores, link):
        self._stores = stores
        self._link = link

    def __getattr__(self, name):
        return self if name == "links" else getattr(self._stores, name)

    async def find_link(self, secret_digest):
        assert secret_digest == self._link.secret_digest
        return self._link

    async def spend_link(self, *spent):
        return await self._stores.links.spend_link(*spent)

    async def end_links(self, *ended, **options):
        return await self._stores.links.end_links(*ended, **options)


@pytest.mark.anyio
async def test_a_link_that_someone_redeems_between_the_look_and_the_redeeming_is_redeemed_once(store, issue, ann):
    issued = await issue(RESET, ann)
    await spend(store, RESET, issued.secret)

    late = store.change(lambda stores: spend_link(LateStores(stores, issued.link), make_call(), RESET, issued.secret))

    assert await is_invalid(late)


def host_call(host, caller=None, secure=False, **headers):
    return make_call(headers={"host": host, **headers}, caller=caller, secure=secure)


def test_the_public_address_is_in_every_link():
    urls = LinkUrls("https://gate.example.com", "127.0.0.1:8080")
    call = host_call("localhost:8081", OPERATOR)

    assert urls.invite_url("s3cret") == "https://gate.example.com/console/invite#s3cret"
    assert urls.reset_url("s3cret") == "https://gate.example.com/console/reset#s3cret"
    assert urls.invite_url("s3cret", operator_call=call) == "https://gate.example.com/console/invite#s3cret"


def test_a_public_address_may_have_a_path_and_a_final_slash():
    urls = LinkUrls("https://example.com/gate/", "127.0.0.1:8080")

    assert urls.reset_url("s") == "https://example.com/gate/console/reset#s"


@pytest.mark.parametrize("host", ["localhost:8081", "GATE.internal:8081", "gate.internal", "[::1]:8081"])
def test_without_one_a_link_leads_to_the_public_listener_anyone_who_asks(host):
    call = host_call(host, OPERATOR)
    urls = LinkUrls("", "127.0.0.1:8080")

    assert urls.invite_url("s", operator_call=call) == "http://127.0.0.1:8080/console/invite#s"
    assert urls.reset_url("s", operator_call=call) == "http://127.0.0.1:8080/console/reset#s"


@pytest.mark.parametrize("listen", ["0.0.0.0:8080", "[::]:8080"])
@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("LOCALHOST:8081", "localhost"),
        ("gate.internal:8081", "gate.internal"),
        ("gate.internal", "gate.internal"),
        ("[::1]:8081", "[::1]"),
    ],
)
def test_a_public_listener_on_all_addresses_has_the_name_that_the_operator_uses(listen, host, name):
    urls = LinkUrls("", listen)

    assert urls.reset_url("s", operator_call=host_call(host, OPERATOR)) == f"http://{name}:8080/console/reset#s"
    assert urls.reset_url("s") == "http://localhost:8080/console/reset#s"


@pytest.mark.parametrize("kind", [None, ActorKind.USER, ActorKind.TOKEN, ActorKind.SYSTEM])
def test_no_one_else_decides_where_a_link_goes(kind):
    caller = Actor(kind=kind, name="x") if kind else None
    forwarded = {"x-forwarded-host": "evil.example", "forwarded": "host=evil.example", "origin": "https://evil.example"}
    call = host_call("evil.example", caller, **forwarded)

    assert LinkUrls("", "127.0.0.1:8080").reset_url("s", operator_call=call) == (
        "http://127.0.0.1:8080/console/reset#s"
    )
    assert LinkUrls("", "0.0.0.0:8080").reset_url("s", operator_call=call) == "http://localhost:8080/console/reset#s"


def test_a_listener_on_any_free_port_is_named_with_the_one_that_it_got():
    urls = LinkUrls("", "127.0.0.1:0")

    urls.note_port(43210)

    assert urls.invite_url("s") == "http://127.0.0.1:43210/console/invite#s"


def test_without_any_call_the_listener_is_named():
    assert LinkUrls("", "127.0.0.1:8080").invite_url("s") == "http://127.0.0.1:8080/console/invite#s"
