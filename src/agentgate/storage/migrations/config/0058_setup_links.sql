-- Links with which the first owner of an installation makes an account. They end with the first password of any user.
CREATE TABLE setup_link (
    secret_digest BYTEA PRIMARY KEY,
    created_ms BIGINT NOT NULL,
    expires_ms BIGINT NOT NULL
);
