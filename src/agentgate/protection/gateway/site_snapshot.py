"""SiteSnapshot: a site's part of the snapshot. What is cached for a site has it in its key."""

from agentgate.protection.sites.directory import SiteView


class SiteSnapshot:
    """One site as checks see it."""

    __slots__ = ("cookie_name", "key", "view")

    def __init__(self, view: SiteView, cookie_name: str) -> None:
        self.view = view
        self.key = view.site_key.encode()
        self.cookie_name = cookie_name.encode()
