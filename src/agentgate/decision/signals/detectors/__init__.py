"""The signals. Each takes a SignalInput and returns labels; a new one is added to one of the tuples."""

from agentgate.decision.signals.detectors.address import address_labels
from agentgate.decision.signals.detectors.ai_operator import ai_operator_labels
from agentgate.decision.signals.detectors.behavior import behavior_labels
from agentgate.decision.signals.detectors.browser import browser_labels
from agentgate.decision.signals.detectors.client_hints import client_hint_labels
from agentgate.decision.signals.detectors.content import content_labels
from agentgate.decision.signals.detectors.headers import header_labels
from agentgate.decision.signals.detectors.input import input_labels
from agentgate.decision.signals.detectors.known import (
    agent_labels,
    cluster_labels,
    rate_labels,
    receipt_labels,
    robots_labels,
    site_labels,
    standard_path_labels,
)
from agentgate.decision.signals.detectors.probes import probe_labels
from agentgate.decision.signals.detectors.search_crawler import search_crawler_labels
from agentgate.decision.signals.detectors.tls import tls_labels
from agentgate.decision.signals.detectors.tools import tool_labels
from agentgate.decision.signals.detectors.user_agent import user_agent_labels

# By their inputs: method and headers; the other parts of a request at the gateway; data that a browser or an agent
# hands in. Of the first, results are cached by header set, so none of the second may look at a header.
HEADER_SIGNALS = (user_agent_labels, header_labels, client_hint_labels, tool_labels, tls_labels)
REQUEST_SIGNALS = (
    address_labels,
    rate_labels,
    agent_labels,
    ai_operator_labels,
    search_crawler_labels,
    receipt_labels,
    standard_path_labels,
    site_labels,
    robots_labels,
)
CONTENT_SIGNALS = (browser_labels, behavior_labels, input_labels, probe_labels, cluster_labels, content_labels)
