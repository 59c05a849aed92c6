"""`agentgate protect`: from a site's address to a gate before it, in one command that can be run again."""

import shlex
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import click
from msgspec import UNSET, structs

from agentgate.lib.limits import LIST_PAGE
from agentgate.lib.settings.schema import Settings
from agentgate.sites.agent_policy import read_policy
from agentgate.sites.validate import feeds_to_declare
from agentgate_tools.adapters.existing import OtherFiles, secret_in
from agentgate_tools.adapters.render import (
    EXAMPLE,
    FILES,
    INCLUDES,
    REWRITING,
    AdapterRefused,
    Installation,
    certificate_of,
    render,
    unavailable_line,
)
from agentgate_tools.adapters.texts import listener_for_proxies
from agentgate_tools.adapters.visitor_tls import find_certificate
from agentgate_tools.commands.adapter import chosen_certificate
from agentgate_tools.commands.api_client import AdminApi, only_account, site_path
from agentgate_tools.commands.command import CommandAnswer, CommandRefused, JsonOption
from agentgate_tools.commands.parameters import Argument, Option
from agentgate_tools.commands.progress import Progress
from agentgate_tools.commands.remote.rules import PresetName, set_preset
from agentgate_tools.doctor.asking import Site
from agentgate_tools.doctor.checks import SEEN_PATH
from agentgate_tools.doctor.feed_checks import feeds_on
from agentgate_tools.doctor.seen_checks import ask_seen
from agentgate_tools.doctor.suggestion_checks import describe, senders_in, waiting_in

PAUSE_S = 1.0
# The number of decisions that is enough to show the effect of enforce mode.
ENOUGH = 100


@dataclass(frozen=True, kw_only=True)
class ProtectOptions:
    """The arguments of the command; a function would have to take too many."""

    address: Annotated[str, Argument(help="The site's public address, such as https://shop.example.")]
    proxy: Annotated[str, Option(help="One of " + ", ".join(FILES) + ".")]
    upstream: Annotated[str, Option(help="Address of the application behind the proxy.")] = EXAMPLE.upstream
    gate: Annotated[
        str | None,
        Option(
            "--service",
            help="AgentGate's public listener for the proxy: an address, or unix:/PATH. Default: from the settings.",
        ),
    ] = None
    service_ca: Annotated[str, Option(help="File with the certificate authorities for AgentGate behind https://.")] = (
        EXAMPLE.service_ca
    )
    listen: Annotated[str, Option(help="Address on which the proxy listens, such as 127.0.0.1:8000.")] = ""
    site_key: Annotated[str | None, Option(help="Key for a new site. Default: generated.")] = None
    out: Annotated[Path | None, Option(help="Folder for the proxy's files. Default: agentgate-proxy/SITE_KEY.")] = None
    certificate: Annotated[
        Path | None, Option(help="File with the site's TLS certificate and chain. Default: found on this machine.")
    ] = None
    certificate_key: Annotated[
        Path | None, Option(help="File with the certificate's key. Default: the certificate's file.")
    ] = None
    app: Annotated[
        PresetName | None,
        Option(help="The application behind the proxy: its costly pages require a check. Default: unchanged."),
    ] = None
    watch: Annotated[bool, Option(help="Wait for the first requests, and offer to switch to enforce.")] = True


def protect(
    options: ProtectOptions, api: AdminApi, settings: Settings, as_json: JsonOption = False
) -> CommandAnswer | None:
    """Protect a site: create it and a secret, write the proxy's files, watch the first requests.

    Run it again to continue watching: an existing site with this origin and existing files are reused.
    """
    if options.proxy not in FILES:
        raise CommandRefused(f"there are no files for {options.proxy!r}; use one of {', '.join(FILES)}")
    origin = _origin(options.address)
    service = options.gate or listener_for_proxies(settings, options.proxy)
    found = _find(api, origin)
    _check(options, found, service, origin=origin)
    site = found or _create(api, origin, options.site_key)
    site_key = site["siteKey"]
    if options.app is not None:
        set_preset(api, site_key, options.app, yes=as_json)
    folder = options.out or Path("agentgate-proxy") / site_key
    paths = [folder / name for name in FILES[options.proxy]]
    installation = _installation(site, service, options, origin=origin)
    written = _write(api, installation, options.proxy, folder)
    if as_json:
        told = {"siteKey": site_key, "mode": site["mode"], "created": found is None, "written": written}
        return CommandAnswer({**told, "files": [str(path) for path in paths]}, "")
    if found is None:
        print(f"Created {site_key} in monitor mode. AgentGate blocks no requests, also while it is unavailable.")
    if written:
        print(f"Wrote {_shown(options.proxy, paths)}. To install: {service}/docs/protect-{options.proxy}")
        print(_about_certificate(options.proxy, installation), end="")
    else:
        print(f"Kept existing files: {_shown(options.proxy, paths)}")
    _offer_feeds(api, site, options)
    if options.watch:
        _watch(api, site_key)
    _offer_senders(api, site_key, options)
    if options.watch:
        _offer_enforce(api, site_key, options.proxy)
    return None


