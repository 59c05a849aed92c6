"""A site's allow and block lists, which go before rules: addresses, networks, programs, agents, visitors."""
