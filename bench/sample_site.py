"""Two typical small applications behind a proxy: one sends a constant, the other is a page of orders in FastAPI."""

from typing import Any

from fastapi import FastAPI
from fastapi.responses import HTMLResponse
from jinja2 import Template

PAGE = b"<!doctype html><title>Orders</title>" + b"<p>One order more.</p>" * 50
ORDERS = [{"number": number, "item": f"Cup {number}", "price": number * 3} for number in range(50)]
ORDERS_PAGE = Template(
    "<!doctype html><title>Orders of {{ name }}</title><table>{% for order in orders %}"
    "<tr><td>{{ order.number }}</td><td>{{ order.item | e }}</td><td>{{ '%.2f' | format(order.price) }}</td></tr>"
    "{% endfor %}</table>"
)


async def constant(_scope: Any, _receive: Any, send: Any) -> None:
    """Return the same bytes for every request: close to the least work of an application in Python."""
    length = str(len(PAGE)).encode()
    headers = [(b"content-type", b"text/html"), (b"content-length", length)]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": PAGE})


def fastapi() -> FastAPI:
    """Return an application that responds to every GET with a page from a template."""
    application = FastAPI()

    @application.get("/{path:path}", response_class=HTMLResponse)
    async def read_page(path: str, page: int = 1) -> str:
        return ORDERS_PAGE.render(name=f"{path} {page}", orders=ORDERS)

    return application