def _offer_feeds(api: AdminApi, site: Any, options: ProtectOptions) -> None:
    """Offer to declare the feeds that the front page links, unless they are open already."""
    with Progress() as progress:
        progress.begin(f"looking for feeds on the front page of {options.upstream}")
        site_key, linked = site["siteKey"], _feeds(options.upstream)
    feeds = feeds_to_declare(site["feeds"], linked)
    if not feeds:
        return
    print(f"The front page links feeds that are not all open in enforce mode: {', '.join(linked)}")
    if options.watch and click.confirm("Declare these feeds?"):
        api.call("PATCH", site_path(site_key), {"feeds": feeds})
    else:
        print(f"To declare them: agentgate site feeds {site_key} {shlex.join(feeds)}")


def _offer_senders(api: AdminApi, site_key: str, options: ProtectOptions) -> None:
    """Offer to allow the verified senders of webhooks that enforce mode blocks. Names need the owner's knowledge."""
    listed = api.get(site_path(site_key, "suggestions"))["items"]
    proven = [each for each in senders_in(listed) if "opens" in each]
    if len(waiting_in(listed)) > len(proven):
        print(f"Other clients that enforce mode blocks: agentgate site suggestions {site_key}")
    if not proven:
        return
    print("Enforce mode blocks verified senders of webhooks:")
    for each in proven:
        print(f"  {describe(each)}")
    if options.watch and click.confirm("Allow these paths for these senders?"):
        first, *also = [each["id"] for each in proven]
        api.call("POST", site_path(site_key, "suggestions", first, "accept"), {"also": also})
    else:
        accept = " ".join(f"--accept {each['id']}" for each in proven)
        print(f"To allow them: agentgate site suggestions {site_key} {accept}")


def _feeds(upstream: str) -> list[str]:
    """Return the feeds that the site's front page links; none if the site does not respond."""
    try:
        page = Site(upstream)
    except ValueError:
        return []
    return feeds_on(page, page.try_asking("GET", page.path))


def _installation(site: Any, service: str, options: ProtectOptions, *, origin: str) -> Installation:
    """Return what the proxy's files are filled in with, but the secret."""
    certificate = chosen_certificate(options.certificate, options.certificate_key)
    host = urlsplit(origin).hostname or ""
    if certificate is None and origin.startswith("https:") and not options.listen:
        certificate = find_certificate(options.proxy, host)
    return Installation(
        site=site["siteKey"],
        service=service,
        service_ca=options.service_ca,
        origin=origin,
        upstream=options.upstream,
        listen=options.listen,
        mode=site["mode"],
        prices=read_policy(site.get("agentPolicy", UNSET)).has_prices,
        decoys=site.get("decoys", False) and options.proxy in REWRITING,
        certificate=certificate,
    )


def _check(options: ProtectOptions, found: Any, service: str, *, origin: str) -> None:
    """Reject values and folders for which nothing can be written, before a site is created."""
    draft = found or {"siteKey": options.site_key or EXAMPLE.site, "mode": "monitor"}
    try:
        render(options.proxy, _installation(draft, service, options, origin=origin))
    except AdapterRefused as refused:
        raise CommandRefused(str(refused)) from None
    folder = options.out or Path("agentgate-proxy") / draft["siteKey"]
    if found is None and any((folder / name).exists() for name in FILES[options.proxy]):
        raise CommandRefused(
            f"there is no site for {origin} yet, and {folder} has the files of another one; "
            "remove them, or give another folder with --out"
        )


def _write(api: AdminApi, installation: Installation, proxy: str, folder: Path) -> bool:
    """Write the proxy's files that are missing; files for something else are an error, and nothing is written."""
    try:
        secret = secret_in(proxy, installation, folder)
    except (OSError, UnicodeDecodeError) as problem:
        raise CommandRefused(str(problem)) from None
    except OtherFiles as other:
        raise CommandRefused(
            f"the files in {folder} are for another installation, and nothing was written. Remove them to have them "
            f"written again with a new secret, or give another folder with --out.\n{other}"
        ) from None
    if secret is not None:
        _require_known(installation, secret, folder)
    missing = [name for name in FILES[proxy] if not (folder / name).exists()]
    if secret is None:
        secret = api.call("POST", site_path(installation.site, "credentials"), {"name": proxy})["secret"]
    folder.mkdir(parents=True, exist_ok=True)
    for name in missing:
        path = folder / name
        # The file contains the secret.
        path.touch(mode=0o600)
        path.write_text(render(proxy, structs.replace(installation, secret=secret), name), encoding="utf-8")
    return bool(missing)


