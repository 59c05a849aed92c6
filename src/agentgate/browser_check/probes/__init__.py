"""Probes: random layout programs whose answers real engines gave; asked of every browser, judged with a tolerance."""
