"""TLS between visitors and a proxy: its lines, the redirect from HTTP, and the certificates of this machine."""

import re
from collections.abc import Iterator
from pathlib import Path

from cryptography import x509
from msgspec import Struct

# Paths of certbot while it renews a certificate: nginx and Apache serve its files, HAProxy forwards to its port.
ACME_PATH, ACME_ROOT, ACME_PORT = "/.well-known/acme-challenge/", "/var/www/html", 8888
# Files of certificates and keys, as certbot, dehydrated, lego, acme.sh and people put them.
PLACES = (
    ("etc/letsencrypt/live/*/fullchain.pem", "privkey.pem"),
    ("var/lib/dehydrated/certs/*/fullchain.pem", "privkey.pem"),
    ("var/lib/acme/*/fullchain", "privkey"),
    ("root/.acme.sh/*/fullchain.cer", "{folder}.key"),
    ("etc/ssl/*/fullchain.pem", "privkey.pem"),
    ("etc/ssl/certs/*.pem", "../private/{name}.key"),
    ("etc/ssl/certs/*.crt", "../private/{name}.key"),
    ("etc/ssl/certs/*.crt", "../private/{name}.pem"),
    ("etc/nginx/ssl/*.crt", "{name}.key"),
    ("etc/nginx/ssl/*.pem", "{name}.key"),
    ("etc/haproxy/certs/*.pem", "{name}.pem"),
)


class Certificate(Struct, frozen=True, kw_only=True):
    """The files of a certificate with its chain, and of its key. HAProxy has both in one file."""

    chain: str
    key: str


def usual_place(proxy: str, host: str) -> Certificate:
    """Return where a certificate belongs if there is none yet."""
    if proxy == "haproxy":
        return Certificate(chain=f"/etc/haproxy/certs/{host}.pem", key=f"/etc/haproxy/certs/{host}.pem")
    folder = f"/etc/letsencrypt/live/{host}"
    return Certificate(chain=f"{folder}/fullchain.pem", key=f"{folder}/privkey.pem")


def find_certificate(proxy: str, host: str, root: Path = Path("/")) -> Certificate | None:
    """Return the certificate of a host on this machine that is valid the longest; None without one."""
    found = [
        (until, Certificate(chain=str(chain), key=str(key)))
        for chain, key in _candidates(root)
        if (key == chain or proxy != "haproxy") and (until := _valid_until(chain, host))
    ]
    return max(found, key=lambda each: each[0])[1] if found else None


def _candidates(root: Path) -> Iterator[tuple[Path, Path]]:
    for pattern, key_name in PLACES:
        for chain in sorted(root.glob(pattern)):
            name = key_name.format(folder=chain.parent.name.removesuffix("_ecc"), name=chain.stem)
            key = (chain.parent / name).resolve() if ".." in name else chain.parent / name
            if key.exists():
                yield chain, key


def _valid_until(chain: Path, host: str) -> float:
    """Return the end of a certificate as seconds since 1970; 0 if it is not one of the host."""
    try:
        leaf = x509.load_pem_x509_certificates(chain.read_bytes())[0]
        names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (OSError, ValueError, IndexError, x509.ExtensionNotFound):
        return 0.0
    of_any = f"*.{host.partition('.')[2]}"
    if not {host, of_any} & set(names.get_values_for_type(x509.DNSName)):
        return 0.0
    return leaf.not_valid_after_utc.timestamp()


def listen_words(proxy: str, certificate: Certificate) -> str:
    """Return what follows the address on which a proxy listens."""
    if proxy == "nginx":
        return " ssl http2"
    return f" ssl crt {certificate.chain} alpn h2,http/1.1 ssl-min-ver TLSv1.2" if proxy == "haproxy" else ""


def server_lines(proxy: str, certificate: Certificate) -> list[str]:
    """Return the lines of the server's block."""
    if proxy == "nginx":
        return [
            f"ssl_certificate     {certificate.chain};",
            f"ssl_certificate_key {certificate.key};",
            "ssl_protocols TLSv1.2 TLSv1.3; ssl_session_cache shared:agentgate:10m;",
        ]
    if proxy == "apache":
        return [
            "SSLEngine on",
            f"SSLCertificateFile    {certificate.chain}",
            f"SSLCertificateKeyFile {certificate.key}",
            "SSLProtocol -all +TLSv1.2 +TLSv1.3",
        ]
    return []


def redirect_lines(proxy: str, name: str, host: str, origin: str) -> list[str]:
    """Return the server on port 80, which redirects to the origin and lets certbot renew the certificate."""
    if proxy == "nginx":
        return [
            "server {",
            "    listen 80;",
            f"    server_name {host};",
            f"    location {ACME_PATH} {{ root {ACME_ROOT}; }}    # certbot certonly --webroot -w {ACME_ROOT}",
            f"    location / {{ return 301 {origin}$request_uri; }}",
            "}",
        ]
    if proxy == "apache":
        return [
            "<VirtualHost *:80>",
            f"    ServerName {host}",
            f"    DocumentRoot {ACME_ROOT}",
            f"    # Other than the files of: certbot certonly --webroot -w {ACME_ROOT}",
            f'    RedirectMatch permanent "^/(?!{re.escape(ACME_PATH[1:])})(.*)" "{origin}/$1"',
            "</VirtualHost>",
        ]
    if proxy == "haproxy":
        return [
            f"frontend {name}-http from agentgate_{name}",
            "    bind :80",
            f"    http-request redirect prefix {origin} code 301 unless {{ path_beg {ACME_PATH} }}",
            f"    default_backend {name}-certbot",
            f"backend {name}-certbot from agentgate_{name}",
            f"    server certbot 127.0.0.1:{ACME_PORT}    # certbot certonly --standalone --http-01-port {ACME_PORT}",
        ]
    return []
