"""Public lists of networks and crawlers, read as their publishers offer them, for `agentgate intel update`."""
