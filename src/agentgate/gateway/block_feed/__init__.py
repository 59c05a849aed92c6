"""Addresses that a site's firewall may drop for some minutes: scanners, and clients with extreme rates."""
