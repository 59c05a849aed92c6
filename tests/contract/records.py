"""Which Struct stands for which record of the specification, and which records are not built yet."""

from importlib import import_module

# Record -> module and Struct. Names, not classes: a package that is missing must fail its own record's test only.
RECORDS = {
    "Error body": "agentgate.http.replies:ErrorBody",
    "LoginRequest": "agentgate.people.identity.records:LoginRequest",
    "SessionInfo": "agentgate.people.identity.records:SessionInfo",
    "Site": "agentgate.sites.records:Site",
    "SiteAction": "agentgate.sites.records:SiteAction",
    "SiteRoute": "agentgate.sites.records:SiteRoute",
    "SiteSummary": "agentgate.sites.records:SiteSummary",
    "SiteDetail": "agentgate.sites.records:SiteDetail",
    "SiteInput": "agentgate.sites.records:SiteInput",
    "Credential": "agentgate.sites.credentials.records:Credential",
    "CredentialInput": "agentgate.sites.credentials.records:CredentialInput",
    "RotateInput": "agentgate.sites.credentials.records:RotateInput",
    "CredentialSecret": "agentgate.sites.credentials.records:CredentialSecret",
    "ConfigChange": "agentgate.people.audit.records:ConfigChange",
    "RuleMatch": "agentgate.sites.rules.records:RuleMatch",
    "RuleResponse": "agentgate.sites.rules.records:RuleResponse",
    "Rule": "agentgate.sites.rules.records:Rule",
    "ManagedGroupRef": "agentgate.sites.rules.records:ManagedGroupRef",
    "RuleSet": "agentgate.sites.rules.records:RuleSet",
    "ManagedGroupMember": "agentgate.sites.rules.records:ManagedGroupMember",
    "ManagedGroup": "agentgate.sites.rules.records:ManagedGroup",
    "RulesView": "agentgate.sites.rules.records:RulesView",
    "RulesRequest": "agentgate.sites.rules.records:RulesRequest",
    "RuleProblem": "agentgate.sites.rules.records:RuleProblem",
    "ValidateResult": "agentgate.sites.rules.records:ValidateResult",
    "OutcomeCounts": "agentgate.events.queries.records:OutcomeCounts",
    "DailyPoint": "agentgate.events.queries.records:DailyPoint",
    "SeriesPoint": "agentgate.events.queries.records:SeriesPoint",
    "Metrics": "agentgate.events.queries.records:Metrics",
    "VisitorSummary": "agentgate.events.queries.records:VisitorSummary",
    "VisitorPage": "agentgate.events.queries.records:VisitorPage",
    "VisitorDetail": "agentgate.events.queries.records:VisitorDetail",
    "Decision": "agentgate.events.queries.records:Decision",
    "DecisionPage": "agentgate.events.queries.records:DecisionPage",
    "DecisionDetail": "agentgate.sites.rules.decision_endpoints:DecisionDetail",
}

# The list may only shrink.
RECORDS_NOT_BUILT_YET = ()


def load(name: str) -> type:
    """Return the Struct that stands for a record."""
    module, _, struct = RECORDS[name].partition(":")
    found: type = getattr(import_module(module), struct)
    return found
