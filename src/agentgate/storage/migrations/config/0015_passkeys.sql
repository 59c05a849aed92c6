-- Passkeys of users. No row keeps what an authenticator could be identified by, except its credential.
CREATE TABLE passkey (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id),
    credential_id BYTEA NOT NULL UNIQUE,
    public_key BYTEA NOT NULL,
    origin TEXT NOT NULL,
    name TEXT NOT NULL,
    sign_count BIGINT NOT NULL,
    created_ms BIGINT NOT NULL,
    last_used_ms BIGINT
);
CREATE INDEX passkey_by_user ON passkey (user_id, created_ms);
-- The challenge that a passkey has to sign for the session, once.
ALTER TABLE user_session ADD COLUMN challenge BYTEA;
ALTER TABLE user_session ADD COLUMN challenge_ms BIGINT;
