-- A statement of charges reads this index alone.
DROP INDEX charge_by_time;
CREATE INDEX charge_by_time ON charge (site_id, charged_ms, agent, currency, source, action, minor_units);
CREATE INDEX agent_grant_by_site ON agent_grant (site, created_ms DESC, id);
