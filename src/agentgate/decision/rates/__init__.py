"""How often visitors and networks come, counted over all workers."""
