"""nginx for servers that run PHP-FPM or files themselves: the whole configuration, cut into parts to include.

They are cut from the text of the whole one, so that both ask, clear and answer alike.
"""

import re

HTTP, SERVER, LOCATION = "agentgate-http.conf", "agentgate-server.conf", "agentgate-location.conf"
SNIPPETS = (HTTP, SERVER, LOCATION)

_SITE_UPSTREAM = re.compile(r"# Your own site,[^\n]*\nupstream protected_.*?\n}\n", re.DOTALL)
_LOCATION = re.compile(
    r"(?:^    #[^\n]*\n)*^    location (?P<place>[^\n{]+) \{(?: [^\n]*\}|.*?^    \})\n", re.DOTALL | re.MULTILINE
)
# What nginx inherits into a location; in a server of somebody else's it would reach their own locations too.
_INHERITED = re.compile(r"^    (?:(?:proxy_|add_header |default_type )[^\n]*)\n", re.MULTILINE)

_HEADS = {
    HTTP: "# AgentGate for a server of your own, 1 of 3: include it in http {{}}, beside conf.d. {title}\n",
    SERVER: "# AgentGate for a server of your own, 2 of 3: include it in your server {{}}. {title}\n",
    LOCATION: (
        "# AgentGate for a server of your own, 3 of 3: include it in each location {{}} that is to be protected,\n"
        "# also in those with fastcgi_pass. A location without it is not. {title}\n"
    ),
}
_HOST_CHECK = re.compile(r"^    if \(\$agentgate_host.*?^    \}\n", re.DOTALL | re.MULTILINE)
# PHP reads a visitor's headers as HTTP_*: what is set here takes the place of what came.
_FASTCGI = """fastcgi_param HTTP_X_SERVICE_DECISION $agentgate_decision;
fastcgi_param HTTP_X_SERVICE_DECISION_ID $agentgate_decision_id;
fastcgi_param HTTP_X_SERVICE_REASON "";
fastcgi_param HTTP_X_AGENTGATE_SECRET "";
fastcgi_param HTTP_X_ORIGINAL_URL "";
fastcgi_param HTTP_X_REWRITE_URL "";
"""


def snippet(name: str, whole: str) -> str:
    """Return one part of nginx's configuration."""
    before, _, server = whole.partition("\nserver {\n")
    title = f"({before.partition(',')[0].removeprefix('# AgentGate in front of ')})"
    head = _HEADS[name].format(title=title)
    if name == HTTP:
        return head + _SITE_UPSTREAM.sub("", before.partition("\n\n")[2]) + "\n"
    locations = list(_LOCATION.finditer(server))
    inherited = "".join(_INHERITED.findall(_LOCATION.sub("", server)))
    if name == LOCATION:
        [site] = [match for match in locations if match["place"] == "/"]
        asked = re.findall(
            r"^        ((?:auth_request|error_page|recursive_error_pages)[^\n]*\n)", site[0], re.MULTILINE
        )
        told = re.findall(r"^    (add_header [^\n]*\n)", inherited, re.MULTILINE)
        return head + "".join(asked) + "".join(told) + _FASTCGI
    parts = [match[0] for match in _HOST_CHECK.finditer(server)]
    parts += [_with(match[0], inherited) for match in locations if match["place"] != "/"]
    return head + re.sub(r"^    ", "", "\n".join(parts), flags=re.MULTILINE)


def _with(location: str, inherited: str) -> str:
    """Put what a location inherits into it, as far as it says nothing of the kind itself."""
    first, opened, rest = location.partition(" {")
    own = {
        kind for kind in ("add_header", "default_type", "proxy_read_timeout", "proxy_hide_header") if f"{kind} " in rest
    }
    asks = "proxy_pass " in rest
    kept = [
        line
        for line in inherited.splitlines()
        if line.split()[0] not in own and (asks or not line.strip().startswith("proxy_"))
    ]
    if not rest.startswith("\n"):
        rest = re.sub(r" (.+) \}\n", r"\n        \1\n    }\n", rest)
    return first + opened + "".join(f"\n    {line}" for line in kept) + rest
