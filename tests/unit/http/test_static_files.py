"""Built files: what is sent with them, and that nothing else can be reached."""

import gzip
from typing import Any

import pytest

from agentgate.http.static_files import StaticFiles, read_file
from agentgate.http.surface import Surface, get
from agentgate.lib import errors
from agentgate.pages.web_app import STATIC
from tests.unit.http import kernel as kernels

pytestmark = pytest.mark.anyio

FILE = "/sdk/v1/agentgate.js"


@pytest.fixture
def kernel() -> kernels.Kernel:
    table = (get("/sdk/v1/{file}", read_file, media_type="text/javascript", any_query=True),)
    surface = Surface(name="test", title="Test", prefix="", errors=errors.CONSOLE, table=table)
    return kernels.Kernel(surface, StaticFiles(STATIC))


async def test_a_file_comes_compressed_to_anyone_who_can_read_that(kernel: Any) -> None:
    plain = await kernel.call("GET", FILE)
    compressed = await kernel.call("GET", FILE + "?render=explicit", accept_encoding="br, gzip")

    assert plain.status == compressed.status == 200
    assert "content-encoding" not in plain.headers
    assert compressed.headers["content-encoding"] == "gzip"
    assert gzip.decompress(compressed.body) == plain.body
    assert len(compressed.body) < len(plain.body)
    assert plain.headers["content-type"] == "text/javascript; charset=utf-8"


async def test_every_page_may_load_it_and_keep_it_for_a_while(kernel: Any) -> None:
    reply = await kernel.call("GET", FILE)

    assert reply.headers["cache-control"] == "public, max-age=300"
    assert reply.headers["access-control-allow-origin"] == "*"
    assert reply.headers["cross-origin-resource-policy"] == "cross-origin"
    assert reply.headers["vary"] == "Accept-Encoding"


async def test_a_file_that_has_not_changed_is_not_sent_again(kernel: Any) -> None:
    etag = (await kernel.call("GET", FILE)).headers["etag"]

    again = await kernel.call("GET", FILE, if_none_match=etag)

    assert (again.status, again.body) == (304, b"")


@pytest.mark.parametrize("path", ["/sdk/v1/none.js", "/sdk/v1/..", "/sdk/v1/..%2f..%2fapp.py", "/sdk/v1/i18n"])
async def test_there_is_only_the_built_files(kernel: Any, path: str) -> None:
    assert (await kernel.call("GET", path)).status == 404


def test_the_type_of_every_built_file_is_known() -> None:
    static = StaticFiles(STATIC)

    assert all(static.find(path) for path in static._paths)
