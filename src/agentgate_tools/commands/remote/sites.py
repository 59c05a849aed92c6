"""`agentgate site`, `credential`, `invite`, `setup-link` and `reset-link`: sites, their secrets, and people."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

import click
import yaml

from agentgate.lib.limits import LIST_PAGE
from agentgate_tools.adapters.render import FILES, Installation, unavailable_line
from agentgate_tools.commands.api_client import AdminApi, SiteArgument, only_account, site_path
from agentgate_tools.commands.command import CommandAnswer, CommandRefused, PrintedTable, command
from agentgate_tools.commands.parameters import Argument, Option
from agentgate_tools.commands.remote.apply import export
from agentgate_tools.commands.remote.rules import PresetName, set_preset

site = click.Group(help="List, show, create and switch sites.", epilog="Example: agentgate site list")
credential = click.Group(
    help="Manage the secrets of a site's servers.",
    epilog="Example: agentgate credential create site_shop1 --name nginx",
)
CredentialArgument = Annotated[str, Argument(help="The credential's ID, cred_...")]
PathArgument = Annotated[str, Argument(help="A path such as /hooks/stripe, or /hooks/* for everything below it.")]


@command(site, "list", "agentgate site list --json")
def list_sites(api: AdminApi) -> CommandAnswer:
    """List the sites with today's statistics."""
    items = list(api.items("/sites", limit=str(LIST_PAGE.most)))
    rows = [
        (each["siteKey"], each["name"], each["mode"], ", ".join(each["allowedOrigins"]), _plain(each["today"]))
        for each in items
    ]
    return CommandAnswer(items, PrintedTable("Sites", ("Site", "Name", "Mode", "Origins", "Today"), rows))


@command(site, "show", "agentgate site show site_shop1")
def show_site(site_key: SiteArgument, api: AdminApi) -> CommandAnswer:
    """Show a site: settings, credentials, active rules, health."""
    found = api.get(site_path(site_key))
    shown = {name: value for name, value in found.items() if name not in {"changes", "credentialList"}}
    return CommandAnswer(found, [*_lines("", shown), _credentials(found["credentialList"])])


@command(site, "create", "agentgate site create Shop --origin https://shop.example")
def create_site(
    name: Annotated[str, Argument(help="Name of the site.")],
    api: AdminApi,
    *,
    origin: Annotated[list[str], Option(help="The site's public address; repeatable.")],
    site_key: Annotated[str | None, Option(help="Site key. Default: generated.")] = None,
) -> CommandAnswer:
    """Create a site in monitor mode, which blocks no requests."""
    body = {"name": name, "allowedOrigins": origin, "mode": "monitor"} | ({"siteKey": site_key} if site_key else {})
    made = api.call("POST", "/sites", body | only_account(api))
    key = made["siteKey"]
    return CommandAnswer(made, f"Created {key} in monitor mode. Next: agentgate credential create {key}")


@command(site, "mode", "agentgate site mode site_shop1 enforce")
def switch_mode(
    site_key: SiteArgument,
    mode: Annotated[
        Literal["monitor", "enforce"], Argument(help="monitor: record only. enforce: block and challenge.")
    ],
    api: AdminApi,
) -> CommandAnswer:
    """Switch a site between monitor and enforce."""
    changed = api.call("PATCH", site_path(site_key), {"mode": mode})
    return CommandAnswer(
        changed, "\n".join([f"{site_key} is in {changed['mode']} mode", *_lines_of_adapters(site_key, mode)])
    )


def _lines_of_adapters(site_key: str, mode: Literal["monitor", "enforce"]) -> Iterator[str]:
    """Yield how to change the adapter, which has been printed for the other mode."""
    change = {"monitor": "allow requests", "enforce": "block requests"}[mode]
    yield f"To {change} while AgentGate is unavailable, change this line of the adapter and reload the proxy:"
    for proxy in FILES:
        line = unavailable_line(proxy, Installation(site=site_key))
        yield f"  {proxy}, {line.file}: {getattr(line, mode)}"


@command(site, "protect", "agentgate site protect site_shop1")
def protect_site(
    site_key: SiteArgument,
    api: AdminApi,
    off: Annotated[bool, Option("--off", help="Check browsers only on the site's routes.")] = False,
    when: Annotated[
        Literal["always", "busy"],
        Option(help="always, or busy: only while the site has far more page loads than usual. Default: always."),
    ] = "always",
) -> CommandAnswer:
    """Require a browser check of every browser on the whole site. The rules decide about other clients."""
    found = api.call("PATCH", site_path(site_key), {"wholeSite": not off} | ({} if off else {"wholeSiteWhen": when}))
    on = "on" if when == "always" else "on while the site is busy"
    told = f"{site_key}: whole-site protection is {'off' if off else on}, mode {found['mode']}"
    return CommandAnswer(found, told if off else told + _about_monitor(found))


