"""wantedPrograms at the gateway: one line allows a program from its networks, and decisions name blocked programs."""

from tests.support.browser_client import decision_of
from tests.support.gateway import Gate, said
from tests.support.service import RunningService

CLOUD = "3.80.1.1"
PROGRAM = {"Accept": "*/*", "Accept_Language": None, "Sec_Fetch_Site": None, "Sec_Fetch_Mode": None}
HOOK = "Stripe/1.0 (+https://stripe.com/docs/webhooks)"
OWN = "AcmeChecker/2.1"


def ask(gate: Gate, user_agent: str) -> str:
    return said(gate.check(User_Agent=user_agent, Sec_Fetch_Dest=None, **PROGRAM))[1]


def test_one_line_lets_a_class_and_a_program_in_and_no_other(service: RunningService) -> None:
    gate = Gate(service, address=CLOUD)
    before = [ask(gate, HOOK), ask(gate, OWN), ask(gate, "OtherChecker/2.1")]
    service.operator.patch(f"/v1/admin/sites/{gate.site_key}", json={"wantedPrograms": ["webhooks", "AcmeChecker"]})

    assert before == ["challenge", "challenge", "challenge"]
    assert [ask(gate, HOOK), ask(gate, OWN), ask(gate, "OtherChecker/2.1")] == ["allow", "allow", "challenge"]


def test_another_sites_line_changes_nothing_here(service: RunningService) -> None:
    gate, other = Gate(service, address=CLOUD), Gate(service, address=CLOUD)
    service.operator.patch(f"/v1/admin/sites/{other.site_key}", json={"wantedPrograms": ["AcmeChecker"]})

    assert (ask(other, OWN), ask(gate, OWN)) == ("allow", "challenge")


def test_a_rejected_program_is_named_in_the_decision_so_that_analytics_can_count_it(service: RunningService) -> None:
    gate = Gate(service, address=CLOUD)
    reply = gate.check(User_Agent=HOOK, Sec_Fetch_Dest=None, **PROGRAM)
    found = decision_of(service, gate.site_key, reply.headers["x-service-decision-id"])

    assert "ua.refused.stripe" in found["labels"]


def test_a_crawler_that_no_one_can_tell_is_challenged_and_told_why(service: RunningService) -> None:
    gate = Gate(service, address="198.51.100.9")
    reply = gate.check(User_Agent="Mozilla/5.0 (compatible; YandexBot/3.0; +http://yandex.com/bots)", **PROGRAM)

    assert said(reply)[1] == "challenge"
    assert "DNS" in reply.headers["x-service-message"]
