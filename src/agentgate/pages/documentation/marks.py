"""Marks that the build writes around a page's feedback form, and at the places for a search query and its results.

The build imports this module, so it must not import anything that is not installed for the build.
"""

FEEDBACK_BEGIN, FEEDBACK_END = "<!--feedback-->", "<!--/feedback-->"
QUESTION, RESULTS = "\x02question\x03", "\x02results\x03"
