"""`POST /agent/submit`: submissions of agents."""
