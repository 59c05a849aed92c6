"""`agentgate apply`: a site as a file. What would change is shown first."""

from pathlib import Path
from typing import Annotated, Any

import click
import yaml

from agentgate_tools.commands.api_client import AdminApi, NotThere, site_path
from agentgate_tools.commands.command import CommandRefused, JsonOption, print_json, read_file
from agentgate_tools.commands.parameters import Argument, Option
from agentgate_tools.commands.remote.rules import save_rules

# What stands in a file beside the fields of the site itself.
RULES, POLICY = "rules", "agentPolicy"


def apply(
    file: Annotated[Path, Argument(help="YAML or JSON: siteKey, name, allowedOrigins, mode, ...")],
    api: AdminApi,
    *,
    yes: Annotated[bool, Option("--yes", help="Skip the confirmation.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Apply a site's configuration file: create the site or change the differences. Omitted fields are unchanged."""
    wanted = _read(file)
    present = _present(api, wanted["siteKey"])
    plan = _plan(api, wanted, present)
    if as_json:
        print_json(plan)
    else:
        _print_plan(plan, exists=present is not None)
    if not plan:
        return
    if not yes:
        click.confirm("Do it?", abort=True)
    _carry_out(api, wanted["siteKey"], plan, exists=present is not None, yes=yes)
    if not as_json:
        print("done")


def _read(file: Path) -> dict[str, Any]:
    try:
        wanted = yaml.safe_load(read_file(file))
    except yaml.YAMLError as error:
        raise CommandRefused(f"{file} cannot be read: {error}") from None
    if not isinstance(wanted, dict) or not isinstance(wanted.get("siteKey"), str):
        raise CommandRefused(f"{file} must have a siteKey, such as `siteKey: site_shop1`, and the fields to set")
    if not isinstance(wanted.get(POLICY, {}), dict):
        raise CommandRefused(f"{POLICY} in {file} must have fields, such as `default: allow`")
    return wanted


def _present(api: AdminApi, site_key: str) -> Any:
    try:
        return api.get(site_path(site_key))
    except NotThere:
        return None


def _plan(api: AdminApi, wanted: dict[str, Any], present: Any) -> dict[str, Any]:
    """Return what differs: field -> {before, after}."""
    plan = {}
    for name, after in wanted.items():
        if name == "siteKey":
            continue
        before = _value(api, wanted, name, present)
        if before != after:
            plan[name] = {"before": before, "after": after}
    return plan


def _value(api: AdminApi, wanted: dict[str, Any], name: str, present: Any) -> Any:
    site_key = wanted["siteKey"]
    if present is None:
        return None
    if name == RULES:
        found = api.get(site_path(site_key, "rules"))
        return found["ruleSet"] if found["source"] == "site" else None
    if name == POLICY:
        policy = api.get(site_path(site_key, "agent-policy"))
        # What the file leaves out of a policy stays, as with everything else.
        return {key: policy.get(key) for key in wanted[POLICY]}
    return present.get(name)


def _print_plan(plan: dict[str, Any], *, exists: bool) -> None:
    if not exists:
        print("the site will be created")
    for name, change in plan.items():
        print(f"~ {name}: {change['before']!r} -> {change['after']!r}" if exists else f"+ {name}: {change['after']!r}")
    if not plan:
        print("no changes")


def _carry_out(api: AdminApi, site_key: str, plan: dict[str, Any], *, exists: bool, yes: bool) -> None:
    fields = {name: change["after"] for name, change in plan.items() if name not in {RULES, POLICY}}
    done: list[str] = []
    try:
        if not exists:
            api.call("POST", "/sites", {"siteKey": site_key, **fields})
            done.append("the site exists")
        # What can be refused for most reasons comes first.
        if RULES in plan:
            revision = api.get(site_path(site_key, "rules"))["revision"]
            save_rules(api, site_key, {"ruleSet": plan[RULES]["after"], "revision": revision}, yes=yes)
            done.append("rules are active")
        if POLICY in plan:
            path = site_path(site_key, "agent-policy")
            api.call("PUT", path, {**api.get(path), **plan[POLICY]["after"]})
            done.append("the agent policy is active")
        if exists and fields:
            api.call("PATCH", site_path(site_key), fields)
    except CommandRefused as refused:
        raise CommandRefused(f"{refused} ({'; '.join(done) or 'nothing was changed'})") from None
