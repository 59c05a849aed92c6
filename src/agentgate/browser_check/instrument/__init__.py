"""The program that a browser must run, generated separately for each challenge."""
