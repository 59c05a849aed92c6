"""The servers of nginx's configuration, and of lists."""

import pytest

from agentgate_tools.adapters.servers import ServersRefused, read_servers
from agentgate_tools.commands.remote.fleet import make_plan

DUMP = r"""
# configuration file /etc/nginx/nginx.conf:
user www-data;
http {
    map $http_host $x { default "server { server_name no.example; }"; }
    # server { listen 80; server_name commented.example; }
    upstream backend { server 127.0.0.1:3000; }
    server { listen 80 default_server; server_name _; return 444; }
    server { listen 80; listen [::]:80; server_name a.example www.a.example; return 301 https://$host$request_uri; }
    server {
        listen 443 ssl;
        listen [::]:443 ssl;
        server_name A.example
                    www.a.example *.a.example;
        location ~ ^/x{2}$ { add_header X "}"; }
    }
    server { listen 127.0.0.1:8443 ssl; server_name "b.example"; }
    server { listen 8080; server_name c.example; }
    server { server_name d.example; }
    server { listen 80; server_name old.d.example; return 301 http://d.example; }
    server { listen 80; server_name ~^(?<user>.+)\.example$; }
    server { listen 80; server_name *.wild.example; }
    server { listen 80; }
}
"""


def test_servers_of_nginx_are_found_with_their_names_and_addresses() -> None:
    assert [server.origins for server in read_servers(DUMP)] == [
        ("https://a.example", "https://www.a.example"),
        ("https://b.example:8443",),
        ("http://c.example:8080",),
        ("http://d.example",),
        ("http://old.d.example",),
    ]


def test_a_redirect_from_another_first_name_needs_no_site() -> None:
    text = "server { server_name www.a.example; } server { listen 443 ssl; server_name a.example www.a.example; }"

    assert [server.origins for server in read_servers(text)] == [("https://a.example", "https://www.a.example")]


def test_a_list_has_an_address_in_each_line() -> None:
    found = read_servers("a.example  # the shop\n\nhttp://b.example:8080\n")

    assert [server.origins for server in found] == [("https://a.example",), ("http://b.example:8080",)]


@pytest.mark.parametrize("text", ["", "# nothing\n", "server { server_name _; }", "a b.example\n", "https://x/path\n"])
def test_a_text_without_servers_is_rejected(text: str) -> None:
    with pytest.raises(ServersRefused):
        read_servers(text)


def test_two_servers_with_one_host_are_rejected() -> None:
    text = "server { server_name a.example x.example; } server { server_name b.example x.example; }"

    with pytest.raises(ServersRefused, match=r"a\.example and the server b\.example have the same host"):
        make_plan(read_servers(text), [])


def test_two_sites_with_one_host_are_rejected() -> None:
    sites = [{"siteKey": key, "allowedOrigins": ["https://a.example"]} for key in ("site_one1", "site_two2")]

    with pytest.raises(ServersRefused, match=r"site_one1 and site_two2 both have a\.example"):
        make_plan(read_servers("b.example"), sites)


def test_a_server_of_two_sites_is_rejected() -> None:
    sites = [
        {"siteKey": "site_one1", "allowedOrigins": ["https://a.example"]},
        {"siteKey": "site_two2", "allowedOrigins": ["https://b.example"]},
    ]

    with pytest.raises(ServersRefused, match="hosts of several sites"):
        make_plan(read_servers("server { server_name a.example b.example; }"), sites)
