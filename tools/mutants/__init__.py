"""Seeded defects: what they are (the TOML files), and a runner that shows which test catches each (`run.py`)."""
