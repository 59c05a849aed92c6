"""The signals, one file each. Each is handed a Look and returns labels; a new one is added to the tuple."""

from agentgate.detect.signals.address import address_labels
from agentgate.detect.signals.agent_claim import agent_labels
from agentgate.detect.signals.behavior import behavior_labels
from agentgate.detect.signals.browser import browser_labels
from agentgate.detect.signals.client_hints import client_hint_labels
from agentgate.detect.signals.content import content_labels
from agentgate.detect.signals.headers import header_labels
from agentgate.detect.signals.rate import rate_labels
from agentgate.detect.signals.receipt import receipt_labels
from agentgate.detect.signals.search_crawler import search_crawler_labels
from agentgate.detect.signals.user_agent import user_agent_labels

SIGNALS = (
    address_labels,
    user_agent_labels,
    header_labels,
    client_hint_labels,
    rate_labels,
    agent_labels,
    search_crawler_labels,
    receipt_labels,
    browser_labels,
    behavior_labels,
    content_labels,
)
