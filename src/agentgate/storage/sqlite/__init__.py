"""SQLite: one writer thread with group commit, readers next to it."""
