"""Lists of networks, crawlers and clients that signals look things up in."""
