"""What visits the lab's page. Each driver is a program of its own, started by `bench.adversaries.runner`."""