def _about_monitor(found: Any) -> str:
    note = "\nIn monitor mode no visitor is challenged; the decisions show which visitors would be."
    return note if found["mode"] == "monitor" else ""


@command(site, "under-attack", "agentgate site under-attack site_shop1")
def declare_attack(
    site_key: SiteArgument, api: AdminApi, off: Annotated[bool, Option("--off", help="End it now.")] = False
) -> CommandAnswer:
    """Require a browser check on the whole site for an hour, as if it was flooded."""
    found = api.call("PATCH", site_path(site_key), {"underAttack": not off})
    until = found.get("underAttackUntil")
    told = f"under attack until {until}{_about_monitor(found)}" if until else "no attack is declared"
    return CommandAnswer(found, f"{site_key}: {told}")


@command(site, "decoys", "agentgate site decoys site_shop1")
def switch_decoys(
    site_key: SiteArgument,
    api: AdminApi,
    off: Annotated[bool, Option("--off", help="Challenge no client for opening a decoy.")] = False,
) -> CommandAnswer:
    """Challenge clients that open links that no person sees, and print the lines for pages and robots.txt."""
    found = api.call("PATCH", site_path(site_key), {"decoys": not off})
    if off:
        return CommandAnswer(found, f"{site_key}: decoys are off")
    lines = found["decoy"]
    told = (
        f"{site_key}: decoys are on, mode {found['mode']}",
        "nginx adds them to pages: agentgate adapter nginx --decoys. Other proxies: add this line before </body>:",
        f"  {lines['html']}",
        "Your robots.txt must forbid them. AgentGate's own does (adapter --robots); otherwise add to each group:",
        f"  {lines['robotsTxt']}",
    )
    return CommandAnswer(found, "\n".join(told))


@command(site, "app", "agentgate site app site_shop1 forgejo")
def set_app(
    site_key: SiteArgument,
    app: Annotated[PresetName, Argument(help="The application, or none.")],
    api: AdminApi,
    yes: Annotated[bool, Option("--yes", help="Skip the confirmation.")] = False,
) -> CommandAnswer:
    """Challenge the costly pages of an application and allow its protocols, or end that."""
    found = set_preset(api, site_key, app, yes=yes)
    return CommandAnswer(found, f"{site_key}: preset {found['preset']}{_about_monitor(api.get(site_path(site_key)))}")


Choice = Literal["allow", "challenge", "block", "price"]


@command(site, "ai", "agentgate site ai site_shop1 --training block")
def set_ai_use(
    site_key: SiteArgument,
    api: AdminApi,
    *,
    search: Annotated[Choice | None, Option(help="Verified operators that index pages for AI search.")] = None,
    agent: Annotated[Choice | None, Option(help="Verified agents that read pages for a person.")] = None,
    training: Annotated[Choice | None, Option(help="Verified operators that collect pages for models.")] = None,
    price: Annotated[str | None, Option(help="Price of a page for uses with `price`, such as 'USD 0.01'.")] = None,
) -> CommandAnswer:
    """Show or set what verified AI operators and agents may use a site for. Omitted uses are unchanged."""
    given = {"search": search, "agent": agent, "training": training, "price": price}
    changes = {name: value for name, value in given.items() if value is not None}
    found = api.get(site_path(site_key))
    if changes:
        found = api.call("PATCH", site_path(site_key), {"aiUse": {**found.get("aiUse", {}), **changes}})
    use = found.get("aiUse")
    told = "not set; suggested: search allow, agent allow, training block" if use is None else _plain(use)
    uses = api.get(f"{site_path(site_key)}/ai-traffic")["uses"]
    return CommandAnswer(
        {"aiUse": use or {}, "lastWeek": uses},
        [f"{site_key}: {told}", f"Verified requests of the last 7 days that each setting decides: {_plain(uses)}"],
    )


@command(site, "open", "agentgate site open site_shop1 /hooks/stripe --to stripe")
def open_path(
    site_key: SiteArgument,
    path: PathArgument,
    api: AdminApi,
    *,
    to: Annotated[str, Option("--to", help="Name of a service, an IP address or network, or anyone.")],
    note: Annotated[str | None, Option("--note", help="Note on the purpose.")] = None,
) -> CommandAnswer:
    """Allow a path for one sender, independent of routes and rules."""
    entry = {"path": path, "sender": to} | ({} if note is None else {"note": note})
    known = api.get(site_path(site_key))["openPaths"]
    kept = [each for each in known if (each["path"], each["sender"]) != (path, to)]
    found = api.call("PATCH", site_path(site_key), {"openPaths": [*kept, entry]})
    return CommandAnswer(found, f"{site_key}: {path} allows {to}")


