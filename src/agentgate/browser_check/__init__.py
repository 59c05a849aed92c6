"""The browser check: challenges with proof of work and a program, and the verdict on their results."""
