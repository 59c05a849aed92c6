"""Appeals: what refused people say about it, the owners' answers, and what both teach."""
