"""The outbox in SQL: claimed by one, noted, cleared."""

import asyncio

import pytest
from msgspec.structs import replace

from agentgate.lib.enums import OutboxStatus
from agentgate.server.stores.unit_of_work import SqlStore
from tests.store.account_rows import NOW_MS, link, message, user

pytestmark = pytest.mark.anyio


async def add(store: SqlStore, *messages) -> None:
    async def work(stores):
        for made in messages:
            await stores.outbox.add_message(made)

    await store.change(work)


async def claim(store: SqlStore, now_ms: int = NOW_MS, *, limit: int = 10) -> list[str]:
    claimed = await store.change(lambda stores: stores.outbox.claim_due(now_ms, until_ms=now_ms + 1_000, limit=limit))
    return [found.id for found in claimed]


async def found(store: SqlStore, message_id: str):
    return next(made for made in await store.read.outbox.list_messages(100) if made.id == message_id)


async def test_a_message_is_kept_whole(store: SqlStore) -> None:
    made = message("msg_1", link_digest=b"digest", attempts=3, sent_ms=NOW_MS, last_error="x", body=bytes(range(256)))

    await add(store, made)

    assert await store.read.outbox.list_messages(10) == [made]


async def test_the_newest_messages_come_first_up_to_the_limit(store: SqlStore) -> None:
    await add(store, *(message(f"msg_{number}", created_ms=NOW_MS + number) for number in range(4)))

    assert [made.id for made in await store.read.outbox.list_messages(2)] == ["msg_3", "msg_2"]


async def test_what_is_due_and_pending_is_claimed_and_counted(store: SqlStore) -> None:
    await add(
        store,
        message("due"),
        message("later", next_attempt_ms=NOW_MS + 1),
        message("sent", status=OutboxStatus.SENT),
        message("failed", status=OutboxStatus.FAILED),
    )

    assert await claim(store) == ["due"]
    claimed = await found(store, "due")
    assert (claimed.attempts, claimed.next_attempt_ms) == (1, NOW_MS + 1_000)


async def test_a_claimed_message_is_due_again_when_the_claim_has_run_out(store: SqlStore) -> None:
    await add(store, message("msg_1"))
    await claim(store)

    assert not await store.read.outbox.has_due(NOW_MS + 999)
    assert await claim(store, NOW_MS + 999) == []
    assert await store.read.outbox.has_due(NOW_MS + 1_000)
    assert await claim(store, NOW_MS + 1_000) == ["msg_1"]


async def test_many_workers_never_claim_the_same_message(store: SqlStore) -> None:
    await add(store, *(message(f"msg_{number:02}") for number in range(40)))

    claims = await asyncio.gather(*(claim(store, limit=7) for _ in range(10)))

    claimed = [message_id for some in claims for message_id in some]
    assert len(claimed) == len(set(claimed))
    assert max(map(len, claims)) <= 7
    # A worker that collided with another may have claimed fewer; the next claims get the rest.
    while more := await claim(store, limit=7):
        claimed += more
    assert sorted(claimed) == sorted(f"msg_{number:02}" for number in range(40))


async def test_a_sent_message_is_never_claimed_again(store: SqlStore) -> None:
    await add(store, message("msg_1", last_error="was busy"))

    await store.change(lambda stores: stores.outbox.note_sent("msg_1", NOW_MS + 5))

    sent = await found(store, "msg_1")
    assert (sent.status, sent.sent_ms, sent.last_error) == (OutboxStatus.SENT, NOW_MS + 5, None)
    assert not await store.read.outbox.has_due(NOW_MS * 2)


async def test_a_failed_attempt_shows_why_and_when_the_next_one_is(store: SqlStore) -> None:
    await add(store, message("msg_1"))

    await store.change(lambda stores: stores.outbox.note_failure("msg_1", "421 busy", next_attempt_ms=NOW_MS + 60))

    failed = await found(store, "msg_1")
    assert (failed.status, failed.last_error, failed.next_attempt_ms) == (OutboxStatus.PENDING, "421 busy", NOW_MS + 60)


async def test_without_a_next_attempt_a_message_has_failed(store: SqlStore) -> None:
    await add(store, message("msg_1"))

    await store.change(lambda stores: stores.outbox.note_failure("msg_1", "550 no", next_attempt_ms=None))

    assert (await found(store, "msg_1")).status is OutboxStatus.FAILED
    assert not await store.read.outbox.has_due(NOW_MS * 2)


async def test_a_body_goes_with_its_link_and_an_unsent_message_has_failed_then(store: SqlStore) -> None:
    other = message("other", link_digest=b"other")
    sent = message("sent", link_digest=b"link", status=OutboxStatus.SENT)
    await add(store, message("msg_1", link_digest=b"link"), sent, other, message("none"))

    await store.change(lambda stores: stores.outbox.clear_body_of_link(b"link"))

    cleared = await found(store, "msg_1")
    assert (cleared.body, cleared.status) == (None, OutboxStatus.FAILED)
    assert await found(store, "sent") == replace(sent, body=None)
    assert await found(store, "other") == other
    assert await found(store, "none") == message("none")


async def test_a_message_whose_link_was_used_has_arrived(store: SqlStore) -> None:
    failed = message("failed", link_digest=b"link", status=OutboxStatus.FAILED)
    await add(store, message("msg_1", link_digest=b"link"), failed, message("other", link_digest=b"other"))

    await store.change(lambda stores: stores.outbox.clear_body_of_link(b"link", used_ms=NOW_MS + 5))

    cleared = await found(store, "msg_1")
    assert (cleared.body, cleared.status, cleared.sent_ms) == (None, OutboxStatus.SENT, NOW_MS + 5)
    assert cleared.last_error is None
    assert (await found(store, "failed")).status is OutboxStatus.FAILED
    assert (await found(store, "other")).status is OutboxStatus.PENDING


async def test_old_bodies_are_cleared_and_younger_ones_remain(store: SqlStore) -> None:
    await add(store, message("old", created_ms=NOW_MS - 1), message("young"))

    await store.change(lambda stores: stores.outbox.clear_bodies(NOW_MS))

    assert (await found(store, "old")).body is None
    assert await found(store, "young") == message("young")


@pytest.mark.parametrize(
    ("changes", "is_cleared"),
    [({}, False), ({"used_ms": NOW_MS}, True), ({"expires_ms": NOW_MS}, True), ({"expires_ms": NOW_MS + 1}, False)],
)
async def test_a_body_is_cleared_once_its_link_is_dead(store: SqlStore, changes, is_cleared) -> None:
    await store.change(lambda stores: stores.users.add_user(user("ann")))
    await store.change(lambda stores: stores.links.add_link(link(b"link", "ann", **changes)))
    await add(store, message("msg_1", link_digest=b"link"), message("plain"))

    cleared = await store.change(lambda stores: stores.outbox.clear_dead_bodies(NOW_MS))

    assert cleared == int(is_cleared)
    assert ((await found(store, "msg_1")).body is None) is is_cleared
    assert (await found(store, "plain")).body is not None


async def test_a_body_whose_link_is_gone_is_cleared(store: SqlStore) -> None:
    await add(store, message("msg_1", link_digest=b"swept"))

    assert await store.change(lambda stores: stores.outbox.clear_dead_bodies(NOW_MS)) == 1
