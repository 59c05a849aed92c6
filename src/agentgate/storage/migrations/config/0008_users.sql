-- People, their memberships, sessions, recovery codes and links. Secrets are here as digests or sealed, never plain.
CREATE TABLE users (
    id TEXT PRIMARY KEY,
    email TEXT NOT NULL UNIQUE,
    name TEXT,
    status TEXT NOT NULL CHECK (status IN ('active', 'suspended')),
    password_hash TEXT,
    mfa_secret BYTEA,
    mfa_enabled_ms BIGINT,
    mfa_pending_secret BYTEA,
    mfa_pending_ms BIGINT,
    mfa_last_step BIGINT NOT NULL DEFAULT 0,
    created_ms BIGINT NOT NULL,
    last_sign_in_ms BIGINT
);
CREATE TABLE membership (
    account_id TEXT NOT NULL REFERENCES account (id),
    user_id TEXT NOT NULL REFERENCES users (id),
    role TEXT NOT NULL CHECK (role IN ('owner', 'admin', 'member', 'readonly')),
    joined_ms BIGINT NOT NULL,
    PRIMARY KEY (account_id, user_id)
);
CREATE INDEX membership_by_user ON membership (user_id, joined_ms);
CREATE TABLE user_session (
    secret_digest BYTEA PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    user_id TEXT NOT NULL REFERENCES users (id),
    account_id TEXT,
    stage TEXT NOT NULL CHECK (stage IN ('password', 'full')),
    code_attempts INTEGER NOT NULL DEFAULT 0,
    browser TEXT NOT NULL,
    address_id TEXT NOT NULL,
    created_ms BIGINT NOT NULL,
    last_used_ms BIGINT NOT NULL,
    ended_ms BIGINT
);
CREATE INDEX user_session_by_user ON user_session (user_id, created_ms);
CREATE INDEX user_session_by_age ON user_session (created_ms);
CREATE TABLE recovery_code (
    user_id TEXT NOT NULL REFERENCES users (id),
    code_digest BYTEA NOT NULL,
    used_ms BIGINT,
    PRIMARY KEY (user_id, code_digest)
);
CREATE TABLE link (
    secret_digest BYTEA PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('invite', 'reset')),
    user_id TEXT NOT NULL REFERENCES users (id),
    account_id TEXT,
    created_ms BIGINT NOT NULL,
    expires_ms BIGINT NOT NULL,
    used_ms BIGINT
);
CREATE INDEX link_by_user ON link (user_id, kind);
