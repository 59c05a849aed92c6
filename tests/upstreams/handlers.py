"""The handlers that every upstream has: a name, and the method and path of a plain request that runs it.

An upstream names the handlers that it ran in its response's `X-Handler`, with blanks between. An upstream with
several ways of reading a target names what each of them would run.
"""

from typing import NamedTuple


class Handler(NamedTuple):
    """One handler of the site."""

    name: str
    method: str
    path: str


HANDLERS = (
    Handler("home", "GET", "/"),
    Handler("page", "GET", "/open/page"),
    Handler("search", "POST", "/search"),
    Handler("pay_form", "GET", "/pay"),
    Handler("pay", "POST", "/pay"),
    Handler("users", "GET", "/admin/users"),
    Handler("add_user", "POST", "/admin/users"),
    Handler("members", "GET", "/members"),
    Handler("tasks", "GET", "/tasks"),
    Handler("item", "GET", "/items/7"),
    Handler("change_item", "POST", "/items/7"),
    Handler("delete_item", "DELETE", "/items/7"),
)
