"""ClickhouseClient: statements over ClickHouse's HTTP interface, on threads, with connections that are kept open.

Values are typed parameters (`{p1:Int64}`), never part of the statement's text. Every statement here may be repeated:
reads change nothing, schema changes use IF [NOT] EXISTS, and inserts have a token by which the server recognizes a
repetition. So a statement without a response is tried on the next server.
"""

import asyncio
import http.client
import re
import ssl
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeVar
from urllib.parse import unquote, urlencode, urlsplit

import msgspec

from agentgate.lib.database import EventsUnavailable, Note, Row
from agentgate.lib.tasks.fair_threads import FairThreads

PORT, TLS_PORT = 8123, 8443
TLS_SCHEME = "clickhouses"
CONNECT_S = 2.0
ANSWER_S = 8.0
# Shorter than the recorder waits when the service stops: then there is still time for the spool.
INSERT_S = 5.0
# Schema changes on a cluster, and removing a site's rows, wait for every replica.
LONG_S = 120.0
THREADS, READS_OF_ACCOUNT = 8, 4

T = TypeVar("T")

Value = int | float | str | bytes | Sequence[int] | None

_PLACE = re.compile(r"\$(\d+)")
_CODE = re.compile(r"Code: (\d+)")
# The rows themselves cannot be read: the same rows will fail again. All other errors pass, or are for the operator.
_ROWS_REFUSED = frozenset((6, 26, 27, 33, 53, 69, 70, 72, 117, 349))
# Responses are sent when the statement is done: otherwise a failure in the middle would come after a 200.
_ALWAYS = {"wait_end_of_query": "1", "output_format_json_quote_64bit_integers": "0"}

_read_rows = msgspec.json.Decoder().decode_lines


class Address(NamedTuple):
    """The HTTP address of ClickHouse. Each server must know all tables: replicas, or any server of a cluster."""

    servers: tuple[tuple[str, int], ...]
    is_tls: bool
    user: str
    password: str
    database: str


class RowsRefused(Exception):  # noqa: N818 - says what happened
    """ClickHouse cannot read the rows of an insert. Nothing of them was kept."""


class ClickhouseClient:
    """Implements Reader; inserts rows as they come from an encoder."""

    def __init__(
        self,
        url: str,
        *,
        answer_s: float = ANSWER_S,
        insert_s: float = INSERT_S,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self._address = _read_address(url)
        self._answer_s = answer_s
        self._insert_s = insert_s
        self._settings = {**_ALWAYS, "database": self._address.database, **(settings or {})}
        self._threads = FairThreads(THREADS, "clickhouse", most_of_account=READS_OF_ACCOUNT)
        self._local = threading.local()
        self._connections: set[http.client.HTTPConnection] = set()
        # The server that is tried first: the one that responded last.
        self._first = 0
        self._note: Note | None = None

    @property
    def database(self) -> str:
        return self._address.database

    def watch(self, note: Note) -> None:
        self._note = note

    async def all(self, sql: str, *values: Value) -> list[Row]:
        """Return every row. Arrays are their JSON text, as the other databases keep lists."""
        return await self._on_thread(lambda: self._select(sql, values))

    async def one(self, sql: str, *values: Value) -> Row | None:
        rows = await self.all(sql, *values)
        return rows[0] if rows else None

    async def run(self, sql: str, **settings: str) -> None:
        """Run a statement that has no rows."""
        await self._on_thread(lambda: self._post({**settings, "query": sql}, b"", LONG_S))

    async def insert(
        self, table: str, columns: Sequence[str], rows: bytes, *, token: str, is_gzip: bool = False
    ) -> None:
        """Insert rows, one JSON array a line, once for each token. Raises RowsRefused or EventsUnavailable."""
        parameters = {
            "query": f"INSERT INTO {table} ({', '.join(columns)}) FORMAT JSONCompactEachRow",
            "insert_deduplicate": "1",
            "insert_deduplication_token": token,
            # Roll-ups deduplicate by the token too: an insert may have stopped between the table and its views.
            "deduplicate_blocks_in_dependent_materialized_views": "1",
            # All rows are one block, hence one part, hence all of them or none.
            "max_insert_block_size": "1048576",
            "input_format_parallel_parsing": "0",
            "async_insert": "0",
        }
        encoding = "gzip" if is_gzip else ""
        await self._on_thread(lambda: self._post(parameters, rows, self._insert_s, encoding))

    async def ping(self) -> None:
        await self.all("SELECT 1")

    async def close(self) -> None:
        """Let go of all connections; a statement that is under way is waited for."""
        await asyncio.to_thread(self._threads.shutdown, cancel_futures=True)
        for connection in self._connections:
            connection.close()

    async def _on_thread(self, act: Callable[[], T]) -> T:
        started_s = time.perf_counter()
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, act)
        finally:
            if self._note is not None:
                self._note(time.perf_counter() - started_s)

    def _select(self, sql: str, values: Sequence[Value]) -> list[Row]:
        types = [_type_of(value) for value in values]
        text = _PLACE.sub(lambda match: f"{{p{match[1]}:{types[int(match[1]) - 1]}}}", sql)
        parameters = {f"param_p{place}": _parameter(value) for place, value in enumerate(values, 1)}
        parameters["default_format"] = "JSONCompactEachRow"
        answer = self._post(parameters, text.encode(), self._answer_s)
        return [_row(row) for row in _read_rows(answer)]

    def _post(self, parameters: Mapping[str, str], body: bytes, answer_s: float, encoding: str = "") -> bytes:
        """Send a statement to one server after the other until one responds."""
        path = "/?" + urlencode({**self._settings, **parameters})
        why = ""
        servers = self._address.servers
        until_s = time.monotonic() + answer_s
        # Once more than there are servers: a connection that was kept open too long fails at once.
        for _ in range(len(servers) + 1):
            number = self._first
            try:
                return self._ask(number, path, body, answer_s, encoding)
            except (OSError, http.client.HTTPException) as failure:
                why = f"{type(failure).__name__}: {failure}"
                self._first = (number + 1) % len(servers)
                if time.monotonic() >= until_s:
                    break
        raise EventsUnavailable(f"ClickHouse does not respond ({why})")

    def _ask(self, number: int, path: str, body: bytes, answer_s: float, encoding: str) -> bytes:
        connection = self._connection(number)
        headers = {"X-ClickHouse-User": self._address.user, "X-ClickHouse-Key": self._address.password}
        if encoding:
            headers["Content-Encoding"] = encoding
        try:
            if connection.sock is None:
                connection.timeout = CONNECT_S
                connection.connect()
            connection.sock.settimeout(answer_s)
            connection.request("POST", path, body, headers)
            response = connection.getresponse()
            answer = response.read()
        except BaseException:
            connection.close()
            raise
        if response.status != http.HTTPStatus.OK:
            raise _failure(response.status, answer)
        return answer

    def _connection(self, number: int) -> http.client.HTTPConnection:
        """Return this thread's connection to a server."""
        kept: dict[int, http.client.HTTPConnection] = self._local.__dict__.setdefault("kept", {})
        if number not in kept:
            kept[number] = _connection(self._address, number)
            self._connections.add(kept[number])
        return kept[number]


