"""The newest ClickHouse engine (chdb) behind as much of ClickHouse's HTTP interface as the service uses.

Run where chdb can be imported: `python clickhouse_engine.py FOLDER PORT`. The engine does the work: parsing, types,
parameters, deduplication, views. Only the transport is written here: the statement from the address and the body,
settings and parameters from the address, user and password from headers, gzip. Statements run one after the other.
"""

import gzip
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from chdb import session
from chdb._exceptions import ChdbError

USER, PASSWORD = "gate", "p@ss/word"
# Of the interface itself, not of the statement.
TRANSPORT = {"query", "database", "default_format", "wait_end_of_query"}
FORMAT = re.compile(r"\s+FORMAT\s+\w+\s*$")


class Engine:
    """One engine in this process."""

    def __init__(self, folder: str) -> None:
        self._session: Any = session.Session(folder)
        self._lock = threading.Lock()
        # The session's current values: a server reads both from the address, and it costs nothing there.
        self._told: dict[str, str] = {}

    def answer(self, given: dict[str, str], body: bytes) -> bytes:
        """Run one statement with its settings and return the result."""
        settings = {key: value for key, value in given.items() if key not in TRANSPORT and not key.startswith("param_")}
        parameters = {key.removeprefix("param_"): value for key, value in given.items() if key.startswith("param_")}
        with self._lock:
            self._tell("database", given.get("database", "default"), "USE {}")
            if "query" in given and body:
                # An insert: settings precede its format, the rows follow it.
                format_at = FORMAT.search(given["query"])
                assert format_at is not None, "an insert names its format"
                head = given["query"][: format_at.start()]
                text = f"{head} SETTINGS {listed(settings)} {format_at[0].strip()}\n{body.decode()}"
                return self._run(text, "TabSeparated", {})
            for name, value in settings.items():
                self._tell(name, value, f"SET {name} = '{{}}'")
            return self._run(
                given.get("query") or body.decode(), given.get("default_format", "TabSeparated"), parameters
            )

    def _tell(self, name: str, value: str, statement: str) -> None:
        if self._told.get(name) != value:
            self._session.query(statement.format(value))
            self._told[name] = value

    def _run(self, text: str, form: str, parameters: dict[str, str]) -> bytes:
        answer: bytes = self._session.query(text, form, params=parameters or None).bytes()
        return answer


def listed(settings: dict[str, str]) -> str:
    """Write settings as a statement has them."""
    return ", ".join(f"{name} = '{value}'" for name, value in settings.items())


class Handler(BaseHTTPRequestHandler):
    """One connection, kept open."""

    protocol_version = "HTTP/1.1"
    # Head and body are two packets: the second would wait 40 ms for the first to be acknowledged.
    disable_nagle_algorithm = True
    engine: Engine

    def do_POST(self) -> None:
        """Respond to a statement."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        if (self.headers.get("X-ClickHouse-User"), self.headers.get("X-ClickHouse-Key")) != (USER, PASSWORD):
            self._send(403, b"Code: 516. DB::Exception: Authentication failed")
            return
        try:
            answer = self.engine.answer(dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True)), body)
        except ChdbError as failure:
            self._send(500, str(failure).encode())
        else:
            self._send(200, answer)

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


if __name__ == "__main__":
    Handler.engine = Engine(sys.argv[1])
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Handler)
    server.daemon_threads = True
    server.serve_forever()
