"""The dimensions of events. They are defined in `records`, the part of a concept that the store sees."""

from agentgate.events.records import Dimension

__all__ = ["Dimension"]
