"""The `agentgate` command: its list of subcommands, and how errors are printed.

Each subcommand is a function, or a group of functions, in its own module. Only the module of the requested subcommand
is imported, because imports dominate the start time.
"""

import gc
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from keyword import iskeyword
from typing import NamedTuple

import click

from agentgate import __version__
from agentgate.lib.settings.schema import SettingsRefused
from agentgate_tools.commands.command import command
from agentgate_tools.commands.parameters import make_command

ERROR_EXIT_CODE = 2
DESCRIPTION = "Self-hosted bot protection for websites, forms and APIs, with access policies for signed AI agents."
DEBUG_OPTION, VERSION_OPTION = "--debug", "--version"


class Subcommand(NamedTuple):
    """A subcommand: its name, its module, and an example for its help. The commands of a group have their own."""

    name: str
    module: str
    example: str = ""


COMMANDS = (
    Subcommand("serve", "agentgate.server.cli.serve", "agentgate serve --config /etc/agentgate.toml"),
    Subcommand(
        "mcp",
        "agentgate_tools.commands.mcp_server",
        "AGENTGATE_API_TOKEN=agt_... agentgate mcp --url https://gate.example",
    ),
    Subcommand("migrate", "agentgate.server.cli.migrate", "agentgate migrate --check || agentgate migrate"),
    Subcommand("routes", "agentgate.server.cli.routes", "agentgate routes --surface admin"),
    Subcommand("openapi", "agentgate.server.cli.routes", "agentgate openapi admin --out admin.json"),
    Subcommand("check-config", "agentgate.server.cli.about", "AGENTGATE_WORKERS=4 agentgate check-config"),
    Subcommand("selftest", "agentgate.server.cli.selftest", "agentgate selftest --json"),
    Subcommand("classify", "agentgate_tools.commands.classify", "agentgate classify /var/log/nginx/access.log --json"),
    Subcommand("import", "agentgate_tools.commands.importing"),
    Subcommand("backup", "agentgate.server.cli.backup", "agentgate backup /var/backups/agentgate/monday"),
    Subcommand(
        "restore", "agentgate.server.cli.restore", "agentgate restore /var/backups/agentgate/monday --overwrite"
    ),
    Subcommand("copy", "agentgate.server.cli.copy", "agentgate copy --to-file /etc/agentgate/database_url"),
    Subcommand("version", "agentgate.server.cli.about", "agentgate version --json"),
    Subcommand(
        "adapter",
        "agentgate_tools.commands.adapter",
        "agentgate adapter nginx --origin https://shop.example > gate.conf",
    ),
    Subcommand(
        "doctor", "agentgate_tools.commands.doctor", "agentgate doctor https://shop.example --protected-path /login"
    ),
    Subcommand("train", "agentgate_tools.commands.train", "agentgate train labels.ndjson --kind bot"),
    Subcommand(
        "agent-sim",
        "agentgate_tools.commands.agent_sim",
        "agentgate agent-sim http://127.0.0.1:8080 --submit site_demo1/contact",
    ),
    Subcommand(
        "protect", "agentgate_tools.commands.remote.protect", "agentgate protect https://shop.example --proxy nginx"
    ),
    Subcommand("tail", "agentgate_tools.commands.remote.decisions", "agentgate tail site_shop1 --outcome block"),
    Subcommand("explain", "agentgate_tools.commands.remote.decisions", "agentgate explain dec_0123456789abc"),
    Subcommand("apply", "agentgate_tools.commands.remote.apply", "agentgate apply site.yaml"),
    Subcommand("invite", "agentgate_tools.commands.remote.sites", "agentgate invite ann@example.com --customer Shop"),
    Subcommand("setup-link", "agentgate_tools.commands.remote.sites", "agentgate setup-link"),
    Subcommand("reset-link", "agentgate_tools.commands.remote.sites", "agentgate reset-link ann@example.com"),
    Subcommand("site", "agentgate_tools.commands.remote.sites"),
    Subcommand("credential", "agentgate_tools.commands.remote.sites"),
    Subcommand("fleet", "agentgate_tools.commands.remote.fleet"),
    Subcommand("rules", "agentgate_tools.commands.remote.rules"),
    Subcommand("networks", "agentgate_tools.commands.remote.networks"),
    Subcommand("feed", "agentgate_tools.commands.feed"),
    Subcommand("keys", "agentgate.server.cli.keys"),
    Subcommand("agent-keys", "agentgate_tools.commands.agent_keys"),
    Subcommand("intel", "agentgate_tools.commands.intel"),
    Subcommand("labels", "agentgate_tools.commands.remote.decisions"),
    Subcommand("probes", "agentgate_tools.commands.probes"),
)
# These commands run until they are stopped and return no result that `--json` could print.
WITHOUT_ANSWER = ("serve", "mcp")


