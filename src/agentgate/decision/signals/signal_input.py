"""SignalInput: the input of every signal, with the headers indexed once."""

from collections.abc import Mapping

from msgspec import Struct

from agentgate.decision.signals.facts import RequestFacts
from agentgate.decision.signals.header_forms import LanguageForm
from agentgate.decision.threat_data.intel import Intel
from agentgate.decision.threat_data.views import UserAgentView


class SignalInput(Struct, frozen=True, gc=False):
    """A request's facts with its headers indexed."""

    facts: RequestFacts
    intel: Intel
    # By name; of a header that came twice, the last.
    headers: Mapping[str, str]
    # Names only, in the order in which each came first.
    names: tuple[str, ...]
    user_agent: UserAgentView
    language_form: LanguageForm


Labels = tuple[str, ...] | list[str]
