"""The TLS handshake's fingerprint through the printed adapter of Envoy, the one proxy that makes one by itself."""

import copy
import dataclasses
import http.client
import ssl
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import yaml

from agentgate.decision.signals.detectors.tls import JA4
from tests.proxies.running import running_proxy
from tests.proxies.visiting import Installed
from tests.support.http_receiver import make_certificate

TLS = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext"
FORGED = "t13d1516h2_8daaf6152771_e5627efa2ab1"


def with_tls(text: str, certificate: Path) -> str:
    """Return Envoy's configuration with a second way in, by TLS on the same port."""
    both = {"inline_string": certificate.read_text()}
    pair = {"certificate_chain": both, "private_key": both}
    values = yaml.safe_load(text)
    chains = values["static_resources"]["listeners"][0]["filter_chains"]
    secure = copy.deepcopy(chains[0])
    secure["filter_chain_match"] = {"transport_protocol": "tls"}
    context = {"@type": TLS, "common_tls_context": {"tls_certificates": [pair]}}
    secure["transport_socket"] = {"name": "envoy.transport_sockets.tls", "typed_config": context}
    chains.append(secure)
    return str(yaml.safe_dump(values))


@pytest.fixture
def secure(site: Installed, tmp_path: Path) -> Iterator[Installed]:
    _, certificate = make_certificate(tmp_path, "shop.example")
    with running_proxy("envoy", site.installation, change=lambda text: with_tls(text, certificate)) as port:
        yield dataclasses.replace(site, proxy="envoy", port=port)


def test_envoy_passes_on_the_fingerprint_that_it_saw_and_no_other(secure: Installed) -> None:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    connection = http.client.HTTPSConnection("127.0.0.1", secure.port, context=context, timeout=20)

    with closing(connection):
        connection.request("GET", "/page", headers={"Host": "shop.example", "X-JA4": FORGED})
        connection.getresponse().read()

    fingerprint = described(secure)
    assert JA4.match(fingerprint)
    assert fingerprint != FORGED


def test_without_tls_there_is_no_fingerprint(secure: Installed) -> None:
    secure.visit("GET", "/page", headers=[("X-JA4", FORGED)])

    assert not JA4.match(described(secure))


def described(installed: Installed) -> str:
    """Return the fingerprint in the adapter's description."""
    (line,) = installed.tap.checks()[-1].all("x-agentgate-request")
    [fingerprint] = [part.removeprefix("ja4=") for part in line.split(" ") if part.startswith("ja4=")]
    return fingerprint
