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

-- Changes of models belong to no site and stand in every site's trail, as far as they change what decides.
CREATE INDEX audit_of_models ON audit_entry (id) WHERE action IN ('model.promote', 'model.rollback');
