"""AgentGate: a self-hosted gate that tells people, agents and unwanted automation apart."""

__version__ = "0.1.0"
