"""Probes: random layout programs with known results of real engines; sent to every browser, judged with a tolerance."""
