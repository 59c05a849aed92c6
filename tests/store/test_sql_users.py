"""Users, sessions and links in SQL: what is kept comes back, and what must happen once happens once."""

import asyncio
import secrets

import pytest
from msgspec.structs import replace

from agentgate.lib.clock import FixedClock
from agentgate.lib.database import Conflict
from agentgate.lib.enums import UserStatus
from agentgate.lib.ids import new_session_id, new_user_id
from agentgate.people.identity.records import LinkKind, SessionStage, StoredLink, StoredUser, UserSession
from agentgate.server.stores.unit_of_work import SqlStore
from agentgate.storage.migrate import apply

pytestmark = pytest.mark.anyio

NOW_MS = 1_794_744_000_000
RACERS = 64


@pytest.fixture
async def stores(backend):
    """Two stores on the same database, as two workers have."""
    databases = [backend.make(), backend.make()]
    for database in databases:
        await database.open()
    await apply(databases[0], "config", clock=FixedClock(NOW_MS))
    yield [SqlStore(database) for database in databases]
    for database in databases:
        await database.close()


@pytest.fixture
def store(stores):
    return stores[0]


@pytest.fixture
async def ann(store):
    return await add_user(store, "ann@example.com")


@pytest.fixture
async def bob(store):
    return await add_user(store, "bob@example.com")


def a_user(email, **values):
    empty = dict.fromkeys(StoredUser.__struct_fields__)
    known = {"id": new_user_id(), "email": email, "status": UserStatus.ACTIVE, "mfa_last_step": 0, "created_ms": NOW_MS}
    return StoredUser(**{**empty, **known, **values})


async def add_user(store, email, **values):
    user = a_user(email, **values)
    assert await store.change(lambda stores: stores.users.add_user(user))
    return user


async def add_session(store, user, **values):
    known = {
        "secret_digest": secrets.token_bytes(32),
        "id": new_session_id(),
        "user_id": user.id,
        "account_id": "acc_1",
        "stage": SessionStage.FULL,
        "code_attempts": 0,
        "browser": "Firefox on Linux",
        "address_id": "0" * 16,
        "created_ms": NOW_MS,
        "last_used_ms": NOW_MS,
    }
    session = UserSession(**{**known, **values})
    await store.change(lambda stores: stores.user_sessions.add_session(session))
    return session


async def add_link(store, user, **values):
    known = {
        "secret_digest": secrets.token_bytes(32),
        "kind": LinkKind.RESET,
        "user_id": user.id,
        "account_id": None,
        "created_ms": NOW_MS,
        "expires_ms": NOW_MS + 1_000,
    }
    link = StoredLink(**{**known, **values})
    await store.change(lambda stores: stores.links.add_link(link))
    return link


async def race(stores, work):
    """Run a unit of work many times at once, on both stores in turn; return the results."""
    return await asyncio.gather(*(stores[number % 2].change(work) for number in range(RACERS)))


async def turn_mfa_on(store, user, step=100):
    async def work(stores):
        await stores.users.save_pending_mfa(user.id, b"sealed", NOW_MS)
        return await stores.users.enable_mfa(user.id, step=step, now_ms=NOW_MS)

    assert await store.change(work)


async def test_a_user_comes_back_as_it_was_kept(store):
    full = a_user(
        "ann@example.com",
        name="Ann Ümläut",
        status=UserStatus.SUSPENDED,
        password_hash="$argon2id$...",
        mfa_secret=b"\x00sealed\xff",
        mfa_enabled_ms=1,
        mfa_pending_secret=b"\x00other",
        mfa_pending_ms=2,
        mfa_last_step=59_824_800,
        last_sign_in_ms=3,
    )
    empty = a_user("bob@example.com")
    for user in (full, empty):
        assert await store.change(lambda stores, user=user: stores.users.add_user(user))

    assert await store.read.users.find_user(full.id) == full
    assert await store.read.users.find_user_by_email("ann@example.com") == full
    assert await store.read.users.find_user(empty.id) == empty
    assert isinstance((await store.read.users.find_user(full.id)).status, UserStatus)


async def test_unknown_users_are_not_found(store, ann):
    assert await store.read.users.find_user("usr_0000000000000000") is None
    assert await store.read.users.find_user_by_email("ANN@example.com") is None


