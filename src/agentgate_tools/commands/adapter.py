"""`agentgate adapter`: prints the configuration of a proxy, filled in for a site. The texts are in `adapters/`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from agentgate.lib.enums import Mode
from agentgate_tools.adapters.render import (
    EXAMPLE,
    FILES,
    INCLUDES,
    PLACEHOLDER_SECRET,
    Installation,
    file_name,
    render,
)
from agentgate_tools.adapters.visitor_tls import Certificate
from agentgate_tools.commands.command import CommandAnswer, CommandRefused, read_file
from agentgate_tools.commands.parameters import Argument, Option


@dataclass(frozen=True)
class AdapterOptions:
    """The arguments of the command; a function would have to take too many."""

    proxy: Annotated[str, Argument(help="One of " + ", ".join(FILES) + ".")]
    site: Annotated[str, Option(help="Site key.")] = EXAMPLE.site
    service: Annotated[str, Option(help="AgentGate's public listener: an address, or unix:/PATH.")] = EXAMPLE.service
    service_ca: Annotated[str, Option(help="File with the certificate authorities for AgentGate behind https://.")] = (
        EXAMPLE.service_ca
    )
    origin: Annotated[str, Option(help="The site's public address.")] = EXAMPLE.origin
    upstream: Annotated[str, Option(help="Address of the application behind the proxy.")] = EXAMPLE.upstream
    secret_file: Annotated[
        Path | None, Option(help="File with a backend secret of the site. Default: a placeholder.")
    ] = None
    listen: Annotated[str, Option(help="Address on which the proxy listens, such as 127.0.0.1:8000.")] = ""
    mode: Annotated[
        Mode,
        Option(
            help="The site's mode. While AgentGate is unavailable, monitor allows requests and enforce blocks them."
        ),
    ] = Mode.MONITOR
    prices: Annotated[
        bool, Option("--prices", help="The site's agent policy has prices: allowed requests say what was charged.")
    ] = False
    fleet: Annotated[
        bool, Option("--fleet", help="For all servers of a hosting provider; the secret is a fleet credential's.")
    ] = False
    robots: Annotated[bool, Option("--robots", help="Serve the robots.txt that AgentGate writes for the site.")] = False
    decoys: Annotated[bool, Option("--decoys", help="Add the site's decoys to its pages; nginx only.")] = False
    file: Annotated[str | None, Option(help="File to print. Default: the main file.")] = None
    certificate: Annotated[
        Path | None,
        Option(help="File with the site's TLS certificate and chain. Default: certbot's file for the host."),
    ] = None
    certificate_key: Annotated[
        Path | None, Option(help="File with the certificate's key. Default: the certificate's file.")
    ] = None


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
        mode=options.mode.value,
        fleet=options.fleet,
        prices=options.prices,
        robots=options.robots,
        decoys=options.decoys,
        certificate=chosen_certificate(options.certificate, options.certificate_key),
    )
    text = render(options.proxy, installation, name)
    includes = INCLUDES.get(options.proxy, ())
    others = [other for other in FILES[options.proxy][1:] if other not in (name, *includes)]
    notes = [f"{other} is also required. Print it with --file {other}" for other in others]
    if includes and name == FILES[options.proxy][0]:
        notes.append(f"for an existing {options.proxy} server: --file {' and --file '.join(includes)}")
    return CommandAnswer({"file": name, "text": text}, text.removesuffix("\n"), note="\n".join(notes))


def chosen_certificate(chain: Path | None, key: Path | None) -> Certificate | None:
    """Return the certificate that options name; None if they name none."""
    if chain is None and key is not None:
        raise CommandRefused("--certificate-key is without --certificate; give both files")
    return None if chain is None else Certificate(chain=str(chain), key=str(key or chain))


def _secret(path: Path | None) -> str:
    if path is None:
        return PLACEHOLDER_SECRET
    return read_file(path, "it must hold a secret of the site").strip()
