"""`agentgate fleet`: one secret for all sites of a hosting provider, and sites for the servers of its proxies."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import click
from msgspec import Struct

from agentgate.lib.limits import LIST_PAGE
from agentgate_tools.adapters.servers import Server, ServersRefused, host_of, read_servers
from agentgate_tools.commands.api_client import AdminApi
from agentgate_tools.commands.command import CommandAnswer, CommandRefused, PrintedTable, command, read_file
from agentgate_tools.commands.parameters import Argument, Option
from agentgate_tools.commands.progress import Progress

fleet = click.Group(
    help="Protect all sites of a hosting provider with one secret.",
    epilog="Example: nginx -T | agentgate fleet sync acc_0123456789abcdef",
)
AccountArgument = Annotated[str, Argument(help="The account's ID, acc_..., or its name.")]


@command(fleet, "list", "agentgate fleet list Hosting")
def list_fleet(account: AccountArgument, api: AdminApi) -> CommandAnswer:
    """List the fleet credentials of an account, without their secrets."""
    found = api.get(f"/customers/{_find(api, account)}/fleet-credentials")["items"]
    rows = [
        (each["id"], each["name"], each["unknownHosts"], each.get("lastUsedAt", ""), each.get("revokedAt", ""))
        for each in found
    ]
    columns = ("ID", "Name", "Unknown hosts", "Last used", "Revoked")
    return CommandAnswer(found, PrintedTable("Fleet credentials", columns, rows))


@command(fleet, "create", "agentgate fleet create Hosting --site-limit 5000 > /etc/agentgate-fleet.secret")
def create_fleet(
    account: AccountArgument,
    api: AdminApi,
    *,
    name: Annotated[str, Option(help="Name, such as the host of the proxies.")] = "Fleet",
    unknown_hosts: Annotated[
        Literal["allow", "block"], Option(help="What to do with requests to hosts that no site of the account has.")
    ] = "allow",
    site_limit: Annotated[int | None, Option(help="Number of sites that the account may have. Default: unchanged.")] = (
        None
    ),
) -> CommandAnswer:
    """Create a fleet credential and print its secret, which is shown only once."""
    account_id = _find(api, account)
    if site_limit is not None:
        api.call("PATCH", f"/customers/{account_id}", {"limits": {"sites": site_limit}})
    body = {"name": name, "unknownHosts": unknown_hosts}
    made = api.call("POST", f"/customers/{account_id}/fleet-credentials", body)
    return CommandAnswer(made, made["secret"], note=f"{made['credential']['id']}; the secret is shown only once")


@command(fleet, "revoke", "agentgate fleet revoke Hosting flt_0123456789abcdef")
def revoke_fleet(
    account: AccountArgument,
    credential_id: Annotated[str, Argument(help="The credential's ID, flt_...")],
    api: AdminApi,
) -> CommandAnswer:
    """Revoke a fleet credential immediately."""
    ended = api.call("DELETE", f"/customers/{_find(api, account)}/fleet-credentials/{credential_id}")
    return CommandAnswer(ended, f"{credential_id} is revoked")


@command(fleet, "sync", "nginx -T | agentgate fleet sync Hosting")
def sync(
    account: AccountArgument,
    api: AdminApi,
    *,
    source: Annotated[
        Path | None,
        Option("--from", help="File with the output of `nginx -T`, or one address in each line. Default: stdin."),
    ] = None,
    dry_run: Annotated[bool, Option("--dry-run", help="Show what would be created.")] = False,
) -> CommandAnswer:
    """Create a site in monitor mode for each server that has none. Existing sites are not changed.

    Servers without a separate name are skipped. If two sites have the same host, nothing is created.
    """
    text = sys.stdin.read() if source is None else read_file(source, "it must hold the output of `nginx -T`, or a list")
    customer = _find_account(api, account)
    account_id = customer["id"]
    everything = api.items("/sites", limit=str(LIST_PAGE.most))
    sites = [each for each in everything if each.get("customerId") == account_id]
    try:
        plan = make_plan(read_servers(text), sites)
    except ServersRefused as problem:
        raise CommandRefused(str(problem)) from None
    wanted, limit = len(sites) + len(plan.missing), customer["limits"]["sites"]
    if wanted > limit:
        raise CommandRefused(
            f"the account would have {wanted} sites and its limit is {limit}; raise it with "
            f"`agentgate fleet create {account} --site-limit {wanted}`, or ask for fewer sites"
        )
    made = [] if dry_run else _create(api, account_id, plan.missing)
    names = [server.origins[0] for server in plan.missing]
    verb = "Would create" if dry_run else "Created"
    lines = [f"{verb} {len(names)} sites in monitor mode; {plan.known} existed already.", *names]
    told = {"created": made, "missing": names, "known": plan.known, "unknownNames": plan.partial}
    note = "\n".join(f"not a name of its existing site: {name}" for name in plan.partial)
    return CommandAnswer(told, "\n".join(lines), note=note)


class Plan(Struct, frozen=True):
    """Servers without a site, the number of those with one, and names that an existing site does not have."""

    missing: list[Server]
    known: int
    partial: list[str]


def make_plan(servers: Sequence[Server], sites: Sequence[Any]) -> Plan:
    """Compare servers with the account's sites; raise if two of them have the same host."""
    owners: dict[str, str] = {}
    for site in sites:
        for name in {host_of(origin) for origin in site["allowedOrigins"]}:
            if name in owners:
                raise ServersRefused(
                    f"{owners[name]} and {site['siteKey']} both have {name}; remove it from one of them"
                )
            owners[name] = site["siteKey"]
    missing: list[Server] = []
    partial: list[str] = []
    known = 0
    for server in servers:
        names = [host_of(origin) for origin in server.origins]
        found = {owners[name] for name in names if name in owners}
        if len(found) > 1:
            raise ServersRefused(f"the server {names[0]} has hosts of several sites: {', '.join(sorted(found))}")
        if not found:
            missing.append(server)
            owners |= dict.fromkeys(names, f"the server {names[0]}")
        elif next(iter(found)).startswith("the server "):
            raise ServersRefused(f"{next(iter(found))} and the server {names[0]} have the same host")
        else:
            known += 1
            partial += [name for name in names if name not in owners]
    return Plan(missing, known, partial)


def _create(api: AdminApi, account_id: str, servers: Sequence[Server]) -> list[str]:
    made = []
    with Progress() as progress:
        for number, server in enumerate(servers, 1):
            progress.show(f"creating sites: {number} of {len(servers)}")
            body = {"name": host_of(server.origins[0]), "allowedOrigins": list(server.origins), "mode": "monitor"}
            made.append(api.call("POST", f"/customers/{account_id}/sites", body)["siteKey"])
    return made


def _find(api: AdminApi, account: str) -> str:
    return str(_find_account(api, account)["id"])


def _find_account(api: AdminApi, account: str) -> Any:
    """Return an account, given its ID or its whole name."""
    found = [each for each in api.get("/customers", q=account)["items"] if account in (each["id"], each["name"])]
    if len(found) != 1:
        raise CommandRefused(f"{len(found) or 'no'} accounts are named {account}; give the ID, acc_...")
    return found[0]
