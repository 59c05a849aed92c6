"""The three routes of the browser check."""

from agentgate.http.call import Call
from agentgate.http.replies import Reply, Text
from agentgate.lib.errors import Refused
from agentgate.protection.browser_check.issue import ChallengeIssuer
from agentgate.protection.browser_check.records import (
    SCHEMA,
    Challenge,
    ChallengeInput,
    ChallengeQuery,
    InstrumentQuery,
    PrivateTokenResult,
    VerifyInput,
    VerifyResult,
)
from agentgate.protection.browser_check.verify import ChallengeVerifier

SCRIPT = "text/javascript; charset=utf-8"


async def create_challenge(call: Call, body: ChallengeInput, issuer: ChallengeIssuer) -> Challenge:
    """Issue a challenge to a page.

    It is bound to site, action, origin and visitor, and good for five minutes and four attempts.
    """
    return await issuer.issue(call, body)


async def read_challenge(call: Call, query: ChallengeQuery, issuer: ChallengeIssuer) -> Text:
    """Issue a challenge to a page as a script that also has the program.

    A classic script: it calls the function that the page has put under `agentgate:` and `hook` with an array of two,
    the challenge as POST answers it and the program as a function that returns its answer.
    """
    if query.schema != SCHEMA:
        raise Refused("schema_unsupported")
    body = ChallengeInput(schema=1, site_key=query.site_key, action=query.action, widget=query.widget)
    return Text((await issuer.issue_script(call, body, query.hook)).encode(), SCRIPT)


async def read_instrument(call: Call, query: InstrumentQuery, issuer: ChallengeIssuer) -> Reply[Text]:
    """Return the program made for a challenge.

    Only an engine that runs it can find its answer. A classic script: it calls the function that the page has put
    under `agentgate:` and the challenge's ID.
    """
    program, seconds_left = await issuer.program(call, query.challenge_id)
    # The worker fetches it a second time; it never changes.
    cached = ("cache-control", f"private, max-age={seconds_left}, immutable")
    return Reply(body=Text(program.encode(), SCRIPT), headers=(cached,))


async def redeem_private_token(call: Call, query: InstrumentQuery, issuer: ChallengeIssuer) -> PrivateTokenResult:
    """Take a private token (Privacy Pass, RFC 9577) for a challenge.

    Without `Authorization` the answer is 401 with a challenge for each issuer that the site trusts; browsers that can
    come again with a token. It speaks for the visitor, and nobody needs one.
    """
    return await issuer.redeem_private_token(call, query.challenge_id)


async def verify_challenge(call: Call, body: VerifyInput, verifier: ChallengeVerifier) -> VerifyResult:
    """Verify the answers of a page; return a token or the check to show.

    Every call uses up one of the challenge's four attempts. In monitor mode everybody passes; what enforce mode would
    have done is recorded.
    """
    return await verifier.verify(call, body)
