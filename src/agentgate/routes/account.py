"""What users do for themselves, under `/v1/account` on the public listener."""

from agentgate.http.surface import Surface, delete, get, post
from agentgate.lib import errors
from agentgate.people.accounts.endpoints import own_user, passkeys, setup, sign_in
from agentgate.people.accounts.guards import begun_session, signed_in, signed_in_by_password
from agentgate.people.identity.guards import not_cross_origin

PREFIX = "/v1/account"

ACCOUNT = Surface(
    name="account",
    title="AgentGate account API",
    prefix=PREFIX,
    errors=errors.CONSOLE,
    guard=signed_in,
    table=(
        post(
            "/request-access",
            own_user.request_access,
            guard=not_cross_origin,
            status=202,
            refuses=("rate_limited", "browser_check_failed"),
        ),
        # Signing in and out
        post(
            "/login",
            sign_in.log_in,
            guard=not_cross_origin,
            refuses=("invalid_credentials", "user_suspended", "oidc_required", "rate_limited"),
        ),
        post(
            "/login/mfa",
            sign_in.finish_log_in,
            guard=begun_session,
            refuses=("invalid_code", "invalid_state", "oidc_required", "rate_limited"),
        ),
        post("/logout", sign_in.log_out, guard=begun_session, status=204),
        get("/session", sign_in.read_session),
        # The user's accounts
        post("/switch", own_user.switch_account, refuses=("not_member",)),
        post(
            "/invitations/{id}/accept",
            own_user.accept_own_invitation,
            guard=signed_in_by_password,
            refuses=("not_found", "invalid_link"),
        ),
        post("/accounts", own_user.found_account, guard=signed_in_by_password, status=201, refuses=("account_limit",)),
        # Links
        get("/invite/{token}", sign_in.read_invite, guard=not_cross_origin, refuses=("invalid_link",)),
        post(
            "/invite/accept",
            sign_in.accept_invite,
            guard=not_cross_origin,
            refuses=(
                "invalid_link",
                "already_active",
                "weak_password",
                "user_suspended",
                "oidc_required",
                "rate_limited",
            ),
        ),
        post(
            "/password/forgot", sign_in.forgot_password, guard=not_cross_origin, status=202, refuses=("rate_limited",)
        ),
        post(
            "/password/reset",
            sign_in.reset_password,
            guard=not_cross_origin,
            refuses=("invalid_link", "weak_password", "user_suspended", "oidc_required", "rate_limited"),
        ),
        post(
            "/setup",
            setup.accept_setup,
            guard=not_cross_origin,
            refuses=("invalid_link", "weak_password", "user_suspended", "oidc_required", "rate_limited"),
        ),
        # Two-factor authentication
        get("/mfa", own_user.read_mfa),
        post("/mfa/setup", own_user.set_up_mfa, guard=signed_in_by_password, refuses=("mfa_already_enabled",)),
        post(
            "/mfa/enable",
            own_user.enable_mfa,
            guard=signed_in_by_password,
            refuses=("mfa_already_enabled", "mfa_not_pending", "invalid_code"),
        ),
        post(
            "/mfa/disable",
            own_user.disable_mfa,
            guard=signed_in_by_password,
            status=204,
            refuses=("mfa_not_enabled", "mfa_required_by_account", "invalid_password", "invalid_code", "rate_limited"),
        ),
        post("/mfa/passkeys/challenge", passkeys.begin_passkey, guard=begun_session),
        post(
            "/mfa/passkeys",
            passkeys.add_passkey,
            guard=signed_in_by_password,
            status=201,
            refuses=("invalid_password", "invalid_code", "invalid_state", "rate_limited"),
        ),
        post(
            "/mfa/passkeys/{id}/remove",
            passkeys.remove_passkey,
            guard=signed_in_by_password,
            status=204,
            refuses=("not_found", "invalid_password", "invalid_state", "rate_limited"),
        ),
        # Password and sessions
        post(
            "/password",
            sign_in.change_password,
            guard=signed_in_by_password,
            status=204,
            refuses=("weak_password", "invalid_password", "rate_limited"),
        ),
        get("/sessions", own_user.list_sessions),
        delete("/sessions/{id}", own_user.end_session, status=204, refuses=("not_found",)),
        post("/sessions/revoke-others", own_user.end_other_sessions, status=204),
    ),
)
