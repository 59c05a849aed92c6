"""Database drivers, migrations, the shared cache. The SQL of a concept is in the concept's own repository."""
