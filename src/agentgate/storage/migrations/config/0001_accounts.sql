-- Customer accounts and their limits. Times are milliseconds since 1970 in UTC; flags are 0 or 1.
CREATE TABLE account (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('active', 'suspended', 'deleted')),
    protected INTEGER NOT NULL DEFAULT 0,
    limit_sites INTEGER NOT NULL,
    limit_credentials INTEGER NOT NULL,
    limit_members INTEGER NOT NULL,
    limit_tokens INTEGER NOT NULL,
    limit_origins INTEGER NOT NULL,
    created_ms BIGINT NOT NULL
);
