"""What is counted without leaving an event. It is defined in `records`, the part of a concept that the store sees."""

from agentgate.events.records import Count, CounterName

__all__ = ["Count", "CounterName"]
