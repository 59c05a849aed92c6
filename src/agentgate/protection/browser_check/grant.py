"""Grants: what a visitor gets who has passed: a token, and a clearance where the action gives one."""

from msgspec import UNSET, UnsetType

from agentgate.lib.enums import ClearanceLevel, ReceiptKind, VerifyStatus
from agentgate.lib.records import optional
from agentgate.protection.browser_check.records import ClearanceCookie, VerifyResult
from agentgate.protection.browser_check.trial import Trial
from agentgate.protection.tokens.clearance import Clearances
from agentgate.protection.tokens.issue import Grant, ReceiptIssuer


class Grants:
    """Signs what is given."""

    def __init__(self, receipts: ReceiptIssuer, clearances: Clearances) -> None:
        self._receipts = receipts
        self._clearances = clearances

    def give(self, trial: Trial, decision_id: str) -> VerifyResult:
        """Return the answer to a trial that was passed."""
        binding = trial.challenge.binding
        grant = Grant(
            site_key=trial.visit.site.site_key,
            kind=ReceiptKind.BROWSER,
            action=binding.action,
            subject=binding.visitor,
            decision_id=decision_id,
            origin=binding.origin,
            c_data=optional(trial.challenge.c_data),
            test=trial.visit.test,
        )
        issued = self._receipts.issue(grant, now_ms=trial.call.now)
        return VerifyResult(
            status=VerifyStatus.PASSED,
            token=issued.receipt,
            expires_at=issued.expires_at,
            decision_id=decision_id,
            clearance=self._clearance(trial),
        )

    def _clearance(self, trial: Trial) -> ClearanceCookie | UnsetType:
        action = trial.visit.site.actions.get(trial.visit.action)
        if action is None or action.clearance is not True:
            return UNSET
        binding = trial.challenge.binding
        issued = self._clearances.issue(
            site_key=trial.visit.site.site_key,
            origin=binding.origin,
            visitor=binding.visitor,
            level=ClearanceLevel.STEP_UP if trial.answered else ClearanceLevel.CHECKED,
            now_ms=trial.call.now,
        )
        return ClearanceCookie(name=issued.name, value=issued.value, expires_at=issued.expires_at)
