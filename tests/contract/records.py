"""Which Struct stands for which record of the specification, and which records are not built yet."""

from importlib import import_module

# Record -> module and Struct. Names, not classes: a package that is missing must fail its own record's test only.
RECORDS = {
    "Error body": "agentgate.web.replies:ErrorBody",
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
    "RuleMatch": "agentgate.rules.records:RuleMatch",
    "RuleResponse": "agentgate.rules.records:RuleResponse",
    "Rule": "agentgate.rules.records:Rule",
    "ManagedGroupRef": "agentgate.rules.records:ManagedGroupRef",
    "RuleSet": "agentgate.rules.records:RuleSet",
    "ManagedGroupMember": "agentgate.rules.records:ManagedGroupMember",
    "ManagedGroup": "agentgate.rules.records:ManagedGroup",
    "RulesView": "agentgate.rules.records:RulesView",
    "RulesRequest": "agentgate.rules.records:RulesRequest",
    "RuleProblem": "agentgate.rules.records:RuleProblem",
    "ValidateResult": "agentgate.rules.records:ValidateResult",
    "OutcomeCounts": "agentgate.traffic.records:OutcomeCounts",
    "DailyPoint": "agentgate.traffic.records:DailyPoint",
    "SeriesPoint": "agentgate.traffic.records:SeriesPoint",
    "Metrics": "agentgate.traffic.records:Metrics",
    "VisitorSummary": "agentgate.traffic.records:VisitorSummary",
    "VisitorPage": "agentgate.traffic.records:VisitorPage",
    "VisitorDetail": "agentgate.traffic.records:VisitorDetail",
    "Decision": "agentgate.traffic.records:Decision",
    "DecisionPage": "agentgate.traffic.records:DecisionPage",
    "DecisionDetail": "agentgate.rules.decision_records:DecisionDetail",
}

# The list may only shrink.
RECORDS_NOT_BUILT_YET = ()


def load(name: str) -> type:
    """Return the Struct that stands for a record."""
    module, _, struct = RECORDS[name].partition(":")
    found: type = getattr(import_module(module), struct)
    return found