def command_line(listed: Sequence[Subcommand] = COMMANDS) -> click.Group:
    app = click.Group(
        "agentgate",
        params=[
            # `run` removes the first option from the arguments; it is declared here so that --help shows it.
            click.Option([DEBUG_OPTION], is_flag=True, expose_value=False, help="Show the traceback of an error."),
            click.Option(
                [VERSION_OPTION],
                is_flag=True,
                expose_value=False,
                is_eager=True,
                callback=_print_version,
                help="Print the version and exit.",
            ),
        ],
        help=DESCRIPTION,
        epilog="Example: agentgate serve --demo",
        context_settings={"max_content_width": 100},
    )
    for each in listed:
        name = each.name.replace("-", "_") + "_" * iskeyword(each.name)
        found = getattr(import_module(each.module), name)
        if isinstance(found, click.Group):
            # click's own short help of a group ends after 45 characters.
            found.short_help = found.help
            app.add_command(found, each.name)
        elif each.name in WITHOUT_ANSWER:
            app.add_command(make_command(found, name=each.name, example=each.example))
        else:
            command(app, each.name, each.example)(found)
    return app


def _wanted(arguments: Sequence[str]) -> Sequence[Subcommand]:
    """Return the subcommand that the arguments begin with; all, where there is none to be found."""
    if arguments == [VERSION_OPTION]:
        return ()
    return [each for each in COMMANDS if arguments and each.name == arguments[0]] or COMMANDS


def _print_version(context: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if wanted:
        print(f"agentgate {__version__}")
        context.exit()


def main() -> None:
    """Run the command of this process's arguments and exit."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run a command and return its exit code; an error becomes one line and code 2."""
    # Taken from anywhere in the line: who has just seen an error adds it at the end.
    debug = DEBUG_OPTION in arguments
    given = [argument for argument in arguments if argument != DEBUG_OPTION]
    try:
        # Imports create no garbage, and collecting garbage takes 10% of the start time.
        gc.disable()
        app = command_line(_wanted(given))
        gc.enable()
        result = app.main(list(given) or ["--help"], prog_name="agentgate", standalone_mode=False)
    except (KeyboardInterrupt, click.Abort):
        return _tell("stopped")
    except SettingsRefused as refused:
        _tell(f"the settings have {len(refused.problems)} problem(s):")
        for problem in refused.problems:
            click.secho(f"  {problem}", err=True)
        return ERROR_EXIT_CODE
    except click.exceptions.NoArgsIsHelpError as group:
        click.echo(group.format_message(), err=True)
        return ERROR_EXIT_CODE
    except click.ClickException as wrong_use:
        return _tell(wrong_use.format_message())
    except Exception as error:  # noqa: BLE001 - the last place where an error can be told to a person
        if debug:
            traceback.print_exc()
        told = _tell(str(error) or type(error).__name__)
        return told if debug else _hint(error, told)
    return result if isinstance(result, int) else 0


def _tell(message: str) -> int:
    line = " ".join(message.split())
    click.secho(f"agentgate: {line}", err=True, fg="red")
    return ERROR_EXIT_CODE


def _hint(error: Exception, code: int) -> int:
    # An error class of ours is meant for people; anything else is a surprise, and its place is worth knowing.
    if not type(error).__module__.startswith(("agentgate.", "agentgate_tools.")):
        click.secho(f"  ({type(error).__name__}; add {DEBUG_OPTION} for the traceback)", err=True)
    return code
