"""Appeals of refused people, the owners' answers, and the labels that follow."""
