-- Indexes for each filter of a list and for each deletion: what a statement costs must not depend on what other
-- accounts have stored.
CREATE INDEX audit_by_account_action ON audit_entry (account_id, action, id) WHERE account_id IS NOT NULL;
CREATE INDEX audit_by_operator ON audit_entry (id) WHERE actor_kind = 'operator';
CREATE INDEX audit_by_operator_action ON audit_entry (action, id) WHERE actor_kind = 'operator';
CREATE INDEX audit_by_age ON audit_entry (time_ms);
CREATE INDEX account_by_status ON account (status, created_ms, id);
CREATE INDEX site_by_age ON site (created_ms, number);
CREATE INDEX membership_by_age ON membership (joined_ms, account_id, user_id);
CREATE INDEX appeal_by_rule ON appeal (site_id, rule, created_ms);
CREATE INDEX appeal_by_visitor ON appeal (site_id, visitor, created_ms);
CREATE INDEX appeal_by_message ON appeal (site_id, message, created_ms);
CREATE INDEX outbox_by_recipient ON outbox_message (recipient);
CREATE INDEX user_session_by_account ON user_session (account_id) WHERE account_id IS NOT NULL;
CREATE INDEX link_by_account ON link (account_id) WHERE account_id IS NOT NULL;
CREATE INDEX link_by_end ON link (expires_ms);
CREATE INDEX webhook_delivery_by_site ON webhook_delivery (site_id);
CREATE INDEX webhook_by_account ON webhook (account_id);
CREATE INDEX credential_by_end ON credential (revoked_ms) WHERE revoked_ms IS NOT NULL;
CREATE INDEX credential_by_expiry ON credential (expires_ms) WHERE expires_ms IS NOT NULL AND revoked_ms IS NULL;
CREATE INDEX api_token_by_end ON api_token (revoked_ms) WHERE revoked_ms IS NOT NULL;
CREATE INDEX api_token_by_expiry ON api_token (expires_ms) WHERE expires_ms IS NOT NULL AND revoked_ms IS NULL;
CREATE INDEX access_request_by_decision ON access_request (decided_ms) WHERE decided_ms IS NOT NULL;
CREATE INDEX rule_revision_by_age ON rule_revision (updated_ms);
