"""`agentgate adapter`: prints the configuration of a proxy, filled in for a site. The texts are in `adapters/`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from agentgate.server.cli.command import CommandAnswer, read_file
from agentgate_tools.adapters.render import EXAMPLE, FILES, PLACEHOLDER_SECRET, Installation, file_name, render
from agentgate_tools.adapters.snippets import SNIPPETS


@dataclass(frozen=True)
class AdapterOptions:
    """The arguments of the command; a function would have to take too many."""

    proxy: Annotated[str, typer.Argument(help="One of " + ", ".join(FILES) + ".")]
    site: Annotated[str, typer.Option(help="The site's key.")] = EXAMPLE.site
    service: Annotated[str, typer.Option(help="Where AgentGate listens.")] = EXAMPLE.service
    service_ca: Annotated[
        str, typer.Option(help="File with the authorities that vouch for a service with https://.")
    ] = EXAMPLE.service_ca
    origin: Annotated[str, typer.Option(help="The site as visitors see it.")] = EXAMPLE.origin
    upstream: Annotated[str, typer.Option(help="Where the site itself runs.")] = EXAMPLE.upstream
    secret_file: Annotated[
        Path | None, typer.Option(help="File with a backend secret of the site; without it, a placeholder.")
    ] = None
    listen: Annotated[str, typer.Option(help="Where the proxy listens, such as 127.0.0.1:8000.")] = ""
    down_page: Annotated[
        str, typer.Option(help="Traefik: path of a page of the site's, for people while AgentGate is away.")
    ] = ""
    file: Annotated[str | None, typer.Option(help="Which file to print, where a proxy has several.")] = None


def adapter(options: AdapterOptions) -> CommandAnswer:
    """Print the configuration that puts AgentGate in front of a site."""
    name = file_name(options.proxy, options.file)
    installation = Installation(
        site=options.site,
        service=options.service,
        service_ca=options.service_ca,
        origin=options.origin,
        upstream=options.upstream,
        secret=_secret(options.secret_file),
        listen=options.listen,
        down_page=options.down_page,
    )
    text = render(options.proxy, installation, name)
    others = [other for other in FILES[options.proxy] if other != name]
    note = "\n".join(f"also needed: {other}; print it with --file {other}" for other in others)
    if options.proxy == "nginx":
        parts = f"for a server of your own that has files or PHP: --file {', '.join(SNIPPETS)}"
        note = "" if name in SNIPPETS else parts
    return CommandAnswer({"file": name, "text": text}, text.removesuffix("\n"), note=note)


def _secret(path: Path | None) -> str:
    if path is None:
        return PLACEHOLDER_SECRET
    return read_file(path, "it must hold a secret of the site").strip()
