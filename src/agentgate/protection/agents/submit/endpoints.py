"""Submissions over HTTP."""

from typing import cast

import msgspec

from agentgate.http.call import Call
from agentgate.http.replies import Reply
from agentgate.protection.agents.submit.records import SubmissionAnswer, SubmissionInput
from agentgate.protection.agents.submit.submissions import Submissions, charged_in


async def submit(
    call: Call, body: SubmissionInput, content: bytes, submissions: Submissions
) -> Reply[SubmissionAnswer]:
    """Submit something as an agent, and get a receipt for the site.

    The request is signed (RFC 9421, `tag="web-bot-auth"`) and the signature covers `Content-Digest`. `id` is the
    agent's own; the same one with the same content gets the same answer and is charged once.
    """
    answer = await submissions.submit(call, body, content)
    charged = charged_in(answer)
    headers = () if charged is None else (("crawler-charged", charged),)
    # The bytes themselves, which are the record's: a repeated submission gets exactly what the first one got.
    return Reply(body=cast("SubmissionAnswer", msgspec.Raw(answer)), headers=headers)
