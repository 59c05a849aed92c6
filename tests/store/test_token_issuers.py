"""Keys of private token issuers from their directories: read over TLS, kept on failures, and bounded, on each store."""

import base64
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from msgspec.structs import replace

from agentgate.lib.clock import DAY_MS, MINUTE_MS, FixedClock
from agentgate.sites.directory import SiteDirectory
from agentgate.sites.records import SiteTokenIssuer
from agentgate.sites.token_issuers.directories import (
    MEDIA_TYPE,
    MOST_IN_A_RUN,
    MOST_KEYS,
    RETRY_MS,
    STALE_MS,
    WELL_KNOWN,
    IssuerDirectories,
    KnownIssuers,
    read_statuses,
)
from tests.store.sql_objects import NOW_MS, Opened, migrated, new_account, new_site
from tests.unit.agents.key_server import World, world

pytestmark = pytest.mark.anyio

NAME = "issuer.example"
SITE = "site_key_st_1"
SPKI = [
    rsa.generate_private_key(65537, 2048).public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    for _ in range(2)
]
KEYS = [base64.urlsafe_b64encode(key).decode() for key in SPKI]
TYPE = f"Content-Type: {MEDIA_TYPE}\r\n"
HOUR = f"{TYPE}Cache-Control: max-age=3600\r\n"


def listed(*keys: str, **fields: Any) -> dict[str, Any]:
    return {
        "issuer-request-uri": "/request",
        "token-keys": [{"token-type": 2, "token-key": key, **fields} for key in keys],
    }


@dataclass
class Scene:
    """A store with a site, issuers on loopback, and a clock."""

    opened: Opened
    issuers: World
    clock: FixedClock

    def __post_init__(self) -> None:
        self.directories = IssuerDirectories(self.opened.store, self.issuers.outbound(), self.clock)
        self.sites, self.known = SiteDirectory(), KnownIssuers()

    async def trust(self, *entries: SiteTokenIssuer) -> None:
        async def work(stores: Any) -> None:
            site = await stores.sites.get_site(SITE, account_id=None)
            await stores.sites.save_site(replace(site, private_token_issuers=list(entries)))
            await stores.configuration.bump_site(site.id)

        await self.opened.store.change(work)

    async def run(self, *, after_ms: int = 0) -> None:
        self.clock.advance(ms=after_ms)
        await self.directories.refresh()

    async def keys(self, **options: Any) -> list[bytes]:
        """Return the keys that a worker uses now."""

        async def nothing() -> None:
            pass

        now_ms = self.clock.now_ms()
        await self.sites.refresh(self.opened.store, now_ms, nothing)
        await self.known.refresh(self.opened.store)
        view = self.sites.find(SITE)
        assert view is not None
        return [issuer.encoded for issuer in self.known.of(view, now_ms, **options)]

    async def status(self) -> Any:
        (status,) = await read_statuses(self.opened.store.read, (NAME,), self.clock.now_ms())
        return status


@pytest.fixture
async def scene(backend: Any, tmp_path: Path) -> AsyncIterator[Scene]:
    async with migrated(backend) as opened, world(tmp_path, NAME, "*.many.example") as issuers:
        scene = Scene(opened, issuers, FixedClock(NOW_MS))
        await opened.store.change(lambda stores: stores.accounts.add_account(new_account()))
        await opened.store.change(lambda stores: stores.sites.add_site(new_site()))
        await scene.trust(SiteTokenIssuer(name=NAME))
        issuers.serves(NAME, listed(*KEYS), headers=HOUR)
        yield scene


async def test_keys_are_read_from_the_directory_and_follow_its_rotation(scene: Scene) -> None:
    assert await scene.keys() == []
    await scene.run()

    assert await scene.keys() == SPKI
    assert await scene.keys(first_only=True) == SPKI[:1]
    (asked,) = scene.issuers.peers
    assert (asked.host, asked.path) == (NAME, WELL_KNOWN)
    assert f"accept: {MEDIA_TYPE}".encode() in asked.head.lower()
    # Cached as long as the issuer allows; then a key that is not listed any more is not used.
    await scene.run(after_ms=59 * MINUTE_MS)
    assert len(scene.issuers.peers) == 1
    scene.issuers.serves(NAME, listed(KEYS[1]), headers=HOUR)
    await scene.run(after_ms=MINUTE_MS)
    assert await scene.keys() == SPKI[1:2]


