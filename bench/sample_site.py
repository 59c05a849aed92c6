"""Two small applications as stand behind a gateway: one sends a constant, the other renders a page of orders."""

from typing import Any

from jinja2 import Template

PAGE = b"<!doctype html><title>Orders</title>" + b"<p>One order more.</p>" * 50
ORDERS = [{"number": number, "item": f"Cup {number}", "price": number * 3} for number in range(50)]
ORDERS_PAGE = Template(
    "<!doctype html><title>Orders of {{ name }}</title><table>{% for order in orders %}"
    "<tr><td>{{ order.number }}</td><td>{{ order.item | e }}</td><td>{{ '%.2f' | format(order.price) }}</td></tr>"
    "{% endfor %}</table>"
)


async def constant(_scope: Any, _receive: Any, send: Any) -> None:
    """Answer every request with the same bytes: about as little as an application in Python can do."""
    await _answer(send, PAGE)


async def rendered(scope: Any, _receive: Any, send: Any) -> None:
    """Answer every request with a page made from a template."""
    await _answer(send, ORDERS_PAGE.render(name=scope["path"], orders=ORDERS).encode())


async def _answer(send: Any, body: bytes) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/html")]})
    await send({"type": "http.response.body", "body": body})
