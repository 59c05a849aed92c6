"""The `agentgate` command: its list of subcommands, and how an error is told.

Each subcommand is a module beside this one. They import the application inside their functions, so that `--help` and
`check-config` answer at once.
"""

import sys
import traceback
from collections.abc import Sequence
from typing import Annotated

import typer

from agentgate import __version__
from agentgate.lib.settings.schema import SettingsRefused
from agentgate.server.cli.adapter import adapter
from agentgate.server.cli.agent_sim import agent_sim
from agentgate.server.cli.backup import backup
from agentgate.server.cli.classify import classify
from agentgate.server.cli.command import command
from agentgate.server.cli.copy import copy
from agentgate.server.cli.doctor import doctor
from agentgate.server.cli.intel import intel
from agentgate.server.cli.keys import keys
from agentgate.server.cli.mcp_server import mcp
from agentgate.server.cli.migrate import migrate
from agentgate.server.cli.probes import probes
from agentgate.server.cli.remote.apply import apply
from agentgate.server.cli.remote.decisions import explain, labels, tail
from agentgate.server.cli.remote.protect import protect
from agentgate.server.cli.remote.rules import rules
from agentgate.server.cli.remote.sites import credential, invite, site
from agentgate.server.cli.restore import restore
from agentgate.server.cli.routes import check_config, openapi, routes, version
from agentgate.server.cli.serve import serve
from agentgate.server.cli.train import train

ERROR_EXIT_CODE = 2
DEBUG_OPTION = "--debug"

app = typer.Typer(
    name="agentgate",
    help="A self-hosted gate for web traffic: people pass, agents identify themselves, the rest is decided.",
    epilog="Example: agentgate serve --demo",
    pretty_exceptions_enable=False,
)
app.command("serve", epilog="Example: agentgate serve --config /etc/agentgate.toml")(serve)
app.command("mcp", epilog="Example: AGENTGATE_API_TOKEN=agt_... agentgate mcp --url https://gate.example")(mcp)
command(app, "migrate", "agentgate migrate --check || agentgate migrate")(migrate)
command(app, "routes", "agentgate routes --surface admin")(routes)
command(app, "openapi", "agentgate openapi admin --out admin.json")(openapi)
command(app, "check-config", "AGENTGATE_WORKERS=4 agentgate check-config")(check_config)
command(app, "classify", "agentgate classify /var/log/nginx/access.log --json")(classify)
command(app, "backup", "agentgate backup /var/backups/agentgate/monday")(backup)
command(app, "restore", "agentgate restore /var/backups/agentgate/monday --overwrite")(restore)
command(app, "copy", "agentgate copy --to-file /etc/agentgate/database_url")(copy)
command(app, "version", "agentgate version --json")(version)
command(app, "adapter", "agentgate adapter nginx --origin https://shop.example > gate.conf")(adapter)
command(app, "doctor", "agentgate doctor https://shop.example --protected-path /login")(doctor)
command(app, "train", "agentgate train labels.ndjson --kind bot")(train)
command(app, "agent-sim", "agentgate agent-sim http://127.0.0.1:8080 --submit site_demo1/contact")(agent_sim)
command(app, "protect", "agentgate protect https://shop.example --proxy nginx")(protect)
command(app, "tail", "agentgate tail site_shop1 --outcome block")(tail)
command(app, "explain", "agentgate explain dec_0123456789abc")(explain)
command(app, "apply", "agentgate apply site.yaml")(apply)
command(app, "invite", "agentgate invite ann@example.com --customer Shop")(invite)
app.add_typer(site, name="site")
app.add_typer(credential, name="credential")
app.add_typer(rules, name="rules")
app.add_typer(keys, name="keys")
app.add_typer(intel, name="intel")
app.add_typer(labels, name="labels")
app.add_typer(probes, name="probes")


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"agentgate {__version__}")
        raise typer.Exit


@app.callback()
def options(
    debug: Annotated[bool, typer.Option(DEBUG_OPTION, help="Show the traceback of an error.")] = False,
    show_version: Annotated[
        bool, typer.Option("--version", help="Print the version and end.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    # `run` takes the option out before; it is declared here so that --help shows it.
    del debug, show_version


def main() -> None:
    """Run the command of this process's arguments and exit."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run a command and return its exit code; an error becomes one line and code 2."""
    # Taken from anywhere in the line: who has just seen an error adds it at the end.
    debug = DEBUG_OPTION in arguments
    given = [argument for argument in arguments if argument != DEBUG_OPTION]
    try:
        result = app(given or ["--help"], prog_name="agentgate", standalone_mode=False)
    except (KeyboardInterrupt, typer.Abort):
        return _tell("stopped")
    except SettingsRefused as refused:
        _tell(f"the settings have {len(refused.problems)} problem(s):")
        for problem in refused.problems:
            typer.secho(f"  {problem}", err=True)
        return ERROR_EXIT_CODE
    except typer.TyperException as wrong_use:
        return _tell(wrong_use.format_message())
    except Exception as error:  # noqa: BLE001 - the last place where an error can be told to a person
        if debug:
            traceback.print_exc()
        told = _tell(str(error) or type(error).__name__)
        return told if debug else _hint(error, told)
    return result if isinstance(result, int) else 0


def _tell(message: str) -> int:
    line = " ".join(message.split())
    typer.secho(f"agentgate: {line}", err=True, fg="red")
    return ERROR_EXIT_CODE


def _hint(error: Exception, code: int) -> int:
    # An error class of ours is meant for people; anything else is a surprise, and its place is worth knowing.
    if not type(error).__module__.startswith(("agentgate.", "agentgate_tools.")):
        typer.secho(f"  ({type(error).__name__}; add {DEBUG_OPTION} for the traceback)", err=True)
    return code
