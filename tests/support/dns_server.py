"""A small DNS server on the loopback, with the records that a test gives it. It can be silent, slow or wrong."""

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Iterator
from ipaddress import ip_address

PTR, A, AAAA = 12, 1, 28


class DnsServer:
    """Answers questions over UDP from `records`: (name, type) -> values."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self.port = int(self._socket.getsockname()[1])
        self.records: dict[tuple[str, int], list[str]] = {}
        self.asked: list[str] = []
        # The response code for everything, if it is set; and whether to send no response.
        self.code: int | None = None
        self.silent = False
        self.delay_s = 0.0
        # Bytes that are sent before the response, as if from another sender.
        self.noise: list[bytes] = []
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def point(self, address: str, name: str, *, back: bool = True) -> None:
        """Give an address a name, and, with `back`, the name that address."""
        self.records[ip_address(address).reverse_pointer, PTR] = [name]
        if back:
            self.records[name, AAAA if ":" in address else A] = [address]

    def close(self) -> None:
        """Stop."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as last:
            last.sendto(b"", ("127.0.0.1", self.port))
        self._thread.join(5)
        self._socket.close()

    def _serve(self) -> None:
        while True:
            question, peer = self._socket.recvfrom(2048)
            if not question:
                return
            if self.delay_s:
                time.sleep(self.delay_s)
            for noise in self.noise:
                self._socket.sendto(noise, peer)
            if not self.silent:
                self._socket.sendto(self._answer(question), peer)

    def _answer(self, question: bytes) -> bytes:
        place, labels = 12, []
        while question[place]:
            labels.append(question[place + 1 : place + 1 + question[place]].decode())
            place += 1 + question[place]
        name, kind = ".".join(labels).lower(), struct.unpack_from("!H", question, place + 1)[0]
        self.asked.append(name)
        values = self.records.get((name, kind))
        code = self.code if self.code is not None else (3 if values is None else 0)
        values = values if values is not None and not code else []
        head = question[:2] + struct.pack("!5H", 0x8180 | code, 1, len(values), 0, 0)
        return head + question[12 : place + 5] + b"".join(_record(kind, value) for value in values)


def _record(kind: int, value: str) -> bytes:
    # 0xC00C points back to the name in the question.
    content = b"".join(bytes([len(label)]) + label.encode() for label in value.split(".")) + b"\0"
    if kind != PTR:
        content = ip_address(value).packed
    return struct.pack("!HHHIH", 0xC00C, kind, 1, 300, len(content)) + content


@contextlib.contextmanager
def dns_server() -> Iterator[DnsServer]:
    """Run a server."""
    server = DnsServer()
    try:
        yield server
    finally:
        server.close()
