"""Which Struct stands for which record of the specification, and which records are not built yet."""

from importlib import import_module

# Record -> module and Struct. Names, not classes: a package that is missing must fail its own record's test only.
RECORDS = {
    "Error body": "agentgate.web.openapi:ErrorBody",
    "LoginRequest": "agentgate.identity.records:LoginRequest",
    "SessionInfo": "agentgate.identity.records:SessionInfo",
    "Site": "agentgate.sites.records:Site",
    "SiteAction": "agentgate.sites.records:SiteAction",
    "SiteRoute": "agentgate.sites.records:SiteRoute",
    "SiteSummary": "agentgate.sites.records:SiteSummary",
    "SiteDetail": "agentgate.sites.records:SiteDetail",
    "SiteInput": "agentgate.sites.records:SiteInput",
    "Credential": "agentgate.credentials.records:Credential",
    "CredentialInput": "agentgate.credentials.records:CredentialInput",
    "RotateInput": "agentgate.credentials.records:RotateInput",
    "CredentialSecret": "agentgate.credentials.records:CredentialSecret",
    "ConfigChange": "agentgate.audit.records:ConfigChange",
}

# The list may only shrink.
RECORDS_NOT_BUILT_YET = (
    "RuleMatch",
    "RuleResponse",
    "Rule",
    "ManagedGroupRef",
    "RuleSet",
    "ManagedGroupMember",
    "ManagedGroup",
    "RulesView",
    "RulesRequest",
    "RuleProblem",
    "ValidateResult",
    "OutcomeCounts",
    "DailyPoint",
    "SeriesPoint",
    "Metrics",
    "VisitorSummary",
    "VisitorPage",
    "VisitorDetail",
    "Decision",
    "DecisionPage",
    "DecisionDetail",
)


def load(name: str) -> type:
    """Return the Struct that stands for a record."""
    module, _, struct = RECORDS[name].partition(":")
    found: type = getattr(import_module(module), struct)
    return found