async def test_a_key_is_used_from_its_time_on(scene: Scene) -> None:
    later = listed(KEYS[0], **{"not-before": NOW_MS // 1000 + 60})
    later["token-keys"] += listed(KEYS[1])["token-keys"]
    scene.issuers.serves(NAME, later, headers=HOUR)
    await scene.run()

    assert await scene.keys() == SPKI[1:2]
    scene.clock.advance(ms=MINUTE_MS)
    assert await scene.keys(first_only=True) == SPKI[:1]


async def test_a_failed_attempt_keeps_the_last_keys_for_a_week(scene: Scene) -> None:
    await scene.run()
    scene.issuers.fails(NAME)
    await scene.run(after_ms=60 * MINUTE_MS)

    assert await scene.keys() == SPKI
    status = await scene.status()
    assert (status.keys, status.read_at) == (len(SPKI), NOW_MS)
    assert status.problem == "it returned status 503 instead of 200"
    await scene.run(after_ms=RETRY_MS - 1)
    assert len(scene.issuers.peers) == 2
    await scene.run(after_ms=1)
    assert len(scene.issuers.peers) == 3
    scene.clock.advance(ms=NOW_MS + STALE_MS - 1 - scene.clock.now_ms())
    assert await scene.keys() == SPKI
    scene.clock.advance(ms=1)
    assert await scene.keys() == []
    scene.issuers.serves(NAME, listed(KEYS[0]), headers=HOUR)
    await scene.run()
    assert await scene.keys() == SPKI[:1]
    assert not isinstance((await scene.status()).problem, str)


OTHER_DOCUMENTS: tuple[tuple[Any, str, str], ...] = (
    (listed(*KEYS), "Content-Type: application/json\r\n", "Content-Type"),
    (listed(*KEYS), f"{TYPE}Content-Encoding: gzip\r\n", "Content-Encoding"),
    (b"[" * 60_000, TYPE, "not an issuer directory"),
    (b"{}", TYPE, "not an issuer directory"),
    (b'{"token-keys":["\xff"]}', TYPE, "not an issuer directory"),
    (b" " * 70_000, TYPE, "longer than"),
    ({"token-keys": [7, {}, {"token-type": 1, "token-key": KEYS[0]}]}, TYPE, "no RSA key"),
    (listed("AAAA", "x" * 3_000, *KEYS, **{"not-before": "1"}), TYPE, "no RSA key"),
    (listed(*KEYS, **{"not-before": -1}), TYPE, "no RSA key"),
)


async def test_other_documents_change_nothing(scene: Scene) -> None:
    await scene.run()
    for document, headers, problem in OTHER_DOCUMENTS:
        scene.issuers.serves(NAME, document, headers=headers)
        await scene.run(after_ms=60 * MINUTE_MS)

        assert problem in (await scene.status()).problem
        assert await scene.keys() == SPKI


async def test_no_redirect_is_followed_and_no_private_address_connected(scene: Scene) -> None:
    scene.issuers.serves(NAME, b"", status="302 Found", headers="Location: https://a.many.example/\r\n")
    await scene.run()
    assert "status 302" in (await scene.status()).problem
    assert scene.issuers.asked_names == [NAME]

    scene.issuers.addresses[NAME] = ["169.254.169.254"]
    connections = len(scene.issuers.dialled)
    await scene.run(after_ms=RETRY_MS)
    assert (await scene.status()).problem == "the name does not resolve to a public address"
    assert len(scene.issuers.dialled) == connections


async def test_a_run_is_bounded_and_the_longest_waiting_issuer_is_next(scene: Scene) -> None:
    names = [f"{number:03}.many.example" for number in range(MOST_IN_A_RUN + 8)]
    for name in names:
        scene.issuers.serves(name, listed(*KEYS * MOST_KEYS), headers=HOUR)
    await scene.trust(*(SiteTokenIssuer(name=name) for name in names))

    await scene.run()
    assert len(scene.issuers.peers) == MOST_IN_A_RUN
    await scene.run(after_ms=MINUTE_MS)
    assert {peer.host for peer in scene.issuers.peers} == set(names)
    assert len(await scene.keys()) == MOST_KEYS * len(names)


async def test_an_issuer_that_no_site_names_is_deleted(scene: Scene) -> None:
    await scene.run()
    await scene.trust(SiteTokenIssuer(name=NAME, token_key=KEYS[1]))
    assert await scene.keys() == SPKI[1:2]

    await scene.run(after_ms=DAY_MS)
    assert len(scene.issuers.peers) == 1
    assert await scene.opened.store.read.token_issuers.list_issuers() == []
