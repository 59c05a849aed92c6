"""The same client for asyncio. The calls run in the client's own threads, so they never block the event loop.

Threads and not asyncio streams: retries, deadlines, connections and offline verification exist once, and need no
dependency. A canceled call is finished by its thread within its deadline.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from agentgate_client.offline import OfflineVerifier
from agentgate_client.question import Question, new_request_id
from agentgate_client.results import Verified
from agentgate_client.verify import Client

THREADS = 16


class AsyncClient:
    """Redeems tokens without blocking the event loop. Time spent waiting for a thread counts against the deadline."""

    def __init__(
        self,
        base_url: str,
        secret: str,
        *,
        timeout_s: float = 1.0,
        retries: int = 2,
        fail_open: bool = False,
        offline: OfflineVerifier | None = None,
    ) -> None:
        self._use(Client(base_url, secret, timeout_s=timeout_s, retries=retries, fail_open=fail_open, offline=offline))

    @classmethod
    def around(cls, client: Client) -> "AsyncClient":
        """Return an asyncio client that uses this one's settings and connections."""
        made = cls.__new__(cls)
        made._use(client)  # noqa: SLF001 - its own
        return made

    def _use(self, client: Client) -> None:
        self.client = client
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="agentgate")

    async def verify(
        self,
        token: str,
        *,
        expected_action: str,
        expected_origin: str | None = None,
        request_id: str | None = None,
        remote_address: str | None = None,
        content_digest: str | None = None,
    ) -> Verified:
        """Redeem a token; raise `VerificationFailed` if it is rejected, `Unavailable` if it cannot be verified."""
        question = Question(
            token=token,
            expected_action=expected_action,
            request_id=request_id or new_request_id(),
            expected_origin=expected_origin,
            remote_address=remote_address,
            content_digest=content_digest,
        )
        deadline_s = self.client.new_deadline_s()
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, lambda: self.client.ask(question, deadline_s=deadline_s))

    async def close(self) -> None:
        """Wait for calls under way, then close the connections."""
        await asyncio.to_thread(self._threads.shutdown)
        self.client.close()
