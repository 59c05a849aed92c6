"""TLS between a proxy and the service: the lines that each proxy needs to verify the service's certificate."""

# The file of Debian, Alpine and Arch with the authorities that the system trusts.
SYSTEM_AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt"


# Apache's Lua does not support TLS: it calls Apache itself on the loopback, which calls the service.
APACHE_TUNNEL = ("127.0.0.1", 9192)


def tls_lines(proxy: str, name: str, port: int, authorities: str) -> list[str]:
    """Return the lines with which a proxy requests the service's name and verifies its certificate."""
    if proxy == "apache":
        return _apache(name, port, authorities)
    lines = {"nginx": _nginx, "caddy": _caddy, "haproxy": _haproxy, "traefik": _traefik, "envoy": _envoy}
    return lines[proxy](name, authorities)


def _nginx(name: str, authorities: str) -> list[str]:
    return [
        "proxy_ssl_verify on;",
        "proxy_ssl_verify_depth 3;",
        "proxy_ssl_server_name on;",
        f"proxy_ssl_name {name};",
        f"proxy_ssl_trusted_certificate {authorities};",
    ]


def _caddy(name: str, authorities: str) -> list[str]:
    return [f"tls_server_name {name}", f"tls_trusted_ca_certs {authorities}"]


def _haproxy(name: str, authorities: str) -> list[str]:
    return [f"ssl verify required ca-file {authorities} sni str({name}) verifyhost {name}"]


def _apache(name: str, port: int, authorities: str) -> list[str]:
    address = ":".join(map(str, APACHE_TUNNEL))
    host = f"[{name}]:{port}" if ":" in name else f"{name}:{port}"
    return [
        "",
        "# Forwards from agentgate.lua to AgentGate over TLS, on this machine only; requires: a2enmod ssl",
        "# Once for all sites that use the same AgentGate.",
        "<IfDefine !agentgate_tls>",
        "Define agentgate_tls",
        f"Listen {address}",
        f"<VirtualHost {address}>",
        "    AllowEncodedSlashes NoDecode",
        "    MergeSlashes Off",
        "    ProxyPreserveHost Off",
        "    ProxyAddHeaders Off",
        "    SSLProxyEngine On",
        "    SSLProxyVerify require",
        "    SSLProxyVerifyDepth 3",
        "    SSLProxyCheckPeerName On",
        f"    SSLProxyCACertificateFile {authorities}",
        "    # AgentGate closes a connection that was idle for five seconds.",
        f'    ProxyPass "/" "https://{host}/" nocanon connectiontimeout=1 timeout=60 ttl=3',
        "</VirtualHost>",
        "</IfDefine>",
    ]


def _traefik(name: str, authorities: str) -> list[str]:
    return [f'serverName: "{name}"', "rootCAs:", f'  - "{authorities}"']


def _envoy(name: str, authorities: str) -> list[str]:
    return [
        "transport_socket:",
        "  name: envoy.transport_sockets.tls",
        "  typed_config:",
        '    "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext',
        f'    sni: "{name}"',
        "    common_tls_context:",
        "      validation_context:",
        f'        trusted_ca: {{ filename: "{authorities}" }}',
        "        match_typed_subject_alt_names:",
        f'          - {{ san_type: DNS, matcher: {{ exact: "{name}" }} }}',
    ]