def _read_address(url: str) -> Address:
    """Return the parts of `clickhouse://user:password@host:port,host:port/database`; the settings have checked it."""
    parts = urlsplit(url)
    credentials, _, places = parts.netloc.rpartition("@")
    user, _, password = credentials.partition(":")
    is_tls = parts.scheme == TLS_SCHEME
    return Address(
        servers=tuple(_server(place, TLS_PORT if is_tls else PORT) for place in places.split(",")),
        is_tls=is_tls,
        user=unquote(user) or "default",
        password=unquote(password),
        database=unquote(parts.path.strip("/")) or "default",
    )


def _server(place: str, default_port: int) -> tuple[str, int]:
    parts = urlsplit(f"//{place}")
    assert parts.hostname is not None, "the settings check it"
    return parts.hostname, parts.port or default_port


def _connection(address: Address, number: int) -> http.client.HTTPConnection:
    host, port = address.servers[number]
    if address.is_tls:
        return http.client.HTTPSConnection(host, port, context=ssl.create_default_context())
    return http.client.HTTPConnection(host, port)


def _failure(status: int, answer: bytes) -> Exception:
    text = answer.decode(errors="replace").strip()
    code = _CODE.search(text)
    if code is not None and int(code[1]) in _ROWS_REFUSED:
        return RowsRefused(text[:500])
    return EventsUnavailable(f"ClickHouse returned {status}: {text[:500]}")


def _type_of(value: Value) -> str:
    for kind, name in ((int, "Int64"), (float, "Float64"), ((str, bytes), "String"), (type(None), "Nullable(String)")):
        if isinstance(value, kind):
            return name
    return "Array(Int64)"


def _parameter(value: Value) -> str:
    if value is None:
        return "\\N"
    if isinstance(value, bytes):
        value = value.decode()
    if isinstance(value, str):
        return value.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")
    return str(value) if isinstance(value, int | float) else "[" + ",".join(map(str, value)) + "]"


def _row(row: list[object]) -> Row:
    return tuple([_to_text(value) if isinstance(value, list) else value for value in row])


def _to_text(value: list[object]) -> str:
    return msgspec.json.encode(value).decode()
