"""Reading what a proxy describes: the original request, its form, its target headers."""
