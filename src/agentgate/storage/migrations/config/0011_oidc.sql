-- The issuer with which members of an account may sign in, the group that admits others as what, and whether passwords
-- do not open the account.
ALTER TABLE account ADD COLUMN oidc_issuer TEXT NOT NULL DEFAULT '';
ALTER TABLE account ADD COLUMN oidc_group TEXT NOT NULL DEFAULT '';
ALTER TABLE account ADD COLUMN oidc_role TEXT NOT NULL DEFAULT 'readonly';
ALTER TABLE account ADD COLUMN oidc_only INTEGER NOT NULL DEFAULT 0;
CREATE INDEX account_by_issuer ON account (oidc_issuer);
-- Whether the member joined by the group, and leaves with it.
ALTER TABLE membership ADD COLUMN by_group INTEGER NOT NULL DEFAULT 0;
-- The issuer that signed the user in; empty for a password.
ALTER TABLE user_session ADD COLUMN issuer TEXT NOT NULL DEFAULT '';
-- Users as issuers know them. The issuer is its address, which a changed name in the settings does not change.
CREATE TABLE oidc_identity (
    issuer TEXT NOT NULL,
    subject TEXT NOT NULL,
    user_id TEXT NOT NULL REFERENCES users (id),
    created_ms BIGINT NOT NULL,
    PRIMARY KEY (issuer, subject),
    UNIQUE (issuer, user_id)
);
CREATE INDEX oidc_identity_by_user ON oidc_identity (user_id);