@command(site, "close", "agentgate site close site_shop1 /hooks/stripe")
def close_path(site_key: SiteArgument, path: PathArgument, api: AdminApi) -> CommandAnswer:
    """Remove an allowed path, for all senders."""
    before = api.get(site_path(site_key))["openPaths"]
    after = [each for each in before if each["path"] != path]
    found = api.call("PATCH", site_path(site_key), {"openPaths": after})
    return CommandAnswer(
        found,
        f"{site_key}: {path}"
        f" {'is no longer an allowed path' if len(after) < len(before) else 'was not an allowed path'}",
    )


@command(site, "feeds", "agentgate site feeds site_shop1 /blog/feed '/?feed=rss2'")
def declare_feeds(
    site_key: SiteArgument,
    feeds: Annotated[list[str], Argument(help="Exact paths, with their exact query if they have one.")],
    api: AdminApi,
) -> CommandAnswer:
    """Declare feeds of a site, in addition to those that it has."""
    return _added(api, site_key, "feeds", feeds, told="open feeds")


@command(site, "origins", "agentgate site origins site_shop1 https://www.shop.example")
def add_origins(
    site_key: SiteArgument,
    origins: Annotated[list[str], Argument(help="Origins of pages, such as https://www.shop.example.")],
    api: AdminApi,
) -> CommandAnswer:
    """Add allowed origins to a site: the addresses of its pages."""
    return _added(api, site_key, "allowedOrigins", origins, told="allowed origins")


def _added(api: AdminApi, site_key: str, field: str, values: list[str], *, told: str) -> CommandAnswer:
    known = api.get(site_path(site_key))[field]
    found = api.call("PATCH", site_path(site_key), {field: list(dict.fromkeys([*known, *values]))})
    return CommandAnswer(found, f"{site_key}: {told} are {', '.join(found[field])}")


@command(site, "suggestions", "agentgate site suggestions site_shop1 --accept sug_0123456789abcdef")
def list_suggestions(
    site_key: SiteArgument,
    api: AdminApi,
    *,
    accept: Annotated[
        list[str] | None, Option(help="Open the path of this suggestion to its sender; repeatable for equal evidence.")
    ] = None,
    withdraw: Annotated[str | None, Option(help="Close the path that this suggestion opened.")] = None,
    path: Annotated[str | None, Option(help="Exact path, if the suggestion has a masked one.")] = None,
    note: Annotated[str, Option(help="Purpose of the allowed path.")] = "",
) -> CommandAnswer:
    """List blocked clients with the allowed paths that would allow them; accept or withdraw one."""
    if accept and withdraw is not None:
        raise CommandRefused("Give --accept or --withdraw, not both.")
    if accept:
        first, *also = accept
        body = {"note": note, "also": also} | ({} if path is None else {"path": path})
        found = api.call("POST", site_path(site_key, "suggestions", first, "accept"), body)
        more = f", and {len(also)} more suggestions" if also else ""
        return CommandAnswer(found, f"{site_key}: {_opened(found)} is open{more}")
    if withdraw is not None:
        found = api.call("DELETE", site_path(site_key, "suggestions", withdraw, "accept"))
        return CommandAnswer(found, f"{site_key}: {found['method']} {found['path']} is closed again")
    found = api.get(site_path(site_key, "suggestions"))
    rows = [
        (
            each["id"],
            f"{each['method']} {each['path']}",
            each.get("sender") or each.get("program", ""),
            "yes" if each["proven"] else "no",
            each.get("owner", ""),
            str(each["networks"]),
            str(each["perDay"]),
            "accepted" if "acceptedAt" in each else each.get("problem") or _opened(each),
        )
        for each in found["items"]
    ]
    columns = ("ID", "Request", "Sender", "Proven", "Network", "Networks", "A day", "Opens")
    switched_off = "" if found["enabled"] else "The site collects no suggestions (setting `suggestions`)."
    return CommandAnswer(found, PrintedTable("Suggestions", columns, rows), note=switched_off)


def _opened(suggestion: Any) -> str:
    opens = suggestion["opens"]
    budget = f", {opens['perMinute']} a minute" if "perMinute" in opens else ""
    return f"{opens['method']} {opens['path']} to {opens['sender']}{budget}"


@command(credential, "list", "agentgate credential list site_shop1")
def list_credentials(site_key: SiteArgument, api: AdminApi) -> CommandAnswer:
    """List a site's credentials, without their secrets."""
    found = api.get(site_path(site_key))["credentialList"]
    return CommandAnswer(found, _credentials(found))


@command(credential, "create", "agentgate credential create site_shop1 --name nginx > secret")
def create_credential(
    site_key: SiteArgument,
    api: AdminApi,
    name: Annotated[str, Option(help="Name, such as the server that uses the secret.")] = "server",
) -> CommandAnswer:
    """Create a credential and print its secret, which is shown only once."""
    return _secret(api.call("POST", site_path(site_key, "credentials"), {"name": name}))


