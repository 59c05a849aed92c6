"""The records that the contract spells out in its fourth section, field for field."""

import re
from importlib import import_module
from pathlib import Path

import msgspec
import pytest

TEXT = (Path(__file__).parents[2] / "docs" / "contract.md").read_text(encoding="utf-8")

PLACES = {
    "agentgate.people.accounts.records": (
        "Limits",
        "Usage",
        "Member",
        "ApiToken",
        "DeletedAccount",
        "MemberInput",
        "MemberInviteResult",
        "RoleInput",
        "AccessRequest",
    ),
    "agentgate.people.audit.records": ("AuditEvent", "AuditPage"),
    "agentgate.sites.customers.records": (
        "Account",
        "AccountList",
        "CustomerSummary",
        "CustomerList",
        "CustomerDetail",
        "CustomerPatch",
        "InviteInput",
        "InviteResult",
    ),
    "agentgate.people.outbox.records": ("OutboxMessage",),
    "agentgate.people.feedback.repository": ("DocsFeedbackReport",),
}
MODULES = {name: module for module, names in PLACES.items() for name in names}

# Required by the contract, but absent for a user who is in no account: see docs/gaps.md.
OPTIONAL_HERE = {"Account": {"role", "customerId", "customerName"}}


def contract_records() -> dict[str, dict[str, bool]]:
    """Return record -> field -> whether it is required, for every record of the section's block."""
    block = TEXT.partition("## 4.")[2].partition("```")[2].partition("```")[0]
    found: dict[str, dict[str, bool]] = {}
    for entry in re.split(r"\n(?=[A-Z])", block.strip()):
        name, _, rest = entry.partition(" ")
        extended = re.match(r"\s*(\w+) \+ \{", rest)
        own = fields_of(braces(rest))
        found[name] = {**found[extended[1]], **own} if extended else own
    return found


def braces(text: str) -> str:
    """Return the text between the first brace and the one that closes it."""
    start, depth = text.index("{"), 0
    for index in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[index], 0)
        if depth == 0:
            return text[start + 1 : index]
    raise ValueError(text)


def fields_of(text: str) -> dict[str, bool]:
    """Return the fields named between two braces; `name?` is optional, and so are alternatives."""
    fields: dict[str, bool] = {}
    for part in re.split(r",(?![^{\[(]*[}\])])", re.sub(r"\s+", " ", text)):
        for alternative in part.partition(":")[0].split("|"):
            name = re.match(r"\s*(\w+)(\?)?", alternative)
            assert name is not None, part
            fields[name[1]] = not name[2] and "|" not in part.partition(":")[0]
    return fields


def test_every_record_of_the_section_has_its_struct() -> None:
    assert set(contract_records()) == set(MODULES)


@pytest.mark.parametrize("name", MODULES)
def test_a_record_has_the_fields_of_the_contract(name: str) -> None:
    struct = getattr(import_module(MODULES[name]), name)
    wanted = contract_records()[name]

    built = {field.encode_name: field.required for field in msgspec.structs.fields(struct)}

    assert set(built) == set(wanted)
    if not name.endswith(("Input", "Patch", "Limits")):
        optional = OPTIONAL_HERE.get(name, set())
        assert built == {field: required and field not in optional for field, required in wanted.items()}
