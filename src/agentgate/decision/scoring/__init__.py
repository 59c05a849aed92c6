"""Models: files, roles, scores, features; decision labels and feature capture."""
