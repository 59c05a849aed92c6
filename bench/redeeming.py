"""A client that redeems prepared tokens as fast as it can. It runs as a program of its own, beside what it measures.

`python -m bench.redeeming HOST PORT CONNECTIONS FILE`: the file holds requests, each after its length in four bytes.
"""

import json
import selectors
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path


def siteverify_request(secret: str, token: str, request_id: str | None) -> bytes:
    """Return a call of siteverify as bytes."""
    fields = {"token": token, "expectedAction": "login", "expectedOrigin": "https://shop.example"}
    payload = json.dumps(fields if request_id is None else {**fields, "requestId": request_id}).encode()
    head = (
        "POST /v1/siteverify HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {secret}\r\nContent-Length: {len(payload)}\r\n\r\n"
    )
    return head.encode() + payload


def write_requests(path: Path, requests: Iterator[bytes]) -> None:
    """Write the file that the client reads."""
    with path.open("wb") as file:
        for each in requests:
            file.write(len(each).to_bytes(4, "big") + each)


def main(host: str, port: str, connections: str, path: str) -> None:
    """Send every request once, always one on each connection, and print how it went."""
    requests = iter(list(read_requests(Path(path).read_bytes())))
    statuses: dict[int, int] = {}
    with selectors.DefaultSelector() as selector:
        sockets = [socket.create_connection((host, int(port))) for _ in range(int(connections))]
        began_s = time.monotonic()
        for each, data in zip(sockets, requests, strict=False):
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            each.sendall(data)
            selector.register(each, selectors.EVENT_READ)
        while selector.get_map():
            for key, _ in selector.select():
                status = _receive(key.fileobj)
                statuses[status] = statuses.get(status, 0) + 1
                following = next(requests, None)
                if following is None:
                    selector.unregister(key.fileobj)
                else:
                    key.fileobj.sendall(following)
        print(json.dumps({"seconds": time.monotonic() - began_s, "statuses": statuses}))
        for each in sockets:
            each.close()


def _receive(connection: socket.socket) -> int:
    received = connection.recv(65536)
    while (end := received.find(b"\r\n\r\n")) < 0:
        received += connection.recv(65536)
    start = received.find(b"content-length: ") + 16
    length = int(received[start : received.find(b"\r\n", start)])
    while len(received) < end + 4 + length:
        received += connection.recv(65536)
    return int(received[9:12])


def read_requests(data: bytes) -> Iterator[bytes]:
    """Yield the requests of such a file."""
    at = 0
    while at < len(data):
        length = int.from_bytes(data[at : at + 4], "big")
        yield data[at + 4 : at + 4 + length]
        at += 4 + length


if __name__ == "__main__":
    main(*sys.argv[1:])
