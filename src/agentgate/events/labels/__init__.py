"""Labels of decisions, and the stored events that they copy their evidence from."""