def _require_known(installation: Installation, secret: str, folder: Path) -> None:
    """Reject files whose secret AgentGate does not know, such as after a rotation; if it responds here."""
    request = f"GET 127.0.0.1 host={urlsplit(installation.origin).netloc} {installation.origin}{SEEN_PATH}"
    told = ask_seen(Site(installation.service), ("X-AgentGate-Secret", secret), ("X-AgentGate-Request", request))
    if told.reason == "invalid_credential":
        raise CommandRefused(
            f"AgentGate does not know the secret of the files in {folder}. Remove them to have them written again."
        )


def _about_certificate(proxy: str, installation: Installation) -> str:
    """Return where the certificate was found, or how to get one."""
    certificate = certificate_of(proxy, installation)
    if certificate is None:
        return ""
    if installation.certificate is not None:
        return f"Certificate: {certificate.chain}\n"
    host = urlsplit(installation.origin).hostname
    told = f"No certificate for {host} was found. The files name {certificate.chain}. To get one before you start "
    told += f"{proxy}:\n  certbot certonly --standalone -d {host}\n"
    if certificate.chain == certificate.key:
        live = f"/etc/letsencrypt/live/{host}"
        told += f"  cat {live}/fullchain.pem {live}/privkey.pem > {certificate.chain}\n"
    return told


def _shown(proxy: str, paths: list[Path]) -> str:
    includes = INCLUDES.get(proxy, ())
    whole = ", ".join(str(path) for path in paths if path.name not in includes)
    others = ", ".join(str(path) for path in paths if path.name in includes)
    return f"{whole} (for an existing server: {others})" if others else whole


def _origin(address: str) -> str:
    parts = urlsplit(address if "//" in address else f"https://{address}")
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise CommandRefused(f"{address} is not the address of a site; give one such as https://shop.example")
    return f"{parts.scheme}://{parts.netloc}".lower()


def _find(api: AdminApi, origin: str) -> Any:
    found = api.items("/sites", q=origin, limit=str(LIST_PAGE.most))
    return next((each for each in found if origin in each["allowedOrigins"]), None)


def _create(api: AdminApi, origin: str, site_key: str | None) -> Any:
    body = {"name": urlsplit(origin).hostname, "allowedOrigins": [origin], "mode": "monitor"}
    body |= {} if site_key is None else {"siteKey": site_key}
    return api.call("POST", "/sites", body | only_account(api))


def _watch(api: AdminApi, site_key: str) -> None:
    print("Waiting for the first request through the proxy (Ctrl-C stops waiting; run this again to continue) ...")
    while api.get(site_path(site_key, "install"))["status"] != "live":
        time.sleep(PAUSE_S)
    print(f"Received the first request; waiting for {ENOUGH} ...")
    told = 0
    while len(seen := api.get("/decisions", siteKey=site_key, limit=ENOUGH)["items"]) < ENOUGH:
        if len(seen) > told:
            told = len(seen)
            print(f"{told} of {ENOUGH}", flush=True)
        time.sleep(PAUSE_S)
    would = [each for each in seen if each.get("wouldDecision", each["outcome"]) != "allow"]
    print(f"Of the last {len(seen)} requests, enforce mode would have challenged or blocked {len(would)}:")
    for each in would[:10]:
        what = each.get("wouldDecision", each["outcome"])
        print(f"  {what} {each['method']} {each['route']}  {each.get('matchedRule', '')}  {each['id']}")
    print("Run `agentgate explain ID` for details.")


def _offer_enforce(api: AdminApi, site_key: str, proxy: str) -> None:
    if api.get(site_path(site_key))["mode"] == "enforce":
        print(f"{site_key} is already in enforce mode.")
    elif click.confirm("Switch to enforce?"):
        api.call("PATCH", site_path(site_key), {"mode": "enforce"})
        print(f"{site_key} is in enforce mode.")
    else:
        return
    print(_how_to_close(proxy, site_key))


def _how_to_close(proxy: str, site_key: str) -> str:
    line = unavailable_line(proxy, Installation(site=site_key))
    return (
        "While AgentGate is unavailable, the files for monitor mode allow all requests. To block them, change "
        f"this line of {line.file} and reload {proxy}:\n  from: {line.monitor}\n  to:   {line.enforce}"
    )
