"""`agentgate site`, `credential` and `invite`: sites, their secrets, and people."""

from typing import Annotated, Any, Literal

import typer

from agentgate.server.cli.options import ConfigOption, JsonOption, print_json, print_outcome, print_table
from agentgate.server.cli.remote.admin_api import SiteArgument, UrlOption, open_api, site_path

site = typer.Typer(help="List, show, create and switch sites.", epilog="Example: agentgate site list")
credential = typer.Typer(
    help="The secrets with which a site's own servers prove themselves.",
    epilog="Example: agentgate credential create site_shop1 --name nginx",
)
CredentialArgument = Annotated[str, typer.Argument(help="The credential's ID, cred_...")]


@site.command("list", epilog="Example: agentgate site list --json")
def list_sites(url: UrlOption = None, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """List the sites with what happened today."""
    items = list(open_api(url, config).items("/sites"))
    if as_json:
        print_json(items)
        return
    rows = [
        (each["siteKey"], each["name"], each["mode"], ", ".join(each["allowedOrigins"]), _figures(each["today"]))
        for each in items
    ]
    print_table("Sites", ("Site", "Name", "Mode", "Origins", "Today"), rows)


@site.command("show", epilog="Example: agentgate site show site_shop1")
def show_site(
    site_key: SiteArgument, url: UrlOption = None, config: ConfigOption = None, as_json: JsonOption = False
) -> None:
    """Show a site: settings, credentials, rules in force, health."""
    found = open_api(url, config).get(site_path(site_key))
    if as_json:
        print_json(found)
        return
    rows = [(name, _cell(value)) for name, value in found.items() if name not in {"changes", "credentialList"}]
    print_table(found["name"], ("Field", "Value"), rows)
    _print_credentials(found["credentialList"])


@site.command("create", epilog="Example: agentgate site create Shop --origin https://shop.example")
def create_site(
    name: Annotated[str, typer.Argument(help="What people call it.")],
    *,
    origin: Annotated[list[str], typer.Option(help="The site as visitors see it; repeatable.")],
    site_key: Annotated[str | None, typer.Option(help="A key of your own choice; without it, one is made.")] = None,
    url: UrlOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Create a site in monitor mode: it refuses nobody until you switch it."""
    body = {"name": name, "allowedOrigins": origin, "mode": "monitor"} | ({"siteKey": site_key} if site_key else {})
    made = open_api(url, config).call("POST", "/sites", body)
    if as_json:
        print_json(made)
    else:
        print(f"{made['siteKey']} is there, in monitor mode. Next: agentgate credential create {made['siteKey']}")


@site.command("mode", epilog="Example: agentgate site mode site_shop1 enforce")
def switch_mode(
    site_key: SiteArgument,
    mode: Annotated[Literal["monitor", "enforce"], typer.Argument(help="monitor: record only. enforce: refuse too.")],
    url: UrlOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Switch a site between monitor and enforce."""
    changed = open_api(url, config).call("PATCH", site_path(site_key), {"mode": mode})
    print_outcome(changed, f"{site_key} is in {changed['mode']} mode", as_json=as_json)


@credential.command("list", epilog="Example: agentgate credential list site_shop1")
def list_credentials(
    site_key: SiteArgument, url: UrlOption = None, config: ConfigOption = None, as_json: JsonOption = False
) -> None:
    """List a site's credentials. Secrets are shown once, when they are made."""
    found = open_api(url, config).get(site_path(site_key))["credentialList"]
    if as_json:
        print_json(found)
    else:
        _print_credentials(found)


@credential.command("create", epilog="Example: agentgate credential create site_shop1 --name nginx > secret")
def create_credential(
    site_key: SiteArgument,
    name: Annotated[str, typer.Option(help="Where the secret will be used.")] = "server",
    url: UrlOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a credential and print its secret, this once."""
    _print_secret(open_api(url, config).call("POST", site_path(site_key, "credentials"), {"name": name}), as_json)


@credential.command("rotate", epilog="Example: agentgate credential rotate site_shop1 cred_0123456789abcdef")
def rotate_credential(
    site_key: SiteArgument,
    credential_id: CredentialArgument,
    url: UrlOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Replace a credential; the old secret works for the overlap more."""
    path = site_path(site_key, "credentials", credential_id, "rotate")
    _print_secret(open_api(url, config).call("POST", path, {}), as_json)


@credential.command("revoke", epilog="Example: agentgate credential revoke site_shop1 cred_0123456789abcdef")
def revoke_credential(
    site_key: SiteArgument,
    credential_id: CredentialArgument,
    url: UrlOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """End a credential at once."""
    ended = open_api(url, config).call("POST", site_path(site_key, "credentials", credential_id, "revoke"), {})
    print_outcome(ended, f"{credential_id} is revoked", as_json=as_json)


def invite(
    email: Annotated[str, typer.Argument(help="Who is invited.")],
    *,
    customer: Annotated[str | None, typer.Option(help="The name of a new customer, or the ID of one.")] = None,
    role: Annotated[
        Literal["owner", "admin", "member", "readonly"] | None,
        typer.Option(help="Without it: owner of a new customer, member of an existing one."),
    ] = None,
    url: UrlOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Invite somebody, into a new customer's account or an existing one, and print the link."""
    given = customer or email
    body = {"email": email, "customerId" if given.startswith("acc_") else "customerName": given}
    made = open_api(url, config).call("POST", "/accounts", body | ({"role": role} if role else {}))
    if as_json:
        print_json(made)
    else:
        print(f"{made['inviteUrl']}\n({email}, good until {made['expiresAt']}; it is in the outbox too)")


def _print_secret(made: Any, as_json: bool) -> None:
    if as_json:
        print_json(made)
        return
    print(made["secret"])
    typer.secho(f"{made['credential']['id']}: the secret is shown this once", err=True)


def _print_credentials(found: list[Any]) -> None:
    names = ("id", "name", "createdAt", "lastUsedAt", "expiresAt", "revokedAt")
    print_table("Credentials", names, [[str(each.get(name, "")) for name in names] for each in found])


def _figures(today: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in today.items())


def _cell(value: Any) -> str:
    if isinstance(value, dict):
        return _figures(value) if all(isinstance(each, int) for each in value.values()) else str(value)
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
