"""The browser check: challenges with work and a program, and the verdict on their answers."""
