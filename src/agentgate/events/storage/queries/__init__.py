"""The read models of events in SQL."""
