"""`agentgate apply`: a site as a file. What would change is shown first."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import click
import yaml

from agentgate.lib.clock import to_rfc3339
from agentgate.lib.enums import Preset
from agentgate.sites.records import SiteChange
from agentgate_tools.commands.api_client import AdminApi, NotThere, site_path
from agentgate_tools.commands.command import CommandRefused, JsonOption, print_json, read_file
from agentgate_tools.commands.parameters import Argument, Option
from agentgate_tools.commands.remote.apply_networks import (
    NETWORK_LISTS,
    delete_lists,
    differences,
    normalized,
    read_lists,
    save_lists,
)
from agentgate_tools.commands.remote.rules import save_rules

# Keys of a file in addition to the fields of the site itself.
RULES, OVERRIDES, PRESET, POLICY = "rules", "overrides", "preset", "agentPolicy"
OF_RULES = (RULES, OVERRIDES, PRESET)


class SiteList(NamedTuple):
    """A list of a site in a file: where it is in the API, and the fields of an item."""

    path: str
    keys: tuple[str, ...]

    def of(self, item: Any) -> dict[str, Any]:
        return {key: item[key] for key in self.keys if key in item and item[key] != ""}


LISTS = {
    "listEntries": SiteList("list-entries", ("kind", "value", "outcome", "note", "expiresAt")),
    "webhooks": SiteList("webhooks", ("url", "events", "format", "filter", "enabled")),
}
# Parts of a file that are not fields of the site.
_APART = {*OF_RULES, POLICY, NETWORK_LISTS, *LISTS}


def apply(
    file: Annotated[Path, Argument(help="YAML or JSON: siteKey, name, allowedOrigins, mode, ...")],
    api: AdminApi,
    *,
    yes: Annotated[bool, Option("--yes", help="Skip the confirmation.")] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Show the plan and change nothing.")] = False,
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
    if not plan or dry_run:
        return
    if not yes:
        click.confirm("Do it?", abort=True)
    _carry_out(api, wanted["siteKey"], plan, exists=present is not None, yes=yes)
    if not as_json:
        print("done")


def _read(file: Path) -> dict[str, Any]:
    try:
        # YAML reads an unquoted time as a date.
        wanted = json.loads(json.dumps(yaml.safe_load(read_file(file)), default=_time))
    except (yaml.YAMLError, TypeError) as error:
        raise CommandRefused(f"{file} cannot be read: {error}") from None
    if not isinstance(wanted, dict) or not isinstance(wanted.get("siteKey"), str):
        raise CommandRefused(f"{file} must have a siteKey, such as `siteKey: site_shop1`, and the fields to set")
    for name in LISTS:
        if not all(isinstance(each, dict) for each in wanted.get(name, [])):
            raise CommandRefused(f"{name} in {file} must be a list of objects, as `agentgate site export` prints it")
        if name in wanted:
            wanted[name] = _ordered(name, wanted[name])
    if NETWORK_LISTS in wanted:
        wanted[NETWORK_LISTS] = normalized(wanted[NETWORK_LISTS])
    if not isinstance(wanted.get(POLICY, {}), dict):
        raise CommandRefused(f"{POLICY} in {file} must have fields, such as `default: allow`")
    return wanted


def _time(value: Any) -> str:
    if not isinstance(value, datetime):
        raise TypeError(f"{value} must be text in quotes")
    return to_rfc3339(int(value.astimezone(UTC).timestamp() * 1_000))


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
    if name in OF_RULES:
        return _rules(api, site_key).get(name)
    if name == POLICY:
        policy = api.get(site_path(site_key, "agent-policy"))
        # Policy fields that the file omits keep their values, as with everything else.
        return {key: policy.get(key) for key in wanted[POLICY]}
    if name == NETWORK_LISTS:
        return read_lists(api, site_key)
    if name in LISTS:
        return _ordered(name, [LISTS[name].of(each) for each in _items(api, site_key, name)])
    return present.get(name)


def _rules(api: AdminApi, site_key: str) -> dict[str, Any]:
    found = api.get(site_path(site_key, "rules"))
    own = {RULES: found["ruleSet"]} if found["source"] == "site" else {}
    return {**own, OVERRIDES: found["overrides"], PRESET: found["preset"]}


def _items(api: AdminApi, site_key: str, name: str) -> list[Any]:
    return [each for each in api.items(site_path(site_key, LISTS[name].path)) if not each.get("expired")]


def _ordered(name: str, items: list[Any]) -> list[Any]:
    return sorted(items, key=lambda each: [str(each.get(key)) for key in LISTS[name].keys])


def export(site_key: str, api: AdminApi) -> dict[str, Any]:
    """Return everything that `apply` can set of a site; secrets are in no file."""
    present = api.get(site_path(site_key))
    fields = {each for each in SiteChange.__struct_encode_fields__ if each in present}
    policy = api.get(site_path(site_key, "agent-policy"))
    return {
        "siteKey": site_key,
        **{name: value for name, value in present.items() if name in fields},
        **_rules(api, site_key),
        POLICY: policy,
        NETWORK_LISTS: read_lists(api, site_key),
        **{name: _ordered(name, [LISTS[name].of(each) for each in _items(api, site_key, name)]) for name in LISTS},
    }


def _print_plan(plan: dict[str, Any], *, exists: bool) -> None:
    if not exists:
        print("the site will be created")
    for name, change in plan.items():
        if name == NETWORK_LISTS:
            print("\n".join(differences(change["before"], change["after"])))
            continue
        print(f"~ {name}: {change['before']!r} -> {change['after']!r}" if exists else f"+ {name}: {change['after']!r}")
    if not plan:
        print("no changes")


def _carry_out(api: AdminApi, site_key: str, plan: dict[str, Any], *, exists: bool, yes: bool) -> None:
    fields = {name: change["after"] for name, change in plan.items() if name not in _APART}
    done: list[str] = []
    try:
        if not exists:
            api.call("POST", "/sites", {"siteKey": site_key, **fields})
            fields = {}
            done.append("the site exists")
        if NETWORK_LISTS in plan:
            save_lists(api, site_key, plan[NETWORK_LISTS])
            done.append("network lists are saved")
        # The request that can be rejected for most reasons comes before the rest.
        if any(name in plan for name in OF_RULES):
            _save_rules(api, site_key, plan, fields, yes=yes)
            done.append("rules are active")
        if NETWORK_LISTS in plan:
            delete_lists(api, site_key, plan[NETWORK_LISTS])
        if POLICY in plan:
            path = site_path(site_key, "agent-policy")
            api.call("PUT", path, {**api.get(path), **plan[POLICY]["after"]})
            done.append("the agent policy is active")
        for name in LISTS:
            if name in plan:
                _replace_items(api, site_key, name, plan[name]["after"])
                done.append(f"{name} are active")
        if fields:
            api.call("PATCH", site_path(site_key), fields)
    except CommandRefused as refused:
        raise CommandRefused(f"{refused} ({'; '.join(done) or 'nothing was changed'})") from None


def _save_rules(api: AdminApi, site_key: str, plan: dict[str, Any], fields: dict[str, Any], *, yes: bool) -> None:
    if "actions" in fields and PRESET in plan and plan[PRESET]["after"] != Preset.NONE.value:
        # A preset needs the action that its challenge page leads to.
        api.call("PATCH", site_path(site_key), {"actions": fields.pop("actions")})
    revision = api.get(site_path(site_key, "rules"))["revision"]
    after = _rules(api, site_key) | {name: plan[name]["after"] for name in OF_RULES if name in plan}
    own = {"ruleSet": after[RULES]} if after.get(RULES) is not None else {}
    body = {**own, OVERRIDES: after[OVERRIDES], PRESET: after[PRESET], "revision": revision}
    save_rules(api, site_key, body, yes=yes)


def _replace_items(api: AdminApi, site_key: str, name: str, wanted: list[Any]) -> None:
    """Make a list of the site equal to the file's. New items come first, so that nothing is unprotected in between."""
    kind, path = LISTS[name], site_path(site_key, LISTS[name].path)
    present = _items(api, site_key, name)
    for each in wanted:
        if each not in map(kind.of, present):
            made = api.call("POST", path, each)
            if "secret" in made:
                click.secho(f"secret of {each['url']}: {made['secret']}", err=True)
    for each in present:
        if kind.of(each) not in wanted:
            api.call("DELETE", f"{path}/{each['id']}")
