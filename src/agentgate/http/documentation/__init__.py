"""The documentation at `/docs/`: Markdown pages as HTML, search, `llms.txt`. Nothing is asked of other hosts."""
