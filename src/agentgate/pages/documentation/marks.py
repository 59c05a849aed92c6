"""What the build writes around the feedback of a page, and where a question and its results go.

The build imports this module, so it must not import anything that is not installed for the build.
"""

FEEDBACK_BEGIN, FEEDBACK_END = "<!--feedback-->", "<!--/feedback-->"
QUESTION, RESULTS = "\x02question\x03", "\x02results\x03"
