-- Invitations that a customer sent and that were not accepted yet. They are no memberships and name no user: whether the
-- address has one shows after acceptance only.
CREATE TABLE invitation (
    id TEXT PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES account (id),
    email TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('owner', 'admin', 'member', 'readonly')),
    secret_digest BYTEA NOT NULL UNIQUE,
    created_ms BIGINT NOT NULL,
    expires_ms BIGINT NOT NULL,
    UNIQUE (account_id, email)
);
CREATE INDEX invitation_by_email ON invitation (email, created_ms);
