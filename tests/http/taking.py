"""A fast function that takes requests, and what it saw."""

from agentgate.http.connection.fast_functions import HotReply, HotRequest, write_around

READ = HotReply(200, [(b"x-how", b"read")], b"hot")

WRITTEN = HotReply(200, [], b"hot", b"x-how: taken\r\n")


class Taking:
    """A hot function that takes every head as it arrives."""

    def __init__(self, reply: HotReply = WRITTEN) -> None:
        start, end = write_around(reply)
        self.reply = start, reply.written + end

    def __call__(self, _: HotRequest) -> HotReply:
        return READ

    def take(self, data: bytes) -> tuple[bytes, bytes] | None:
        return None if b"x-parse-me" in data else self.reply
