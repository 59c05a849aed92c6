"""SQLite: one writer thread with group commit, readers beside it."""
