"""The first diagnosis of a site that does not respond: TLS, DNS, port, protocol, or a slow application."""

from agentgate_tools.doctor.asking import Site
from agentgate_tools.doctor.checks import OWN_SCRIPT
from agentgate_tools.doctor.findings import Finding, failed

CHAIN = "self-signed certificate in certificate chain"
# Words of OpenSSL's errors, the diagnosis and the fix; the first that fits.
TLS = (
    (("has expired",), "the certificate has expired", "Renew it: certbot renew, then reload the proxy."),
    (
        ("not yet valid",),
        "the certificate is not valid yet, or this machine's clock is behind",
        "Set the clocks of this machine and of the certificate's: timedatectl set-ntp true",
    ),
    (
        ("mismatch",),
        "the certificate is not for {site.host}",
        "Get one for this name, and name its files in the adapter: certbot certonly -d {site.host}",
    ),
    (
        ("unable to get", CHAIN),
        "the certificate's chain is incomplete, or its authority is unknown",
        "Name the chain's file (fullchain.pem) in the adapter: openssl s_client -connect {site.host}:{site.port}",
    ),
    (
        ("self-signed",),
        "the certificate is self-signed",
        "Get one of a public authority: certbot certonly -d {site.host}",
    ),
    (
        ("WRONG_VERSION_NUMBER", "RECORD_LAYER"),
        "port {site.port} does not speak TLS",
        "Let the proxy speak TLS there: agentgate protect https://{site.host} prints its file with TLS",
    ),
)


def explain_silence(site: Site, silent: str) -> Finding:
    """Return the cause of a missing response, and the command that fixes it."""
    if "SSL" in silent:
        return _tls(site, silent)
    if "Timeout" in silent and (script := site.try_asking("GET", OWN_SCRIPT)) is not None and script.is_script:
        found = "AgentGate responds, and the application does not within 10 s"
        return failed(
            "application", found, f"Restart the application, and read its log: curl -v {site.origin}{site.path}"
        )
    if "gaierror" in silent:
        fix = f"Add {site.host} to the DNS: getent hosts {site.host}"
    elif "Refused" in silent:
        fix = f"Start the proxy; nothing listens on port {site.port}: ss -ltn sport = :{site.port}"
    elif "BadStatusLine" in silent or "UnknownProtocol" in silent or "LineTooLong" in silent:
        fix = f"The port does not speak HTTP/1.1. Use the other scheme, or enable HTTP/1.1: curl -v {site.origin}/"
    else:
        fix = f"Check the address, the firewall and the proxy's log: curl -v {site.origin}/"
    return failed("reachable", f"no response: {silent}", fix)


def _tls(site: Site, silent: str) -> Finding:
    for words, found, fix in TLS:
        if any(each in silent for each in words):
            return failed("tls", found.format(site=site), fix.format(site=site))
    fix = f"Install a certificate for {site.host} with its whole chain: certbot certonly -d {site.host}"
    return failed("tls", f"no TLS connection: {silent}", fix)
