"""Sites as they go over the wire."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, NamedTuple, Protocol

from msgspec import UNSET, Meta, UnsetType, field

from agentgate.lib.enums import (
    AiPurpose,
    AiUseChoice,
    Assistants,
    LoadState,
    Mode,
    SiteHealthStatus,
    TokenBinding,
    WholeSiteWhen,
    WidgetMode,
)
from agentgate.lib.limits import CUSTOMERS_QUERY_CHARACTERS, LIST_PAGE
from agentgate.lib.moment import Moment
from agentgate.lib.records import Input, Query, Record, SiteKey
from agentgate.people.audit.records import ConfigChange
from agentgate.sites.credentials.records import Credential
from agentgate.sites.rules.records import RulesSummary

ROBOTS_CHARACTERS = 32_768


class SiteAction(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An action of a site, with its browser check."""

    browser_required: bool
    clearance: bool | UnsetType = UNSET
    require_content_digest: bool | UnsetType = UNSET


class SiteRoute(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Protected requests and their action. Exactly one of `path` and `pathPrefix` is given."""

    method: str
    action: str
    path: str | UnsetType = UNSET
    path_prefix: str | UnsetType = UNSET


class SiteOpenPath(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A path that AgentGate allows for one sender, independent of routes and rules. A `path` that ends in `/*` includes
    everything below it.

    `sender` is the name of a known service (`stripe`), an address or network (`203.0.113.0/24`), `programs`,
    `name:NAME`, or `anyone`. `programs` are all senders that are not browsers; they share `perMinute` requests
    (default: 60). `name:feedly` is every program with this name; they share `perMinute` requests (default: 20), and no
    route that names the path is open to them. Default method: all.
    """

    path: str
    sender: str
    method: str | UnsetType = UNSET
    # `open_paths` checks the exact range and explains it.
    per_minute: Annotated[int, Meta(ge=0, le=1_000_000)] | UnsetType = UNSET
    note: str | UnsetType = UNSET


class SiteTokenIssuer(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An issuer of private tokens (Privacy Pass, type 2) that the site trusts.

    `tokenKey` is the issuer's `token-key` in base64url. Default: AgentGate reads the keys from the issuer's directory.
    """

    name: str
    token_key: str | UnsetType = UNSET


class TokenIssuerStatus(Record, frozen=True, kw_only=True):
    """An issuer whose keys come from its directory: the number of keys in use, when the directory was last read, and
    why the last attempt failed."""

    name: str
    keys: int
    read_at: Moment | UnsetType = UNSET
    problem: str | UnsetType = UNSET


class SiteAiUse(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What verified AI operators and agents may use the site for. `price` is for the uses that are `price`."""

    search: AiUseChoice = AiUseChoice.ALLOW
    agent: AiUseChoice = AiUseChoice.ALLOW
    training: AiUseChoice = AiUseChoice.BLOCK
    price: Annotated[str, Meta(max_length=17)] | UnsetType = UNSET

    def choices(self) -> dict[AiPurpose, AiUseChoice]:
        """Return the setting of each purpose."""
        return {
            AiPurpose.SEARCH: self.search,
            AiPurpose.AGENT: self.agent,
            AiPurpose.TRAINING: self.training,
        }


class SiteLoad(Record, frozen=True, kw_only=True):
    """The present or last time in which a site had far more page loads than usual.

    It began at `since`; after `until`, `state` is `normal`. `pagesPerMinute` counts page loads without a clearance, at
    most five of an address: the highest rate until the last change. `usualPerMinute` is the median of the same hours.
    """

    state: LoadState
    since: Moment
    until: Moment | UnsetType = UNSET
    pages_per_minute: int
    usual_per_minute: int


class Site(Record, frozen=True, kw_only=True):
    """A protected site.

    `feeds` are paths, with their exact query if they have one, that stay open under `wholeSite` and a route `/*`.
    Default: six names at the root such as `/feed` and `/rss.xml`. With `formMethodOverride` a POST of a form or of JSON
    could have any method, by its field `_method`. With `clearanceWithoutScript` visitors without JavaScript get a
    clearance of the lowest level for waiting. With `wholeSite` every client needs a clearance or a proven identity;
    with `wholeSiteWhen` `busy` only while `load` is `busy` or `flood`. Until `underAttackUntil` both labels apply, and
    whole-site protection regardless of these settings.
    `wantedPrograms` are allowed from any address: `feeds`, `podcasts`, `monitors`, `previews`, `webhooks`, or a
    program's name. `tokenBinding` defines which visitors may redeem a token: visitors from the `network` that earned
    it, only visitors that can be compared with it (`strict`), or any visitor that has the token (`none`). With
    `suggestions`, masked paths of blocked programs are collected for the owner. With `blockFeed`, addresses of scanners
    are kept in memory for the owner's firewall. With `decoys`, a client that opens a link that no person sees has the
    label `decoy.touched` for an hour. `aiUse` is absent on sites that have not decided: AI operators and agents are
    then treated by the other rules. `machineTokensPerHour` limits the browser
    checks of one kind of computer per hour, from all networks together, without an interactive challenge; 0 counts by
    its networks. `assistants` decides on browsers with a window that a driver controls openly. `robotsTxt` is the
    owner's part of the file at `/v1/sites/{siteKey}/robots.txt`.
    """

    id: str
    customer_id: str
    site_key: SiteKey
    name: str
    allowed_origins: list[str]
    mode: Mode
    widget_mode: WidgetMode
    actions: dict[str, SiteAction]
    routes: list[SiteRoute]
    form_method_override: bool
    clearance_without_script: bool
    whole_site: bool = False
    whole_site_when: WholeSiteWhen = WholeSiteWhen.ALWAYS
    open_paths: list[SiteOpenPath] = field(default_factory=list)
    feeds: list[str] = field(default_factory=list)
    created_at: Moment
    updated_at: Moment
    wanted_programs: list[str] = field(default_factory=list)
    token_binding: TokenBinding = TokenBinding.NETWORK
    private_token_issuers: list[SiteTokenIssuer] = field(default_factory=list)
    suggestions: bool = True
    block_feed: bool = False
    decoys: bool = False
    ai_use: SiteAiUse | UnsetType = UNSET
    machine_tokens_per_hour: int = 0
    assistants: Assistants = Assistants.BLOCK
    robots_txt: str = ""
    under_attack_until: Moment | UnsetType = UNSET
    load: SiteLoad | UnsetType = UNSET
    rule_set: str | UnsetType = UNSET
    agent_policy: dict[str, Any] | UnsetType = UNSET


class CredentialCounts(Record, frozen=True, kw_only=True):
    """Number of a site's credentials and of its active credentials."""

    active: int
    total: int


class SiteHealthSummary(Record, frozen=True, kw_only=True):
    """State of the site's setup and traffic."""

    status: SiteHealthStatus
    last_event_at: Moment | UnsetType = UNSET


class SiteSummary(Site, frozen=True, kw_only=True):
    """A site as a list shows it. `today` counts protected requests by outcome since midnight UTC, and `monitored`.

    `degraded`: events are unavailable, so `today` is 0 and `health` excludes traffic.
    """

    customer_name: str
    credentials: CredentialCounts
    today: dict[str, int]
    health: SiteHealthSummary
    degraded: bool | UnsetType = UNSET


class SiteDecoy(Record, frozen=True, kw_only=True):
    """A line of HTML for the site's pages, which does not change, and the line of robots.txt that forbids decoys."""

    html: str
    robots_txt: str


class SiteDetail(SiteSummary, frozen=True, kw_only=True):
    """Everything about one site. `decoy` is present if `decoys` is on."""

    credential_list: list[Credential]
    changes: list[ConfigChange]
    rules: RulesSummary
    token_issuers: list[TokenIssuerStatus] | UnsetType = UNSET
    decoy: SiteDecoy | UnsetType = UNSET


class SiteList(Record, frozen=True, kw_only=True):
    """Sites, newest first. `nextCursor`: there are more than `limit`."""

    items: list[SiteSummary]
    next_cursor: str | UnsetType = UNSET


class SitesQuery(Query, frozen=True, kw_only=True):
    """Which sites to list. Default: all."""

    q: Annotated[str, Meta(max_length=CUSTOMERS_QUERY_CHARACTERS)] = ""
    limit: Annotated[int, Meta(ge=LIST_PAGE.least, le=LIST_PAGE.most)] | UnsetType = UNSET
    cursor: str | UnsetType = UNSET


_SERVER_FIELDS = (
    "id",
    "createdAt",
    "updatedAt",
    "ruleSet",
    "agentPolicy",
    "underAttackUntil",
    "load",
    "credentials",
    "today",
    "health",
    "degraded",
    "credentialList",
    "changes",
    "rules",
    "tokenIssuers",
    "decoy",
)
_SET_BY_SERVER = dict.fromkeys(_SERVER_FIELDS, "forbidden_field")
_CREATE_ONLY = ("siteKey", "customerId", "customerName")


class SiteChange(Input, frozen=True, kw_only=True):
    """Changes of a site; an omitted field is unchanged. `underAttack`: begin an hour of flood protection, or end it."""

    refused_fields: ClassVar = {**_SET_BY_SERVER, **dict.fromkeys(_CREATE_ONLY, "immutable_field")}
    value_code: ClassVar = "invalid_site"

    name: str | UnsetType = UNSET
    allowed_origins: list[str] | UnsetType = UNSET
    actions: dict[str, SiteAction] | UnsetType = UNSET
    routes: list[SiteRoute] | UnsetType = UNSET
    mode: Mode | UnsetType = UNSET
    widget_mode: WidgetMode | UnsetType = UNSET
    form_method_override: bool | UnsetType = UNSET
    clearance_without_script: bool | UnsetType = UNSET
    whole_site: bool | UnsetType = UNSET
    whole_site_when: WholeSiteWhen | UnsetType = UNSET
    open_paths: list[SiteOpenPath] | UnsetType = UNSET
    feeds: list[str] | UnsetType = UNSET
    wanted_programs: list[str] | UnsetType = UNSET
    token_binding: TokenBinding | UnsetType = UNSET
    private_token_issuers: list[SiteTokenIssuer] | UnsetType = UNSET
    suggestions: bool | UnsetType = UNSET
    block_feed: bool | UnsetType = UNSET
    decoys: bool | UnsetType = UNSET
    ai_use: SiteAiUse | UnsetType = UNSET
    machine_tokens_per_hour: Annotated[int, Meta(ge=0, le=1_000_000)] | UnsetType = UNSET
    assistants: Assistants | UnsetType = UNSET
    robots_txt: Annotated[str, Meta(max_length=ROBOTS_CHARACTERS)] | UnsetType = UNSET
    under_attack: bool | UnsetType = UNSET


# The fields of a site that a change may change.
CHANGEABLE = (*(name for name in SiteChange.__struct_fields__ if name != "under_attack"), "under_attack_until")


class SiteInput(SiteChange, frozen=True, kw_only=True):
    """A new site. `name` is required. Default `siteKey`: generated."""

    refused_fields: ClassVar = _SET_BY_SERVER

    site_key: SiteKey | UnsetType = UNSET
    customer_id: str | UnsetType = UNSET
    customer_name: Annotated[str, Meta(max_length=200)] | UnsetType = UNSET


class OwnSiteInput(SiteChange, frozen=True, kw_only=True):
    """A customer's new site. `name` is required. AgentGate generates the key; the account is the caller's."""

    refused_fields: ClassVar = {**_SET_BY_SERVER, **dict.fromkeys(_CREATE_ONLY, "forbidden_field")}


class MoveInput(Input, frozen=True, kw_only=True):
    """The account to move the site to."""

    customer_id: str


class AdapterQuery(Query, frozen=True, kw_only=True):
    """The addresses of the site's own server and of the proxy, and which of the site's origins is meant."""

    upstream: str | UnsetType = UNSET
    origin: str | UnsetType = UNSET
    listen: str | UnsetType = UNSET


class AdapterFile(Record, frozen=True, kw_only=True):
    """One file of a proxy's configuration. `use` is `main`, `with` the main file, or `existing`: in an existing server
    instead of the main file. `path` is its usual place."""

    name: str
    text: str
    use: str
    path: str


class AdapterLine(Record, frozen=True, kw_only=True):
    """The line that allows or blocks requests while AgentGate is unavailable, for each mode of the site."""

    file: str
    monitor: str
    enforce: str


class Adapter(Record, frozen=True, kw_only=True):
    """A proxy's configuration for a site. Replace `placeholder` with the site's secret."""

    proxy: str
    files: list[AdapterFile]
    placeholder: str
    unavailable: AdapterLine


class AdapterWriter(Protocol):
    """Writes the configuration of a proxy."""

    proxies: Sequence[str]

    def write(self, proxy: str, site: Site, query: AdapterQuery) -> Adapter:
        """Return the files; reject values that cannot be written into them."""


class SiteTestInput(Input, frozen=True, kw_only=True):
    """The origin to test: one of the site's allowed origins."""

    origin: str


class SiteFinding(Record, frozen=True, kw_only=True):
    """One check. `state` is `pass`, `warn`, `fail` or `skip`; `fix` is empty if there is nothing to do."""

    check: str
    state: str
    found: str
    fix: str


class SiteTest(Record, frozen=True, kw_only=True):
    """The checks of an installation: failures first, causes before their effects.

    `feeds` is the list to declare, if the front page links feeds that are not all open; otherwise empty.
    """

    origin: str
    items: list[SiteFinding]
    feeds: list[str]


class Examined(NamedTuple):
    """Findings of a test, and the feeds that the front page links."""

    findings: list[SiteFinding]
    linked: list[str]


class Examiner(Protocol):
    """Tests an installation from the service's host."""

    async def examine(self, origin: str, account_id: str) -> Examined:
        """Return what was found; accounts take turns."""
