"""Runs an ASGI application as a fast function, for requests that have arrived completely.

The bytes of the response are the same as on the ASGI path. The layers between application and socket are saved.
"""

from typing import Any

from agentgate.http.connection.fast_functions import FAILED, HotReply, HotRequest


class Direct:
    """A fast function over an application that sends its response in one piece, as this one does."""

    def __init__(self, app: Any, *, scheme: str = "http") -> None:
        self._app = app
        self._scheme = scheme

    async def __call__(self, request: HotRequest) -> HotReply:
        """Return the application's response."""
        exchange = _Exchange(request.body)
        scope = {
            "type": "http",
            "scheme": self._scheme,
            "method": request.method.decode("ascii"),
            "path": request.path.decode("ascii"),
            "query_string": request.query,
            "headers": list(request.headers.items()),
            "client": request.peer,
        }
        await self._app(scope, exchange.receive, exchange.send)
        return exchange.reply()


class _Exchange:
    """One body in, one response out."""

    __slots__ = ("_answer", "_body", "_content")

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._answer: dict[str, Any] | None = None
        self._content = b""

    async def receive(self) -> dict[str, Any]:
        return {"type": "http.request", "body": self._body, "more_body": False}

    async def send(self, message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self._answer = message
        else:
            self._content += message["body"]

    def reply(self) -> HotReply:
        if self._answer is None:
            return FAILED
        # The connection writes the length itself.
        headers = [pair for pair in self._answer["headers"] if pair[0] != b"content-length"]
        return HotReply(self._answer["status"], headers, self._content)
