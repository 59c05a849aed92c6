"""Models, labels and captured features in SQL."""
