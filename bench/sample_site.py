"""A small page by a small application, as stands behind a gateway."""

from typing import Any

PAGE = b"<!doctype html><title>Orders</title>" + b"<p>One order more.</p>" * 50


async def app(_scope: Any, _receive: Any, send: Any) -> None:
    """Answer every request with the page."""
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/html")]})
    await send({"type": "http.response.body", "body": PAGE})
