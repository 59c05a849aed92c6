-- Models that were active, the newest few of each kind: what a rollback can name.
CREATE TABLE model_version (
    kind TEXT NOT NULL,
    version TEXT NOT NULL,
    file TEXT NOT NULL,
    installed_ms BIGINT NOT NULL,
    installed_by TEXT NOT NULL,
    retired_ms BIGINT NOT NULL,
    PRIMARY KEY (kind, version)
);
