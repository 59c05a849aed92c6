"""Events in ClickHouse: the schema, writing with a spool on disk, and the read models."""
