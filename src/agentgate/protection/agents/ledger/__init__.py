"""What agents were charged, and monthly statements of it."""
