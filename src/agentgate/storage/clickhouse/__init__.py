"""ClickHouse over its HTTP interface."""
