"""Links that no person sees: which clients opened them."""
