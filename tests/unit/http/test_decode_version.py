"""Bodies that say which version of their shape they have: another one is named as such, before anything else."""

from typing import ClassVar, Literal

import pytest

from agentgate.http.decode import BodyDecoder
from agentgate.lib.errors import Refused
from agentgate.lib.records import Input


class Versioned(Input, frozen=True, kw_only=True):
    shape_version: ClassVar[tuple[str, int, str] | None] = ("schema", 1, "schema_unsupported")

    schema: Literal[1]
    name: str


VERSIONED = BodyDecoder(Versioned, malformed="bad_request")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b'{"schema":2,"name":"a"}', "schema_unsupported"),
        (b'{"schema":2,"other":[1]}', "schema_unsupported"),
        (b'{"schema":null}', "schema_unsupported"),
        (b'{"schema":1,"other":1}', "bad_request"),
        (b'{"schema":1}', "bad_request"),
        (b'{"name":"a"}', "bad_request"),
        (b'{"schema":2,"schema":1,"name":"a"}', "bad_request"),
        (b'{"schema":2', "bad_request"),
        (b"[2]", "bad_request"),
    ],
)
def test_a_body_of_another_version_is_rejected_as_such_whatever_else_it_has(body: bytes, code: str) -> None:
    with pytest.raises(Refused) as caught:
        VERSIONED.decode(body)

    assert caught.value.code == code
