"""Which Struct stands for which record of the specification, and which records are not built yet."""

from importlib import import_module

# Record -> module and Struct. Names, not classes: a package that is missing must fail its own record's test only.
RECORDS = {
    "Error body": "agentgate.http.replies:ErrorBody",
    "LoginRequest": "agentgate.people.identity.records:LoginRequest",
    "SessionInfo": "agentgate.people.identity.records:SessionInfo",
    "Site": "agentgate.protection.sites.records:Site",
    "SiteAction": "agentgate.protection.sites.records:SiteAction",
    "SiteRoute": "agentgate.protection.sites.records:SiteRoute",
    "SiteSummary": "agentgate.protection.sites.records:SiteSummary",
    "SiteDetail": "agentgate.protection.sites.records:SiteDetail",
    "SiteInput": "agentgate.protection.sites.records:SiteInput",
    "Credential": "agentgate.protection.credentials.records:Credential",
    "CredentialInput": "agentgate.protection.credentials.records:CredentialInput",
    "RotateInput": "agentgate.protection.credentials.records:RotateInput",
    "CredentialSecret": "agentgate.protection.credentials.records:CredentialSecret",
    "ConfigChange": "agentgate.people.audit.records:ConfigChange",
    "RuleMatch": "agentgate.protection.rules.records:RuleMatch",
    "RuleResponse": "agentgate.protection.rules.records:RuleResponse",
    "Rule": "agentgate.protection.rules.records:Rule",
    "ManagedGroupRef": "agentgate.protection.rules.records:ManagedGroupRef",
    "RuleSet": "agentgate.protection.rules.records:RuleSet",
    "ManagedGroupMember": "agentgate.protection.rules.records:ManagedGroupMember",
    "ManagedGroup": "agentgate.protection.rules.records:ManagedGroup",
    "RulesView": "agentgate.protection.rules.records:RulesView",
    "RulesRequest": "agentgate.protection.rules.records:RulesRequest",
    "RuleProblem": "agentgate.protection.rules.records:RuleProblem",
    "ValidateResult": "agentgate.protection.rules.records:ValidateResult",
    "OutcomeCounts": "agentgate.events.queries.records:OutcomeCounts",
    "DailyPoint": "agentgate.events.queries.records:DailyPoint",
    "SeriesPoint": "agentgate.events.queries.records:SeriesPoint",
    "Metrics": "agentgate.events.queries.records:Metrics",
    "VisitorSummary": "agentgate.events.queries.records:VisitorSummary",
    "VisitorPage": "agentgate.events.queries.records:VisitorPage",
    "VisitorDetail": "agentgate.events.queries.records:VisitorDetail",
    "Decision": "agentgate.events.queries.records:Decision",
    "DecisionPage": "agentgate.events.queries.records:DecisionPage",
    "DecisionDetail": "agentgate.protection.rules.decision_endpoints:DecisionDetail",
}

# The list may only shrink.
RECORDS_NOT_BUILT_YET = ()


def load(name: str) -> type:
    """Return the Struct that stands for a record."""
    module, _, struct = RECORDS[name].partition(":")
    found: type = getattr(import_module(module), struct)
    return found
