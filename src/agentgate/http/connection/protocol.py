"""One HTTP connection: every byte arrives here and is bounded, timed and inspected before a handler exists.

Built on uvicorn's httptools protocol: it keeps the request-response cycle (ASGI) and replaces the callbacks of the
parser. `http/request_guard.py` has the rules for request headers, `deadlines.py` the connection's deadlines,
`listener.py` the sockets.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from functools import partial
from math import inf

import httptools
import msgspec
from uvicorn.config import Config
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from agentgate.http import request_guard
from agentgate.http.connection import fast_functions
from agentgate.http.connection.asgi_path import RequestHead, disconnect, new_cycle
from agentgate.http.connection.deferral import DeferringConnection
from agentgate.http.connection.fast_functions import (
    DatelessReply,
    HotAnswer,
    HotFunction,
    HotPaths,
    HotReply,
    Incomplete,
    Pending,
    Reply,
    encode_reply,
)
from agentgate.http.connection.state import BETWEEN, BODY, HEAD, ConnectionLimits, GateState
from agentgate.http.request_guard import MAX_HEADER_BYTES, MAX_HEADERS, MAX_TARGET_BYTES, RequestRefusal, judge_head

# The parser gets at most this much at once; its memory, the number of headers and the time of pipelined requests are
# checked between the pieces.
PIECE_BYTES = 1024
# A connection that has more data after this time continues in a later loop iteration.
SLICE_S = 0.005
# A head begins somewhere inside a piece, so one piece more than the head itself can have been counted.
MAX_SILENT_BYTES = MAX_TARGET_BYTES + MAX_HEADER_BYTES + PIECE_BYTES + 1024


# A request that was handled as it arrived: the facts that are needed to write the response.
WHOLE = RequestHead(b"GET", b"", b"", {}, None, version="1.1", keep_alive=True)


class GateProtocol(DeferringConnection):
    """One HTTP/1.1 connection of a client. At most one request of a connection runs; the others wait in order."""

    __slots__ = (
        "_fields", "_head", "_held", "_hot", "_hot_body", "_hot_paths", "_is_clean", "_is_last", "_refusal",
        "_repeated", "_running", "_silent_bytes",
    )  # fmt: skip

    def __init__(
        self,
        config: Config,
        server_state: GateState,
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        limits: ConnectionLimits,
        hot_paths: HotPaths,
    ) -> None:
        super().__init__(config, server_state, _loop, limits=limits)
        self.logger = logging.getLogger("agentgate.http")
        self._hot_paths = hot_paths
        self._silent_bytes = 0
        self._fields: dict[bytes, bytes] = {}
        self._repeated: list[bytes] = []
        # A request that gets a response as a whole, as far as it has arrived. The parser has not received it.
        self._held = b""
        # The parser is between two requests.
        self._is_clean = True
        self._is_last = False
        self._running: RequestResponseCycle | None = None
        self._refusal: RequestRefusal | None = None
        self._head: RequestHead | None = None
        self._hot: HotFunction | None = None
        self._hot_body = b""
        # The parser sets it; a request that is held until its body arrives never reaches the parser.
        self.url = b""

    # The transport's callbacks.

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._is_stopped = True
        self._waiting.clear()
        if self._running is not None:
            disconnect(self._running)

    def eof_received(self) -> bool:  # type: ignore[override]  # as in asyncio; uvicorn never stays
        """Stay open for the responses to a client that has only finished sending; False closes the connection."""
        if self._phase != BETWEEN or not (self._is_busy or self._waiting):
            return False
        self.shutdown()
        return True

    def _take(self, data: bytes) -> None:
        if self._held:
            data, self._held, self._phase = self._held + data, b"", BETWEEN
        if self._is_clean and not self._is_busy and self._answer_whole(data):
            return
        # Not the loop's clock, which does not advance within a turn.
        view, until = memoryview(data), time.perf_counter() + SLICE_S
        for start in range(0, len(data), PIECE_BYTES):
            if start and time.perf_counter() > until:
                self._is_clean = False
                self._give_way(data[start:])
                return
            self._feed(view[start : start + PIECE_BYTES])
        # A line end of which the second half is still to come belongs to the parser.
        self._is_clean = self._phase == BETWEEN and data[-1:] != b"\r"

    def announce_close(self) -> None:
        """Close after the next response, or after the last of the queued requests."""
        self._is_draining = True
        if self._running is not None and not self._waiting and not self._deferred_data:
            self._running.keep_alive = False

    def shutdown(self) -> None:
        """Finish what has begun to arrive or to run, then close; close at once when there is nothing."""
        self.announce_close()
        if self._waiting or self._deferred_data or self._running is not None:
            return
        if not self._is_busy and self._phase == BETWEEN:
            self.transport.close()

    # The parser and its callbacks; `on_url` is uvicorn's.

    def _feed(self, piece: bytes | memoryview) -> None:
        rest = piece
        while rest and not self._is_stopped:
            try:
                self.parser.feed_data(rest)
            except httptools.HttpParserUpgrade as upgrade:
                # Protocols are never switched: the request was plain HTTP/1.1, and so is what follows it.
                rest = rest[upgrade.args[0] :]
                continue
            except httptools.HttpParserError as error:
                self._on_parser_error(error)
            break
        if self._is_stopped:
            return
        phase = self._phase
        if self._timed_phase != phase:
            self._set_deadline()
        if phase != BETWEEN:
            self._silent_bytes += len(piece)
            if len(self._fields) + len(self._repeated) > MAX_HEADERS:
                self._refuse(request_guard.TOO_MANY_HEADERS)
            elif self._silent_bytes > MAX_SILENT_BYTES:
                self._refuse(request_guard.HEADERS_TOO_LARGE if phase == HEAD else request_guard.MALFORMED)

    def _on_parser_error(self, error: httptools.HttpParserError) -> None:
        if self._is_last and self._phase == BETWEEN:
            self._is_stopped = True
            self._deadline = inf
            return
        if self._refusal is None and isinstance(error.__context__, Exception):
            self.logger.error("a parser callback failed", exc_info=error.__context__)
        self._refuse(self._refusal or request_guard.MALFORMED)

    def on_message_begin(self) -> None:
        if self._is_last:
            # The client asked to close after the request before this one.
            raise httptools.HttpParserError
        self._phase = HEAD
        self._timed_phase = None
        self._silent_bytes = 0
        self.url = b""
        if self._fields or self._repeated:
            self._fields = {}
            self._repeated = []
        self.cycle = None  # type: ignore[assignment]  # uvicorn starts with None as well

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        fields = self._fields
        if name in fields:
            self._repeated.append(name)
            fields[name] += b", " + value
        else:
            fields[name] = value

    def on_headers_complete(self) -> None:
        parser = self.parser
        method = parser.get_method()
        version = parser.get_http_version()
        fields = self._fields
        refusal = judge_head(method, self.url, version=version, fields=fields, repeated=self._repeated)
        if refusal is None and len(self._waiting) >= self._limits.max_pipelined:
            refusal = request_guard.PIPELINE_FULL
        if refusal is not None:
            self._stop(refusal)
        self._phase = BODY
        # Trailers still to come must not join the headers that have just been judged.
        self._fields = {}
        path, _, query = self.url.partition(b"?")
        keep_alive = version == "1.1" and parser.should_keep_alive()
        self._is_last = not keep_alive
        head = RequestHead(method, path, query, fields, self.client, version=version, keep_alive=keep_alive)
        self._hot = fast_functions.find_hot(self._hot_paths, method, path, fields)
        # Called when the message is complete: only then is it sure what body there is.
        self._head, self._hot_body = head, b""
        if self._hot is None:
            self._receive_cold(head)

    def on_body(self, body: bytes) -> None:
        self._silent_bytes = 0
        if self._hot is not None and self._head is not None:
            if self._head.method not in fast_functions.BODILESS:
                self._hot_body += body
                return
            self._hot = None
            self._receive_cold(self._head)
        cycle = self.cycle
        if cycle.response_complete:
            return
        cycle.body += body
        if len(cycle.body) > HIGH_WATER_LIMIT:
            self.flow.pause_reading()
        cycle.message_event.set()

    def on_message_complete(self) -> None:
        self._phase = BETWEEN
        function = self._hot
        if function is None:
            self.cycle.more_body = False
            self.cycle.message_event.set()
            return
        head = self._head
        assert head is not None
        if self._hot_body:
            head = msgspec.structs.replace(head, body=self._hot_body)
        self._hot = self._head = None
        if self._is_busy or self._waiting or self.flow.write_paused:
            self._enter(partial(self._answer_hot, function, head))
        else:
            self._answer_hot(function, head)

    def _stop(self, refusal: RequestRefusal) -> None:
        """End parsing from inside a callback: the parser ignores all further bytes after an exception."""
        self._refusal = refusal
        raise httptools.HttpParserError

    # The order of responses on this connection.

    def _enter(self, start: Callable[[], None]) -> None:
        if self._is_busy or self._waiting or self.flow.write_paused:
            self._waiting.append(start)
            self.flow.pause_reading()
        else:
            start()

    def _advance(self) -> None:
        """Start the next queued request, or become idle."""
        while self._waiting and not (self._is_busy or self.flow.write_paused or self.transport.is_closing()):
            self._waiting.popleft()()
        if self._waiting or self._is_busy or self._is_stopped or self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self._phase == BETWEEN:
            self._set_deadline()

    def _closes_next(self) -> bool:
        return self._is_draining and not self._waiting

    # The fast path.

    def _answer_whole(self, data: bytes) -> bool:
        """Respond to a complete request without parsing it; False leaves it to the parser."""
        state = self._state
        if data.startswith(state.taken):
            take = state.take
        elif data.startswith(state.taken_posts) and not self._is_full():
            take = state.take_post
        else:
            return False
        if self._is_last or self._is_stopped or self._waiting or self.flow.write_paused:
            return False
        try:
            answer = take(data)
        except Exception:
            self.logger.exception("a hot function failed")
            answer = fast_functions.FAILED
        if answer is None:
            return False
        self._is_first = False
        if type(answer) is tuple and not self._is_draining:
            self._write_only(answer)
            return True
        if isinstance(answer, Incomplete):
            self._hold(data)
            return True
        self._give(answer, WHOLE)
        self._set_deadline()
        return True

    def _hold(self, data: bytes) -> None:
        """Wait for the rest of a body, as long as for any other."""
        self._held, self._phase = data, BODY
        self.cycle = None  # type: ignore[assignment]  # as when a request begins
        if self._timed_phase != BODY:
            self._set_deadline()

    def _write_only(self, answer: DatelessReply) -> None:
        """Write as `_write` and `_set_deadline` would if nothing runs or is queued and no other request has begun."""
        state = self._state
        state.total_requests += 1
        self.transport.write(state.date_line.join(answer))
        self._timed_phase = BETWEEN
        self._deadline = self.loop.time() + self._limits.keep_alive_s

    def _is_full(self) -> bool:
        return len(self.tasks) + self._state.pending >= self._limits.max_in_flight

    def _answer_hot(self, function: HotFunction, head: RequestHead) -> None:
        if head.body and self._is_full():
            self._state.shed += 1
            self._answer(fast_functions.OVERLOADED, head)
            return
        try:
            answer: HotAnswer = function(head)
        except Exception:
            self.logger.exception("a hot function failed")
            answer = fast_functions.FAILED
        self._give(answer, head)

    def _give(self, answer: HotAnswer, head: RequestHead) -> None:
        """Write a response, now or when it exists."""
        if isinstance(answer, HotReply | tuple):
            self._answer(answer, head)
        elif answer is None:
            cycle = new_cycle(head, self, close=self._close_behind_answer)
            cycle.body, cycle.more_body = bytearray(head.body), False
            cycle.message_event.set()
            self._start_cold(cycle, head)
        elif isinstance(answer, Pending):
            self._is_busy = True
            self._state.pending += 1
            answer.then(partial(self._answer_pending, head))
        else:
            self._is_busy = True
            task = self.loop.create_task(self._answer_later(answer, head))
            task.add_done_callback(self.tasks.discard)
            self.tasks.add(task)

    def _answer_pending(self, head: RequestHead, reply: Reply) -> None:
        self._state.pending -= 1
        self._is_busy = False
        if head is WHOLE and type(reply) is tuple and self._is_idle():
            self._write_only(reply)
            return
        self._answer(reply, head)
        self._advance()

    def _is_idle(self) -> bool:
        """Return whether nothing has come since the last whole request, and nothing ends the connection."""
        if self._waiting or self._phase != BETWEEN or self._is_draining or self._is_stopped:
            return False
        return not (self.flow.read_paused or self.flow.write_paused or self.transport.is_closing())

    async def _answer_later(self, pending: Awaitable[Reply], head: RequestHead) -> None:
        try:
            reply = await pending
        except Exception:
            self.logger.exception("a hot function failed")
            reply = fast_functions.FAILED
        self._is_busy = False
        self._answer(reply, head)
        self._advance()

    def _answer(self, reply: Reply, head: RequestHead) -> None:
        self._write(reply, with_body=head.method != b"HEAD", keep_alive=head.keep_alive)

    def _write(self, reply: Reply, *, with_body: bool, keep_alive: bool) -> None:
        state, transport = self._state, self.transport
        state.total_requests += 1
        if transport.is_closing():
            return
        if self._is_draining and self._closes_next():
            keep_alive = False
        try:
            data = encode_reply(reply, state.date_line, with_body=with_body, keep_alive=keep_alive)
        except Exception:
            self.logger.exception("a reply could not be written")
            data = encode_reply(fast_functions.FAILED, state.date_line, with_body=with_body, keep_alive=keep_alive)
        transport.write(data)
        if not keep_alive:
            self._is_last = True
            self._close_behind_answer()

    # The ASGI path.

    def _receive_cold(self, head: RequestHead) -> None:
        self.cycle = cycle = new_cycle(head, self, close=self._close_behind_answer)
        self._enter(partial(self._start_cold, cycle, head))

    def _start_cold(self, cycle: RequestResponseCycle, head: RequestHead) -> None:
        if len(self.tasks) >= self._limits.max_in_flight:
            self._shed(cycle, head)
            return
        self._is_busy = True
        self._running = cycle
        cycle.keep_alive = head.keep_alive and not self._closes_next()
        self._start_asgi_task(cycle, self.app)

    def on_response_complete(self) -> None:
        self._state.total_requests += 1
        self._is_busy = False
        self._running = None
        self._advance()

    def _shed(self, cycle: RequestResponseCycle, head: RequestHead) -> None:
        """Respond that there is no room. The connection stays usable, and the rest of the body is discarded."""
        self._state.shed += 1
        cycle.response_started = cycle.response_complete = True
        if cycle.waiting_for_100_continue:
            # As in `RequestCycle`.
            head = msgspec.structs.replace(head, keep_alive=False)
        self._answer(fast_functions.OVERLOADED, head)

    # Rejection: all later data of this connection is ignored.

    def _refuse(self, refusal: RequestRefusal) -> None:
        self._is_stopped = True
        self._deadline = inf
        self._state.count_refusal(refusal.code)
        cycle = self.cycle if self._phase == BODY else None
        if cycle is not None and cycle.response_started:
            disconnect(cycle)
            self.transport.close()
            return
        if cycle is not None:
            self._withdraw(cycle)
        self.flow.pause_reading()
        self._enter(partial(self._send_refusal, refusal))

    def _withdraw(self, cycle: RequestResponseCycle) -> None:
        """Take a request with a malformed body away from its handler, so that the rejection is sent in order."""
        disconnect(cycle)
        if cycle is self._running:
            self._running = None
            self._is_busy = False
        else:
            self._waiting.pop()

    def _send_refusal(self, refusal: RequestRefusal) -> None:
        if self.transport.is_closing():
            return
        reply = fast_functions.refusal_reply(refusal.status, refusal.code, self.url)
        self.transport.write(encode_reply(reply, self._state.date_line, with_body=True, keep_alive=False))
        self._linger()
