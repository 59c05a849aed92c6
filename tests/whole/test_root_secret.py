"""A new root secret: it opens all sealed values, the old one opens none, and half a rotation is finished.

The drill is the one in docs/operations.md: its command is run exactly as printed there.
"""

import re
import secrets
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from agentgate.lib.clock import MINUTE_MS
from agentgate.lib.keyring import KeysUnreadable, Sealer
from agentgate.lib.settings.schema import Settings, read_settings
from agentgate.server.stores.resealing import SEALED, ResealRefused, reseal
from agentgate.storage.postgres.database import PostgresDatabase
from tests.api.account.steps import log_in, turn_mfa_on
from tests.api.admin.operating import CUSTOMERS, messages
from tests.api.admin.webhook_body import HOOK
from tests.cli.commands import agentgate
from tests.support.cast import Cast, cast
from tests.support.gateway import Gate, said
from tests.support.service import NOON_MS, RunningService, running_service
from tests.support.tokens import mint
from tests.tidy.sources import ROOT
from tests.whole.gateway_process import environ

DOCS = ROOT / "docs" / "operations.md"
CONFIG = ROOT / "src" / "agentgate" / "storage" / "migrations" / "config"
# Bytes that are not secret: hashes of secrets, and the last delivered body.
NOT_SEALED = {"secret_digest", "code_digest", "link_digest", "key_tag", "health_body", "networks"}
# Of passkeys: what anyone may read.
NOT_SEALED |= {"challenge", "credential_id", "public_key"}


def test_every_column_of_bytes_is_sealed_again_or_known_not_to_be_sealed() -> None:
    texts = "\n".join(path.read_text() for path in CONFIG.glob("*.sql"))
    columns = set(re.findall(r"^\s*(?:ALTER TABLE \w+ ADD COLUMN )?(\w+) (?:BYTEA|BLOB)\b", texts, re.MULTILINE))

    assert columns == {each.column for each in SEALED} | NOT_SEALED


def new_secret(folder: Path) -> bytes:
    secret = secrets.token_bytes(32)
    (folder / "root.secret.new").write_text(secret.hex() + "\n")
    return secret


def fill(service: RunningService, people: Cast) -> None:
    """Make a message, a webhook whose secret was replaced, and a network list with a key."""
    invited = service.operator.post(
        f"{CUSTOMERS}/{people.acme}/members", json={"email": "otto@other.example", "role": "member"}
    )
    assert invited.status_code == 201, invited.text
    site = people.alice.post("/v1/console/sites", json={"name": "Hooked"}).json()["siteKey"]
    made = service.operator.post(f"/v1/admin/sites/{site}/webhooks", json=HOOK)
    webhook_id = made.json()["webhook"]["id"]
    assert service.operator.post(f"/v1/admin/sites/{site}/webhooks/{webhook_id}/rotate").status_code == 201
    feed = {"source": "crowdsec", "url": "https://crowdsec.example/", "key": "bouncer-key"}
    saved = service.operator.put(f"/v1/admin/sites/{site}/network-lists/bans", json=feed)
    assert saved.status_code in (200, 201), saved.text


async def sealed_rows(service: RunningService) -> dict[str, int]:
    config = service.application.stores.databases["config"]
    return {
        f"{each.table}.{each.column}": len(
            await config.all(f"SELECT 1 FROM {each.table} WHERE {each.column} IS NOT NULL")
        )
        for each in SEALED
    }