@command(credential, "rotate", "agentgate credential rotate site_shop1 cred_0123456789abcdef")
def rotate_credential(site_key: SiteArgument, credential_id: CredentialArgument, api: AdminApi) -> CommandAnswer:
    """Rotate a credential; the old secret works during the overlap."""
    return _secret(api.call("POST", site_path(site_key, "credentials", credential_id, "rotate"), {}))


@command(credential, "revoke", "agentgate credential revoke site_shop1 cred_0123456789abcdef")
def revoke_credential(site_key: SiteArgument, credential_id: CredentialArgument, api: AdminApi) -> CommandAnswer:
    """Revoke a credential immediately."""
    ended = api.call("POST", site_path(site_key, "credentials", credential_id, "revoke"), {})
    return CommandAnswer(ended, f"{credential_id} is revoked")


def invite(
    email: Annotated[str, Argument(help="Email address to invite.")],
    api: AdminApi,
    *,
    customer: Annotated[str | None, Option(help="Name of a new customer or ID of an existing one.")] = None,
    another: Annotated[
        bool, Option("--another", help="Create a new customer even if the name is already used.")
    ] = False,
    role: Annotated[
        Literal["owner", "admin", "member", "readonly"] | None,
        Option(help="Default: owner of a new customer, member of an existing one."),
    ] = None,
) -> CommandAnswer:
    """Invite a person into a new or existing customer's account, and print the link."""
    given = customer or email
    is_id = given.startswith("acc_")
    if not is_id and not another:
        _check_unknown(api, given)
    body = {"email": email, "customerId" if is_id else "customerName": given} | ({"role": role} if role else {})
    made = api.call("POST", "/accounts", body)
    return CommandAnswer(made, f"{made['inviteUrl']}\n({email}, valid until {made['expiresAt']}; also in the outbox)")


def _check_unknown(api: AdminApi, name: str) -> None:
    for each in api.items("/customers", q=name):
        if each["name"] == name:
            raise CommandRefused(
                f"a customer named {name} already exists: give --customer {each['id']} to invite into it,"
                " or --another to create a second one"
            )


def _secret(made: Any) -> CommandAnswer:
    return CommandAnswer(made, made["secret"], note=f"{made['credential']['id']}: the secret is shown only once")


def _credentials(found: list[Any]) -> PrintedTable:
    names = ("id", "name", "createdAt", "lastUsedAt", "expiresAt", "revokedAt")
    return PrintedTable("Credentials", names, [[str(each.get(name, "")) for name in names] for each in found])


def _lines(name: str, value: Any) -> Iterator[str]:
    """Yield a line for each field: `mode: monitor`; of what is nested, `actions.login: browserRequired yes`."""
    if isinstance(value, list) and any(isinstance(each, dict) for each in value):
        yield from (f"{name}: {_plain(each)}" for each in value)
    elif isinstance(value, dict) and (not name or any(isinstance(each, dict | list) for each in value.values())):
        for key, each in value.items():
            yield from _lines(f"{name}.{key}" if name else key, each)
    else:
        yield f"{name}: {_plain(value)}"


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_plain(each)}" for name, each in value.items())
    if isinstance(value, list):
        return ", ".join(map(_plain, value))
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


@command(site, "export", "agentgate site export site_shop1 > site.yaml")
def export_site(site_key: SiteArgument, api: AdminApi) -> CommandAnswer:
    """Print a site's configuration as a file for `agentgate apply`, without secrets."""
    found = export(site_key, api)
    return CommandAnswer(found, yaml.safe_dump(found, sort_keys=False, allow_unicode=True, width=100).rstrip("\n"))


PAGE = str(LIST_PAGE.most)


def setup_link(api: AdminApi) -> CommandAnswer:
    """Print the link with which the first owner creates an account.

    It works once within 7 days, and only while no user has a password. `agentgate serve` prints one at each start.
    """
    made = api.call("POST", "/setup-link")
    return CommandAnswer(made, made["setupUrl"], note=f"valid until {made['expiresAt']}")


def reset_link(email: Annotated[str, Argument(help="Email address of the user.")], api: AdminApi) -> CommandAnswer:
    """Print a link with which a user sets a new password. It works once within an hour."""
    wanted = email.strip().lower()
    found = next((each for each in api.items("/accounts", q=wanted, limit=PAGE) if each["email"] == wanted), None)
    if found is None:
        raise CommandRefused(f"no user has the address {email}; to see all of them, read /v1/admin/accounts")
    made = api.call("POST", f"/users/{found['userId']}/reset-link")
    return CommandAnswer(made, made["resetUrl"], note="valid for one hour")
