"""`agentgate import anubis`: the policy of another product as a rule set, with a report."""

from pathlib import Path
from typing import Annotated

import click
import msgspec
import yaml

from agentgate_tools.anubis.policy import convert
from agentgate_tools.commands.api_client import UrlOption, open_api, site_path
from agentgate_tools.commands.command import (
    CommandAnswer,
    CommandRefused,
    ConfigOption,
    PrintedTable,
    command,
    read_file,
)
from agentgate_tools.commands.parameters import Argument, Option
from agentgate_tools.commands.remote.networks import put_networks
from agentgate_tools.rule_text import formatted

DATA = "(data)/"
import_ = click.Group(
    help="Convert the policy of another product.",
    epilog="Example: agentgate import anubis botPolicies.yaml --out rules.yaml",
)


@command(import_, "anubis", "agentgate import anubis botPolicies.yaml --data anubis/data --out rules.yaml")
def anubis(
    file: Annotated[Path, Argument(help="The policy of Anubis.", exists=True, dir_okay=False)],
    data: Annotated[
        Path | None,
        Option("--data", help="Folder `data` of the Anubis sources, for imports. Default: the folder of the policy."),
    ] = None,
    out: Annotated[Path | None, Option("--out", help="File for the rules. Default: print them.")] = None,
    site: Annotated[
        str | None,
        Option("--site", help="Site key. Networks become network lists of this site. Default: networks in rules."),
    ] = None,
    *,
    url: UrlOption = None,
    config: ConfigOption = None,
) -> CommandAnswer:
    """Convert an Anubis policy to rules and report all parts that did not convert. No rule is activated."""

    def read_import(name: str) -> str:
        folder = (data or file.parent) if name.startswith(DATA) else file.parent
        return read_file(folder / name.removeprefix(DATA))

    try:
        found = convert(read_file(file), read_import, has_network_lists=site is not None)
    except (ValueError, yaml.YAMLError) as problem:
        raise CommandRefused(f"{file}: {problem}") from None
    if site is not None:
        api = open_api(url, config)
        for name, networks in found.network_lists.items():
            api.call("PUT", site_path(site, "network-lists", name), {"source": "own", "note": f"Anubis: {file.name}"})
            put_networks(api, site, name, networks, replace=True)
    text = formatted(yaml.safe_dump(found.rule_set, sort_keys=False, allow_unicode=True))
    people: list[str | PrintedTable] = []
    if out is None:
        people.append(text)
    else:
        out.write_text(text, encoding="utf-8")
    if found.unconverted:
        rows = [(each.name, each.reason) for each in found.unconverted]
        people.append(PrintedTable("Not converted", ("Rule", "Reason"), rows))
    people += found.notes
    people += [f"{name}: {len(networks)} networks" for name, networks in found.network_lists.items()]
    total = found.converted + len(found.unconverted)
    people.append(f"{found.converted} of {total} rules converted{'' if out is None else f' to {out}'}")
    return CommandAnswer(msgspec.to_builtins(found), people)