def test_the_drill_changes_the_root_secret(tmp_path: Path) -> None:
    settings = read_settings(environ(tmp_path))
    with running_service(settings) as service:
        people = cast(service)
        gate = Gate(service)
        fill(service, people)
        alone = turn_mfa_on(service, people.alice)[0]
        people.rita.post("/v1/account/mfa/setup")
        token = mint(service.application.signing_keys, gate.site_key, now_ms=NOON_MS)
        mails = messages(service)
        rows = service.run(sealed_rows(service))
    assert all(rows.values()), rows
    old = (tmp_path / "data" / "root.secret").read_text()
    new = new_secret(tmp_path)
    (line,) = re.findall(r"^agentgate keys rotate-root .*$", DOCS.read_text(), re.MULTILINE)

    done = agentgate(tmp_path, *line.split()[1:])

    assert done.returncode == 0, done.stderr
    assert f"{sum(rows.values())} keys and secrets" in done.stdout
    assert (tmp_path / "data" / "root.secret").read_text().strip() == new.hex()
    assert (tmp_path / "data" / "root.secret").stat().st_mode & 0o777 == 0o600
    with running_service(settings) as service:
        gate.service = service
        assert said(gate.check("POST", "/login", X_AgentGate_Token=token))[0] == 204
        assert messages(service) == mails
        service.clock.advance(ms=MINUTE_MS)
        signed_in = log_in(service.new_public_client())
        assert signed_in.json()["mfaRequired"] is True
        assert alone.secret
    with pytest.raises(KeysUnreadable), running_service(replace(settings, root_secret=bytes.fromhex(old))):
        pass
    # A second time, as after a crash before the file was put in place.
    (tmp_path / "data" / "root.secret").write_text(old)
    again = agentgate(tmp_path, *line.split()[1:])
    assert (again.returncode, "already encrypted with this root secret" in again.stdout) == (0, True)
    assert (tmp_path / "data" / "root.secret").read_text().strip() == new.hex()


@pytest.fixture
def settings(tmp_path: Path, migrated_url: str) -> Settings:
    return read_settings(environ(tmp_path, AGENTGATE_DATABASE_URL=migrated_url, AGENTGATE_ROOT_SECRET="5a" * 32))


OLD, NEW = Sealer(b"\x5a" * 32), Sealer(b"\x5b" * 32)


@pytest.fixture
async def config(settings: Settings) -> AsyncIterator[PostgresDatabase]:
    """The database of a service that has been stopped."""
    with running_service(settings) as service:
        fill(service, cast(service))
    database = PostgresDatabase(settings.database_url)
    yield database
    await database.close()


@pytest.mark.anyio
async def test_on_postgresql_it_rejects_while_a_service_runs(config: PostgresDatabase) -> None:
    await config.run("DELETE FROM job_lease")
    await config.run("INSERT INTO job_lease (name, owner, expires_ms) VALUES ('jobs', 'x', $1)", NOON_MS + 1)

    with pytest.raises(ResealRefused, match="a service runs on this store"):
        await reseal(config, OLD, NEW, now_ms=NOON_MS)
    assert await reseal(config, OLD, NEW, now_ms=NOON_MS + 1) > 0
    assert await reseal(config, OLD, NEW, now_ms=NOON_MS + 1) == 0


@pytest.mark.anyio
async def test_a_value_that_does_not_open_undoes_all_of_it(config: PostgresDatabase) -> None:
    await config.run("DELETE FROM job_lease")
    await config.run("UPDATE outbox_message SET body = $1", b"damaged" * 9)
    before = await config.all("SELECT id, sealed FROM service_key ORDER BY id")

    with pytest.raises(KeysUnreadable):
        await reseal(config, OLD, NEW, now_ms=NOON_MS)

    assert await config.all("SELECT id, sealed FROM service_key ORDER BY id") == before


@pytest.mark.parametrize(
    ("text", "problem"), [(None, "cannot be read"), ("abc", "32 bytes in hex"), ("0" * 62, "32 bytes")]
)
def test_what_it_rejects(tmp_path: Path, text: str | None, problem: str) -> None:
    agentgate(tmp_path, "keys", "list")
    if text is not None:
        (tmp_path / "new").write_text(text)

    refused = agentgate(tmp_path, "keys", "rotate-root", "new")

    assert refused.returncode == 2
    assert problem in refused.stderr
