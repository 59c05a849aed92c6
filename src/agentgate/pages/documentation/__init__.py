"""The documentation at `/docs/`: Markdown pages as HTML, search, `llms.txt`. No requests to other hosts."""
