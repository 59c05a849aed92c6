-- Messages that someone waits for are found without reading the others.
CREATE INDEX outbox_urgent ON outbox_message (status, next_attempt_ms, id) WHERE kind IN ('reset', 'mfa_reset', 'invite');
