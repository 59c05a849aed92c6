-- The audit trail: added to, read, never changed. The two dialects differ only in how a number is counted up.
CREATE TABLE audit_entry (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    time_ms BIGINT NOT NULL,
    actor TEXT NOT NULL,
    actor_kind TEXT NOT NULL,
    action TEXT NOT NULL,
    account_id TEXT,
    site_id TEXT,
    target TEXT,
    detail TEXT NOT NULL,
    address TEXT,
    -- What customers see as an entry's ID: a random number, since one that counts up over all accounts tells each of them
    -- how much the others do. Entries from before have none and keep the ID that they had.
    public_id BIGINT
);
CREATE INDEX audit_by_site ON audit_entry (site_id, id) WHERE site_id IS NOT NULL;
CREATE INDEX audit_by_account ON audit_entry (account_id, id) WHERE account_id IS NOT NULL;
CREATE INDEX audit_by_target ON audit_entry (target) WHERE account_id IS NULL AND site_id IS NULL;
CREATE INDEX audit_by_actor ON audit_entry (actor) WHERE account_id IS NULL AND site_id IS NULL;
-- Changes of models belong to no site and stand in every site's trail, as far as they change what decides.
CREATE INDEX audit_of_models ON audit_entry (id) WHERE action IN ('model.promote', 'model.rollback');
CREATE UNIQUE INDEX audit_by_public_id ON audit_entry (public_id) WHERE public_id IS NOT NULL;
-- Indexes for each filter of a list and for each deletion: what a statement costs must not depend on what other
-- accounts have stored.
CREATE INDEX audit_by_account_action ON audit_entry (account_id, action, id) WHERE account_id IS NOT NULL;
CREATE INDEX audit_by_operator ON audit_entry (id) WHERE actor_kind = 'operator';
CREATE INDEX audit_by_operator_action ON audit_entry (action, id) WHERE actor_kind = 'operator';
CREATE INDEX audit_by_age ON audit_entry (time_ms);
