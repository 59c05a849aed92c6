"""Making a pool with the browsers on a machine: `agentgate probes make`."""