async def test_an_address_is_taken_by_one_of_many_at_once(stores):
    added = await race(stores, lambda ports: ports.users.add_user(a_user("carol@example.com")))

    assert sum(added) == 1
    assert await stores[1].read.users.find_user_by_email("carol@example.com") is not None


async def test_an_id_that_is_taken_is_a_conflict(store, ann):
    with pytest.raises(Conflict):
        await store.change(lambda stores: stores.users.add_user(replace(ann, email="other@example.com")))


async def test_what_is_saved_of_a_user_changes_that_user_alone(store, ann, bob):
    async def work(stores):
        await stores.users.lock_user(ann.id)
        await stores.users.save_password(ann.id, "hash")
        await stores.users.save_name(ann.id, "Ann")
        await stores.users.save_status(ann.id, UserStatus.SUSPENDED)
        await stores.users.note_sign_in(ann.id, NOW_MS)

    await store.change(work)

    assert await store.read.users.find_user(ann.id) == replace(
        ann, password_hash="hash", name="Ann", status=UserStatus.SUSPENDED, last_sign_in_ms=NOW_MS
    )
    assert await store.read.users.find_user(bob.id) == bob


async def test_a_setup_becomes_the_second_factor_once(store, ann):
    async def enable(stores):
        return await stores.users.enable_mfa(ann.id, step=7, now_ms=NOW_MS + 1)

    assert await store.change(enable) is False
    await store.change(lambda stores: stores.users.save_pending_mfa(ann.id, b"first", NOW_MS))
    await store.change(lambda stores: stores.users.save_pending_mfa(ann.id, b"second", NOW_MS))
    assert await store.change(enable) is True
    assert await store.change(enable) is False

    assert await store.read.users.find_user(ann.id) == replace(
        ann, mfa_secret=b"second", mfa_enabled_ms=NOW_MS + 1, mfa_last_step=7
    )


async def test_a_setup_is_not_kept_while_the_second_factor_is_on(store, ann):
    await turn_mfa_on(store, ann)

    await store.change(lambda stores: stores.users.save_pending_mfa(ann.id, b"other", NOW_MS))

    assert (await store.read.users.find_user(ann.id)).mfa_pending_secret is None


async def test_a_setup_is_finished_by_one_of_many_at_once(stores, ann):
    await stores[0].change(lambda ports: ports.users.save_pending_mfa(ann.id, b"sealed", NOW_MS))

    enabled = await race(stores, lambda ports: ports.users.enable_mfa(ann.id, step=1, now_ms=NOW_MS))

    assert sum(enabled) == 1


async def test_turning_the_second_factor_off_leaves_nothing_of_it(store, ann, bob):
    for user in (ann, bob):
        await turn_mfa_on(store, user)
        await store.change(lambda stores, user=user: stores.users.replace_recovery_codes(user.id, [b"a" * 32]))

    assert await store.change(lambda stores: stores.users.disable_mfa(ann.id)) is True
    assert await store.change(lambda stores: stores.users.disable_mfa(ann.id)) is False

    assert await store.read.users.find_user(ann.id) == ann
    assert await store.read.users.count_recovery_codes(ann.id) == 0
    assert await store.read.users.count_recovery_codes(bob.id) == 1


async def test_a_step_is_spent_by_one_of_many_at_once(stores, ann):
    await turn_mfa_on(stores[0], ann)

    spent = await race(stores, lambda ports: ports.users.spend_step(ann.id, 101))

    assert sum(spent) == 1


@pytest.mark.parametrize(("step", "spent"), [(99, False), (100, False), (101, True)])
async def test_a_step_must_be_newer_than_the_last_and_the_second_factor_on(store, ann, step, spent):
    assert await store.change(lambda stores: stores.users.spend_step(ann.id, step)) is False
    await turn_mfa_on(store, ann, step=100)

    assert await store.change(lambda stores: stores.users.spend_step(ann.id, step)) is spent


async def test_a_recovery_code_is_spent_by_one_of_many_at_once(stores, ann):
    codes = [bytes([number]) * 32 for number in range(10)]
    await stores[0].change(lambda ports: ports.users.replace_recovery_codes(ann.id, codes))

    spent = await race(stores, lambda ports: ports.users.spend_recovery_code(ann.id, codes[3], NOW_MS))

    assert sum(spent) == 1
    assert await stores[1].read.users.count_recovery_codes(ann.id) == 9


