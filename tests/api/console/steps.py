"""What several console tests do: look at the trail and the outbox, change a row, do many things at once."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from msgspec.structs import replace

from agentgate.lib.keyring import Sealer
from agentgate.people.accounts.records import Limits
from agentgate.people.accounts.repository import AccountStores
from agentgate.people.outbox.messages import Messenger
from agentgate.server.secret_files import root_secret
from tests.support.api_client import ApiClient
from tests.support.cast import Cast
from tests.support.service import RunningService

CONSOLE = "/v1/console"
PARALLEL = 64
UNAVAILABLE = 503
TRIES = 20


def refusal(reply: Any) -> tuple[int, str]:
    """Return status and code."""
    return reply.status_code, reply.json()["error"]


def trail(people: Cast, action: str | None = None) -> list[dict[str, Any]]:
    """Return what Alice sees of Acme's trail, newest first."""
    reply = people.alice.get(f"{CONSOLE}/audit", params={"limit": 200, **({"action": action} if action else {})})
    assert reply.status_code == 200, reply.text
    return reply.json()["items"]


def told(event: dict[str, Any]) -> tuple[str, str, str, Any]:
    """Return an event's actor, action, target and detail."""
    return event["actor"], event["action"], event["target"], event["detail"]


def outbox(service: RunningService) -> list[tuple[str, str, str]]:
    """Return recipient, kind and text of every message, newest first."""
    messenger = Messenger(Sealer(root_secret(service.application.settings)))
    stored = service.run(service.application.stores.store.read.outbox.list_messages(500))
    return [(message.recipient, message.kind, messenger.read_text(message)) for message in stored]


def run_sql(service: RunningService, sql: str, *values: Any) -> None:
    """Change rows directly, where no route leads to the state that a test needs."""

    async def work(transaction: Any) -> None:
        await transaction.run(sql, *values)

    service.run(service.application.stores.databases["config"].transaction(work))


def set_limits(service: RunningService, account_id: str, **limits: int) -> None:
    """Give an account other limits."""

    async def work(stores: AccountStores) -> None:
        account = await stores.accounts.find_account(account_id)
        assert account is not None
        await stores.accounts.save_account(replace(account, limits=Limits(**limits)))

    service.run(service.application.stores.store.change(work))


def same_person(service: RunningService, client: ApiClient) -> ApiClient:
    """Return another client with the same session, so that two requests do not wait for one connection."""
    twin = ApiClient(service.public_url, headers={"X-CSRF-Token": client.headers["X-CSRF-Token"]})
    twin.cookies.update(client.cookies)
    return twin


def at_once(service: RunningService, client: ApiClient, act: Callable[[ApiClient, int], Any]) -> list[int]:
    """Do something many times in parallel as one person; return the statuses, sorted."""

    def act_once(number: int) -> int:
        with same_person(service, client) as twin:
            # A busy machine may run out of database connections for a second. The response then asks to retry.
            for _ in range(TRIES):
                status: int = act(twin, number).status_code
                if status != UNAVAILABLE:
                    break
            return status

    with ThreadPoolExecutor(16) as pool:
        return sorted(pool.map(act_once, range(PARALLEL)))
