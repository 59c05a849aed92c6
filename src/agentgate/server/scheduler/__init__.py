"""Timed work: the list of jobs, and the lease that lets one worker do them."""
