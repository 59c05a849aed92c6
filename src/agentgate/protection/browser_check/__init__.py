"""The browser check: challenges, the work and the program that go with them, and the verdict on what comes back."""
