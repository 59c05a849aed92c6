"""A page for people while AgentGate is away, for Traefik: it has none of its own, so one of the site's is shown."""


def down_page_lines(site: str, path: str) -> dict[str, list[str]]:
    """Return the lines by the place where they stand. The site is asked for this page alone, without the secret."""
    return {
        "DOWN_ROUTER": [
            f"agentgate-{site}-down-page:",
            "  entryPoints: [agentgate]",
            f'  rule: "Path(`/{site}/page`)"',
            "  priority: 100000",
            "  middlewares:",
            f"    - agentgate-{site}-later",
            f"    - agentgate-{site}-clear",
            f"    - agentgate-{site}-anybody",
            f"    - agentgate-{site}-page",
            f"  service: protected-{site}",
        ],
        "DOWN_MIDDLEWARES": [
            "# For people, a page of the site's own: it is asked for in nobody's name.",
            f"agentgate-{site}-down-page:",
            "  errors:",
            '    status: ["300-400", "402", "404-599"]',
            "    statusRewrites:",
            '      "300-599": 503',
            f"    service: agentgate-{site}-away",
            f'    query: "/{site}/page"',
            f"agentgate-{site}-anybody:",
            "  headers:",
            "    customRequestHeaders:",
            '      Authorization: ""',
            '      Cookie: ""',
            f"agentgate-{site}-page:",
            "  replacePath:",
            f'    path: "{path}"',
        ],
    }
