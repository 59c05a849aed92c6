"""The same signed request over many connections at once."""

import http.client
import threading
from collections import Counter
from urllib.parse import urlsplit

REPLAYS = 64


def send_at_once(url, headers, body):
    """Send the same request over as many connections, all of which are open before the first one is used."""
    parts = urlsplit(url)
    connections = [http.client.HTTPConnection(parts.hostname, parts.port, timeout=20) for _ in range(REPLAYS)]
    for connection in connections:
        connection.connect()
    barrier, statuses = threading.Barrier(REPLAYS), Counter()

    def send(connection):
        barrier.wait()
        connection.request("POST", parts.path, body, headers)
        statuses[connection.getresponse().status] += 1
        connection.close()

    threads = [threading.Thread(target=send, args=(connection,)) for connection in connections]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return dict(statuses)
