"""Pages of the OpenAPI documents. The build renders them into the wheel; a checkout renders them on request."""
