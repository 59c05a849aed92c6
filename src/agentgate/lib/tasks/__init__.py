"""Work beside requests: once in the background, or again and again."""
