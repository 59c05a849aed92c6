"""Shared vocabulary: records, enumerations, time, identifiers, cursors. Imports nothing of ours."""
