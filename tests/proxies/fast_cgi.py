"""A FastCGI server in the place of PHP-FPM."""

import contextlib
import json
import socket
import struct
import threading

BEGIN, PARAMS, STDIN, STDOUT, END = 1, 4, 5, 6, 3


class FastCgi(threading.Thread):
    """A FastCGI server, like PHP-FPM behind nginx. It returns the parameters of each request."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]

    def run(self) -> None:
        """Serve requests until the socket is closed."""
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                with connection, connection.makefile("rwb") as stream:
                    given = b""
                    while True:
                        _, kind, number, length, padding, _ = struct.unpack(">BBHHBB", stream.read(8))
                        content = stream.read(length)
                        stream.read(padding)
                        given += content if kind == PARAMS else b""
                        if kind == STDIN and not length:
                            break
                    body = b"Content-Type: application/json\r\n\r\n" + json.dumps(pairs(given)).encode()
                    stream.write(struct.pack(">BBHHBB", 1, STDOUT, number, len(body), 0, 0) + body)
                    stream.write(struct.pack(">BBHHBB", 1, END, number, 8, 0, 0) + bytes(8))


def pairs(given: bytes) -> dict[str, str]:
    """Return the names and values of FastCGI's parameters."""
    found, at = {}, 0
    while at < len(given):
        sizes = []
        for _ in range(2):
            if given[at] < 128:
                sizes.append(given[at])
                at += 1
            else:
                sizes.append(struct.unpack_from(">I", given, at)[0] & 0x7FFFFFFF)
                at += 4
        name, value = given[at : at + sizes[0]], given[at + sizes[0] : at + sum(sizes)]
        found[name.decode()] = value.decode()
        at += sum(sizes)
    return found
