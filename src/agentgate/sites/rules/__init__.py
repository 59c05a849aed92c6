"""Rule sets: which set applies to a site, and under which version."""
