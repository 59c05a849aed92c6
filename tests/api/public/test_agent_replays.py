"""One signed request, sent 64 times at once: one is accepted, on either store."""

import http.client
import json
import threading
from collections import Counter
from urllib.parse import urlsplit

from tests.support.agent_client import SigningAgent
from tests.support.browser_client import create_site

REPLAYS = 64


def test_of_64_parallel_replays_of_a_submission_one_is_accepted(service):
    agent = SigningAgent()
    site_key = create_site(service, actions={"contact": {"browserRequired": False}})
    policy = {"agents": {agent.url: {"decision": "allow", "jwks": agent.jwks}}}
    assert service.operator.put(f"/v1/admin/sites/{site_key}/agent-policy", json=policy).status_code == 200

    body = json.dumps({"siteKey": site_key, "action": "contact", "id": "one", "content": "Hello."}).encode()
    url = f"{service.public_url}/agent/submit"
    typed = {"content-type": "application/json"}
    signed = agent.headers("POST", url, body=body, headers=typed, created=service.clock.now_ms() // 1000)

    assert send_at_once(url, signed, body) == {200: 1, 401: REPLAYS - 1}


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
