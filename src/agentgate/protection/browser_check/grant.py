"""Grants: a visitor that has passed gets a token, and a clearance where the action gives one."""

from msgspec import UNSET, UnsetType

from agentgate.lib.enums import ClearanceLevel, ReceiptKind, VerifyStatus
from agentgate.lib.ids import new_receipt_id
from agentgate.lib.records import optional
from agentgate.protection.browser_check.records import ClearanceCookie, VerifyResult
from agentgate.protection.browser_check.trial import Trial
from agentgate.protection.tokens.binding import Bindings, TokenHolder
from agentgate.protection.tokens.clearance import Clearances, IssuedClearance
from agentgate.protection.tokens.issue import Grant, ReceiptIssuer


class Grants:
    """Issues tokens and clearances."""

    def __init__(self, receipts: ReceiptIssuer, clearances: Clearances, bindings: Bindings) -> None:
        self._receipts = receipts
        self._clearances = clearances
        self._bindings = bindings

    def give(self, trial: Trial, decision_id: str) -> VerifyResult:
        """Return the answer to a trial that was passed."""
        binding, clearance = trial.challenge.binding, self._clearance(trial)
        receipt_id = new_receipt_id()
        grant = Grant(
            site_key=trial.visit.site.site_key,
            kind=ReceiptKind.BROWSER,
            action=binding.action,
            subject=binding.visitor,
            decision_id=decision_id,
            origin=binding.origin,
            c_data=optional(trial.challenge.c_data),
            test=trial.visit.test,
            binding=self._bind(trial, receipt_id, clearance),
        )
        issued = self._receipts.issue(grant, now_ms=trial.call.now, receipt_id=receipt_id)
        return VerifyResult(
            status=VerifyStatus.PASSED,
            token=issued.receipt,
            expires_at=issued.expires_at,
            decision_id=decision_id,
            clearance=UNSET
            if clearance is None
            else ClearanceCookie(name=clearance.name, value=clearance.value, expires_at=clearance.expires_at),
        )

    def _bind(self, trial: Trial, receipt_id: str, clearance: IssuedClearance | None) -> str | UnsetType:
        if trial.visit.test:
            # Tried out from anywhere.
            return UNSET
        request = trial.call.request
        clearances = () if clearance is None else (clearance.id,)
        holder = TokenHolder(request.address, request.header("user-agent") or "", clearances)
        return self._bindings.bind(trial.visit.site.site_key, receipt_id, holder)

    def _clearance(self, trial: Trial) -> IssuedClearance | None:
        action = trial.visit.site.actions.get(trial.visit.action)
        if action is None or action.clearance is not True:
            return None
        binding = trial.challenge.binding
        return self._clearances.issue(
            site_key=trial.visit.site.site_key,
            origin=binding.origin,
            visitor=binding.visitor,
            level=ClearanceLevel.STEP_UP if trial.answered else ClearanceLevel.CHECKED,
            now_ms=trial.call.now,
        )
