"""Mail to members about their sites: what to look for, finding it, sending it."""
