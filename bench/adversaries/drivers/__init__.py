"""Visitors of the lab's page. Each driver is a separate program that `bench.adversaries.runner` starts."""