async def test_a_recovery_code_is_of_one_user_and_ends_with_its_set(store, ann, bob):
    old, new = b"o" * 32, b"n" * 32

    async def spend(user, digest):
        return await store.change(lambda stores: stores.users.spend_recovery_code(user.id, digest, NOW_MS))

    await store.change(lambda stores: stores.users.replace_recovery_codes(ann.id, [old]))
    assert await spend(bob, old) is False
    await store.change(lambda stores: stores.users.replace_recovery_codes(ann.id, [new]))
    assert await spend(ann, old) is False
    assert await spend(ann, new) is True


async def test_a_session_comes_back_as_it_was_kept(store, ann):
    full = await add_session(store, ann, stage=SessionStage.PASSWORD, code_attempts=2, ended_ms=NOW_MS)
    nowhere = await add_session(store, ann, account_id=None)

    assert await store.read.user_sessions.find_session(full.secret_digest) == full
    assert await store.read.user_sessions.find_session(nowhere.secret_digest) == nowhere
    assert isinstance((await store.read.user_sessions.find_session(full.secret_digest)).stage, SessionStage)
    assert await store.read.user_sessions.find_session(b"x" * 32) is None


async def test_the_sessions_of_a_user_are_listed_newest_first_without_ended_ones(store, ann, bob):
    older = await add_session(store, ann, created_ms=NOW_MS - 1)
    newer = await add_session(store, ann)
    await add_session(store, ann, ended_ms=NOW_MS)
    await add_session(store, bob)

    assert await store.read.user_sessions.list_sessions(ann.id) == [newer, older]


async def test_use_is_never_noted_backwards(store, ann):
    session = await add_session(store, ann)

    for last_used_ms in (NOW_MS + 5, NOW_MS + 3):
        await store.change(
            lambda stores, used_ms=last_used_ms: stores.user_sessions.touch_session(session.secret_digest, used_ms)
        )

    assert (await store.read.user_sessions.find_session(session.secret_digest)).last_used_ms == NOW_MS + 5


async def test_of_many_attempts_at_once_exactly_as_many_count_as_there_may_be(stores, ann):
    session = await add_session(stores[0], ann, stage=SessionStage.PASSWORD)

    counted = await race(stores, lambda ports: ports.user_sessions.count_code_attempt(session.secret_digest, 5))

    assert sum(counted) == 5
    assert (await stores[1].read.user_sessions.find_session(session.secret_digest)).code_attempts == 5


async def test_an_ended_or_unknown_session_has_no_attempts(store, ann):
    ended = await add_session(store, ann, ended_ms=NOW_MS)

    for digest in (ended.secret_digest, b"x" * 32):
        assert not await store.change(lambda stores, digest=digest: stores.user_sessions.count_code_attempt(digest, 5))


async def test_a_session_is_ended_by_one_of_many_at_once(stores, ann):
    session = await add_session(stores[0], ann)

    ended = await race(stores, lambda ports: ports.user_sessions.end_session(session.secret_digest, NOW_MS))

    assert sum(ended) == 1


async def test_a_session_stays_ended_when_it_was(store, ann):
    session = await add_session(store, ann, ended_ms=NOW_MS)

    assert (
        await store.change(lambda stores: stores.user_sessions.end_session(session.secret_digest, NOW_MS + 9)) is False
    )
    await store.change(lambda stores: stores.user_sessions.end_sessions(ann.id, NOW_MS + 9))

    assert (await store.read.user_sessions.find_session(session.secret_digest)).ended_ms == NOW_MS


async def test_all_sessions_of_a_user_end_but_one(store, ann, bob):
    kept, _, _ = [await add_session(store, ann) for _ in range(3)]
    of_bob = await add_session(store, bob)

    await store.change(lambda stores: stores.user_sessions.end_sessions(ann.id, NOW_MS, but=kept.secret_digest))
    assert await store.read.user_sessions.list_sessions(ann.id) == [kept]

    await store.change(lambda stores: stores.user_sessions.end_sessions(ann.id, NOW_MS))
    assert await store.read.user_sessions.list_sessions(ann.id) == []
    assert await store.read.user_sessions.list_sessions(bob.id) == [of_bob]


