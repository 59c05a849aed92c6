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
    created_ms BIGINT NOT NULL,
    -- Accounts can be suspended and deleted, and may ask two-factor authentication of all members.
    require_mfa INTEGER NOT NULL DEFAULT 0,
    suspended_reason TEXT,
    deleted_ms BIGINT,
    -- Operators look for accounts by a part of the name, whatever its case. The databases' own lower() knows the case of
    -- ASCII letters only (always in SQLite, with the locale C in PostgreSQL), so the folded name is kept beside the name.
    name_folded TEXT NOT NULL DEFAULT ''
);
-- Protected sites. `number` is the small integer under which events know the site.
CREATE TABLE site (
    id TEXT PRIMARY KEY,
    number BIGINT NOT NULL UNIQUE,
    site_key TEXT NOT NULL UNIQUE,
    account_id TEXT NOT NULL REFERENCES account (id),
    name TEXT NOT NULL,
    mode TEXT NOT NULL CHECK (mode IN ('monitor', 'enforce')),
    widget_mode TEXT NOT NULL CHECK (widget_mode IN ('invisible', 'managed', 'interactive')),
    allowed_origins TEXT NOT NULL,
    actions TEXT NOT NULL,
    routes TEXT NOT NULL,
    agent_policy TEXT,
    created_ms BIGINT NOT NULL,
    updated_ms BIGINT NOT NULL,
    -- Whether the server behind may take a form's method from its body, which the gateway does not see.
    form_method_override INTEGER NOT NULL DEFAULT 1,
    -- Whether every browser has to prove itself once, and the paths that are open to one sender each.
    whole_site INTEGER NOT NULL DEFAULT 0,
    open_paths TEXT NOT NULL DEFAULT '[]',
    -- Whether the challenge page lets somebody on who waits, without JavaScript.
    clearance_without_script INTEGER NOT NULL DEFAULT 0,
    -- Programs that a site lets in wherever they come from: classes and names, as a JSON list.
    wanted_programs TEXT NOT NULL DEFAULT '[]',
    -- Who may spend the site's tokens: whoever is in the network that earned them, only who can be compared, or anybody.
    token_binding TEXT NOT NULL DEFAULT 'network',
    -- Issuers of private tokens (Privacy Pass) that the site trusts, with their keys, as a JSON list.
    private_token_issuers TEXT NOT NULL DEFAULT '[]',
    -- The feeds that a site declares: paths, with their exact query if they have one.
    feeds TEXT NOT NULL DEFAULT '[]',
    suggestions INTEGER NOT NULL DEFAULT 1,
    -- What AI operators and agents may use the site for; null for a site that says nothing.
    ai_use TEXT,
    -- The owner's own robots.txt.
    robots_txt TEXT NOT NULL DEFAULT ''
);
CREATE INDEX site_by_account ON site (account_id, created_ms);
-- Backend credentials. Secrets are here as SHA-256 digests only.
CREATE TABLE credential (
    id TEXT PRIMARY KEY,
    site_id TEXT NOT NULL REFERENCES site (id),
    name TEXT NOT NULL,
    secret_digest BYTEA NOT NULL UNIQUE,
    created_ms BIGINT NOT NULL,
    expires_ms BIGINT,
    revoked_ms BIGINT,
    last_used_ms BIGINT
);
CREATE INDEX credential_by_site ON credential (site_id, created_ms);
-- The service's keys, one per purpose and time, sealed under the root secret.
CREATE TABLE service_key (
    id TEXT PRIMARY KEY,
    purpose TEXT NOT NULL,
    sealed BYTEA NOT NULL,
    created_ms BIGINT NOT NULL,
    active_ms BIGINT NOT NULL,
    retired_ms BIGINT
);
-- Operators' sessions. What the cookie carries is here as a digest only.
CREATE TABLE operator_session (
    secret_digest BYTEA PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    operator TEXT NOT NULL,
    created_ms BIGINT NOT NULL,
    last_used_ms BIGINT NOT NULL,
    ended_ms BIGINT,
    -- Operators' sessions: which operator key each was made with (a MAC), and what tells sessions apart in a list.
    -- A session from before has none of them and is over: nobody knows with which key it was made.
    key_tag BYTEA,
    browser TEXT,
    address_id TEXT
);
CREATE INDEX operator_session_by_age ON operator_session (created_ms);
-- Rules that a site has for itself; a site without a row follows the server's.
CREATE TABLE site_rules (
    site_id TEXT PRIMARY KEY REFERENCES site (id),
    revision INTEGER NOT NULL,
    rule_set TEXT,
    overrides TEXT NOT NULL,
    effective_version TEXT NOT NULL,
    updated_ms BIGINT NOT NULL,
    updated_by TEXT NOT NULL
);
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
CREATE INDEX account_by_age ON account (created_ms);
-- API tokens of accounts, as digests.
CREATE TABLE api_token (
    id TEXT PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES account (id),
    name TEXT NOT NULL,
    scopes TEXT NOT NULL,
    secret_digest BYTEA NOT NULL UNIQUE,
    created_ms BIGINT NOT NULL,
    created_by TEXT NOT NULL,
    expires_ms BIGINT,
    revoked_ms BIGINT,
    last_used_ms BIGINT
);
CREATE INDEX api_token_by_account ON api_token (account_id, created_ms);
-- People who asked for an account.
CREATE TABLE access_request (
    id TEXT PRIMARY KEY,
    email TEXT NOT NULL,
    name TEXT NOT NULL,
    company TEXT,
    message TEXT,
    status TEXT NOT NULL CHECK (status IN ('pending', 'approved', 'declined')),
    created_ms BIGINT NOT NULL,
    decided_ms BIGINT,
    decided_by TEXT
);
CREATE INDEX access_request_by_age ON access_request (status, created_ms);
-- Messages to people. Bodies hold one-time links, so they are sealed, and cleared once the link is of no more use.
CREATE TABLE outbox_message (
    id TEXT PRIMARY KEY,
    recipient TEXT NOT NULL,
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    body BYTEA,
    link_digest BYTEA,
    status TEXT NOT NULL CHECK (status IN ('pending', 'sent', 'failed')),
    attempts INTEGER NOT NULL DEFAULT 0,
    next_attempt_ms BIGINT NOT NULL,
    created_ms BIGINT NOT NULL,
    sent_ms BIGINT,
    last_error TEXT
);
CREATE INDEX outbox_by_age ON outbox_message (created_ms);
CREATE INDEX outbox_due ON outbox_message (status, next_attempt_ms);
CREATE INDEX outbox_by_link ON outbox_message (link_digest) WHERE link_digest IS NOT NULL;
-- Answers to "was this page helpful?", counted per page and UTC day (days since 1970).
CREATE TABLE docs_feedback (
    page TEXT NOT NULL,
    day BIGINT NOT NULL,
    helpful BIGINT NOT NULL DEFAULT 0,
    not_helpful BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (page, day)
);
-- Timed jobs: who may run them until when, and when each was last run (and, if the clock jumped, until when it waits).
CREATE TABLE job_lease (
    name TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    expires_ms BIGINT NOT NULL
);
CREATE TABLE job_run (
    name TEXT PRIMARY KEY,
    last_ms BIGINT NOT NULL,
    held_until_ms BIGINT NOT NULL DEFAULT 0
);
-- What jobs look for: messages that still have a body, and entries about people that stand in no account's trail.
CREATE INDEX outbox_with_body ON outbox_message (created_ms) WHERE body IS NOT NULL;
-- The highest number that a purged site ever had: numbers are never given twice, or a new site would show its traffic.
CREATE TABLE site_number (last BIGINT NOT NULL);
INSERT INTO site_number (last) VALUES (0);
-- Labels of decisions. The evidence is copied with the first label, so that it outlives the event.
CREATE TABLE decision_label (
    site_id TEXT NOT NULL REFERENCES site (id),
    decision BIGINT NOT NULL,
    label TEXT NOT NULL,
    source TEXT NOT NULL,
    note TEXT,
    actor TEXT NOT NULL,
    created_ms BIGINT NOT NULL,
    updated_ms BIGINT NOT NULL,
    evidence TEXT NOT NULL,
    PRIMARY KEY (site_id, decision)
);
CREATE INDEX decision_label_by_update ON decision_label (site_id, updated_ms, decision);
-- Of all sites together, for comparing models.
CREATE INDEX decision_label_newest ON decision_label (updated_ms, decision);
-- Whether a site's feature vectors are kept, and for how long. A site without a row captures nothing.
CREATE TABLE feature_capture (
    site_id TEXT PRIMARY KEY REFERENCES site (id),
    enabled INTEGER NOT NULL,
    retention_days INTEGER NOT NULL,
    updated_ms BIGINT NOT NULL,
    updated_by TEXT NOT NULL
);
-- Models that were installed. A kind without a row uses the one that is shipped.
CREATE TABLE model (
    kind TEXT NOT NULL,
    role TEXT NOT NULL,
    file TEXT NOT NULL,
    installed_ms BIGINT NOT NULL,
    installed_by TEXT NOT NULL,
    PRIMARY KEY (kind, role)
);
-- Every revision of a site's rules, so that a decision's rule can still be shown after it was changed.
CREATE TABLE rule_revision (
    site_id TEXT NOT NULL REFERENCES site (id),
    revision INTEGER NOT NULL,
    rule_set TEXT,
    overrides TEXT NOT NULL,
    effective_version TEXT NOT NULL,
    updated_ms BIGINT NOT NULL,
    updated_by TEXT NOT NULL,
    PRIMARY KEY (site_id, revision)
);
-- A number that grows with every change of what decides: sites, rules, models. Workers compare it and read anew.
CREATE TABLE configuration_version (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    version BIGINT NOT NULL
);
INSERT INTO configuration_version (id, version) VALUES (1, 0);
-- Which worker holds which number, so that no two workers make the same decision ID.
CREATE TABLE worker_number (
    number INTEGER PRIMARY KEY,
    owner TEXT NOT NULL,
    expires_ms BIGINT NOT NULL
);
-- Where a site's decisions and changes of health are pushed to. The secrets are sealed. `account_id` is the account that
-- chose the address: a site that has moved pushes nothing until its new account says so.
CREATE TABLE webhook (
    id TEXT PRIMARY KEY,
    site_id TEXT NOT NULL REFERENCES site (id),
    account_id TEXT NOT NULL,
    url TEXT NOT NULL,
    events TEXT NOT NULL,
    format TEXT NOT NULL CHECK (format IN ('json', 'ndjson', 'slack', 'discord', 'matrix', 'ntfy')),
    filter TEXT NOT NULL,
    enabled INTEGER NOT NULL,
    secret BYTEA NOT NULL,
    replaced_secret BYTEA,
    replaced_until_ms BIGINT,
    created_ms BIGINT NOT NULL,
    -- How far it got. `position` is the last decision told or passed over; a batch is fixed before it is first sent.
    revision BIGINT NOT NULL DEFAULT 0,
    position BIGINT NOT NULL,
    batch_id TEXT,
    batch_until BIGINT,
    health_told TEXT,
    health_id TEXT,
    health_next TEXT,
    health_body BYTEA,
    attempts INTEGER NOT NULL DEFAULT 0,
    next_attempt_ms BIGINT NOT NULL,
    failing_since_ms BIGINT,
    last_delivery_ms BIGINT,
    last_error TEXT
);
CREATE INDEX webhook_by_site ON webhook (site_id, created_ms);
CREATE INDEX webhook_due ON webhook (enabled, next_attempt_ms);
-- The newest deliveries of each webhook, for people who look for a mistake.
CREATE TABLE webhook_delivery (
    id TEXT PRIMARY KEY,
    site_id TEXT NOT NULL REFERENCES site (id),
    webhook_id TEXT NOT NULL REFERENCES webhook (id),
    kind TEXT NOT NULL,
    time_ms BIGINT NOT NULL,
    items INTEGER NOT NULL,
    delivered INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    status INTEGER,
    duration_ms BIGINT NOT NULL,
    error TEXT
);
CREATE INDEX webhook_delivery_by_age ON webhook_delivery (webhook_id, time_ms);
-- Which site is the service's own, as the settings say. Its account is protected as long as it has that site.
CREATE TABLE service_site (
    site_key TEXT PRIMARY KEY
);
-- Whom a site lets in or keeps out by name, before any rule, with a note and a term. `value` is in its canonical form.
CREATE TABLE site_list_entry (
    id TEXT PRIMARY KEY,
    site_id TEXT NOT NULL REFERENCES site (id),
    kind TEXT NOT NULL CHECK (kind IN ('address', 'network', 'program', 'agent', 'visitor')),
    value TEXT NOT NULL,
    outcome TEXT NOT NULL CHECK (outcome IN ('allow', 'block')),
    note TEXT NOT NULL,
    created_ms BIGINT NOT NULL,
    created_by TEXT NOT NULL,
    expires_ms BIGINT,
    UNIQUE (site_id, kind, value)
);
CREATE INDEX site_list_entry_by_site ON site_list_entry (site_id, created_ms);
-- What refused people say, once for each decision, and what the owners answered. Of a link only the digest is kept.
CREATE TABLE appeal (
    id TEXT PRIMARY KEY,
    site_id TEXT NOT NULL REFERENCES site (id),
    link_digest TEXT NOT NULL UNIQUE,
    decision BIGINT NOT NULL,
    visitor TEXT NOT NULL,
    outcome TEXT NOT NULL,
    method TEXT NOT NULL,
    route TEXT NOT NULL,
    rule TEXT,
    message TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'suspect', 'let_in', 'refused', 'spam')),
    created_ms BIGINT NOT NULL,
    answered_ms BIGINT,
    answered_by TEXT,
    reply TEXT NOT NULL,
    entry_id TEXT,
    label TEXT,
    UNIQUE (site_id, decision)
);
CREATE INDEX appeal_by_state ON appeal (site_id, state, created_ms, id);
CREATE INDEX appeal_by_age ON appeal (created_ms);
-- How the last run of each timed job ended, for operators: when it began, how long it took, and the kind of failure.
CREATE TABLE job_result (
    name TEXT PRIMARY KEY,
    started_ms BIGINT NOT NULL,
    took_ms BIGINT NOT NULL,
    failure TEXT NOT NULL DEFAULT ''
);
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
-- Refused requests of programs, in groups, with masked paths; and whether a site collects them.
CREATE TABLE suggestion (
    id TEXT PRIMARY KEY,
    site_id TEXT NOT NULL REFERENCES site (id),
    method TEXT NOT NULL,
    path TEXT NOT NULL,
    program TEXT NOT NULL,
    sender TEXT NOT NULL,
    owner TEXT NOT NULL,
    proven INTEGER NOT NULL,
    requests BIGINT NOT NULL,
    networks TEXT NOT NULL,
    first_ms BIGINT NOT NULL,
    last_ms BIGINT NOT NULL,
    accepted_ms BIGINT,
    accepted_by TEXT,
    opened TEXT,
    UNIQUE (site_id, method, path, program, sender, owner, proven)
);
CREATE INDEX suggestion_by_age ON suggestion (last_ms);
-- What each version of the configuration changed, so that a worker reads only that. The newest versions are kept.
CREATE TABLE configuration_change (
    version BIGINT PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('site', 'account', 'models')),
    target TEXT NOT NULL
);
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
-- Messages that someone waits for are found without reading the others.
CREATE INDEX outbox_urgent ON outbox_message (status, next_attempt_ms, id) WHERE kind IN ('reset', 'mfa_reset', 'invite');
-- Requests for an account are found by state and address, and the newest of all states without sorting.
CREATE INDEX access_request_by_email ON access_request (status, email);
CREATE INDEX access_request_newest ON access_request (created_ms, id);
-- Links with which the first owner of an installation makes an account. They end with the first password of any user.
CREATE TABLE setup_link (
    secret_digest BYTEA PRIMARY KEY,
    created_ms BIGINT NOT NULL,
    expires_ms BIGINT NOT NULL
);
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
