"""From exported decision labels to a model file and a report on it."""
