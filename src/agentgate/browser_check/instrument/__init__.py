"""The program that a browser must run, made anew for each challenge."""
