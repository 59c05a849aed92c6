"""Replies to "was this page helpful?", counted per page of the documentation."""
