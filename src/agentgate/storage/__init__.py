"""Databases, and nothing of what lies in them: drivers, migrations, rate windows. A concept has its SQL itself."""
