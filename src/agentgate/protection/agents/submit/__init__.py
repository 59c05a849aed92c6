"""`POST /agent/submit`: what an agent hands in, once."""