async def test_sessions_move_from_one_account_to_another_or_to_none(store, ann, bob):
    moved = await add_session(store, ann, account_id="acc_1")
    elsewhere = await add_session(store, ann, account_id="acc_2")
    ended = await add_session(store, ann, account_id="acc_1", ended_ms=NOW_MS)
    of_bob = await add_session(store, bob, account_id="acc_1")

    async def accounts():
        digests = [one.secret_digest for one in (moved, elsewhere, ended, of_bob)]
        return [(await store.read.user_sessions.find_session(digest)).account_id for digest in digests]

    await store.change(lambda stores: stores.user_sessions.move_sessions(ann.id, "acc_1", "acc_3"))
    assert await accounts() == ["acc_3", "acc_2", "acc_1", "acc_1"]

    await store.change(lambda stores: stores.user_sessions.move_sessions(ann.id, "acc_3", None))
    assert await accounts() == [None, "acc_2", "acc_1", "acc_1"]

    await store.change(lambda stores: stores.user_sessions.save_account(moved.secret_digest, "acc_4"))
    assert await accounts() == ["acc_4", "acc_2", "acc_1", "acc_1"]


async def test_old_sessions_are_swept(store, ann):
    swept = await add_session(store, ann, created_ms=NOW_MS - 1)
    kept = await add_session(store, ann, created_ms=NOW_MS)

    await store.change(lambda stores: stores.user_sessions.sweep_sessions(NOW_MS, most=1_000))

    assert await store.read.user_sessions.find_session(swept.secret_digest) is None
    assert await store.read.user_sessions.find_session(kept.secret_digest) == kept


async def test_a_link_comes_back_as_it_was_kept(store, ann):
    invite = await add_link(store, ann, kind=LinkKind.INVITE, account_id="acc_1", used_ms=NOW_MS)
    reset = await add_link(store, ann)

    assert await store.read.links.find_link(invite.secret_digest) == invite
    assert await store.read.links.find_link(reset.secret_digest) == reset
    assert isinstance((await store.read.links.find_link(reset.secret_digest)).kind, LinkKind)
    assert await store.read.links.find_link(b"x" * 32) is None


async def test_a_link_is_spent_by_one_of_many_at_once(stores, ann):
    link = await add_link(stores[0], ann)

    spent = await race(stores, lambda ports: ports.links.spend_link(link.secret_digest, NOW_MS))

    assert sum(spent) == 1
    assert (await stores[1].read.links.find_link(link.secret_digest)).used_ms == NOW_MS


@pytest.mark.parametrize(("late_ms", "spent"), [(-1, True), (0, False), (1, False)])
async def test_a_link_can_be_spent_until_it_expires(store, ann, late_ms, spent):
    link = await add_link(store, ann)

    assert (
        await store.change(lambda stores: stores.links.spend_link(link.secret_digest, link.expires_ms + late_ms))
        is spent
    )


async def test_ending_links_shows_which_ones_ended(store, ann, bob):
    first = await add_link(store, ann, kind=LinkKind.INVITE, account_id="acc_1")
    second = await add_link(store, ann, kind=LinkKind.INVITE, account_id="acc_2")
    third = await add_link(store, ann, kind=LinkKind.INVITE, account_id="acc_3")
    await add_link(store, ann, kind=LinkKind.INVITE, account_id="acc_1", used_ms=NOW_MS)
    reset = await add_link(store, ann, kind=LinkKind.RESET, account_id="acc_1")
    of_bob = await add_link(store, bob, kind=LinkKind.INVITE, account_id="acc_1")

    async def end(**options):
        return await store.change(lambda stores: stores.links.end_links(ann.id, LinkKind.INVITE, NOW_MS, **options))

    assert await end(account_id="acc_1") == [first.secret_digest]
    assert sorted(await end()) == sorted([second.secret_digest, third.secret_digest])
    assert await end() == []
    assert await store.change(lambda stores: stores.links.spend_link(first.secret_digest, NOW_MS)) is False
    for untouched in (reset, of_bob):
        assert await store.read.links.find_link(untouched.secret_digest) == untouched
