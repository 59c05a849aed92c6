"""The three routes of the browser check."""

from agentgate.browser_check.issue import ChallengeIssuer
from agentgate.browser_check.records import (
    SCHEMA,
    Challenge,
    ChallengeInput,
    ChallengeQuery,
    InstrumentQuery,
    PrivateTokenResult,
    VerifyInput,
    VerifyResult,
)
from agentgate.browser_check.verify import ChallengeVerifier
from agentgate.http.call import Call
from agentgate.http.replies import Reply, Text
from agentgate.lib.errors import Refused

SCRIPT = "text/javascript; charset=utf-8"


async def create_challenge(call: Call, body: ChallengeInput, issuer: ChallengeIssuer) -> Challenge:
    """Issue a challenge to a page.

    It is bound to site, action, origin and visitor, and valid for five minutes and four attempts.
    """
    return await issuer.issue(call, body)


async def read_challenge(call: Call, query: ChallengeQuery, issuer: ChallengeIssuer) -> Text:
    """Issue a challenge to a page as a script that includes the instrumentation program.

    A classic script. It calls the page's function under `agentgate:` and `hook` with an array of two: the challenge as
    returned by POST, and the program as a function that returns its result.
    """
    if query.schema != SCHEMA:
        raise Refused("schema_unsupported")
    body = ChallengeInput(schema=1, site_key=query.site_key, action=query.action, widget=query.widget)
    return Text((await issuer.issue_script(call, body, query.hook)).encode(), SCRIPT)


async def read_instrument(call: Call, query: InstrumentQuery, issuer: ChallengeIssuer) -> Reply[Text]:
    """Return the instrumentation program of a challenge.

    Only an engine that runs it can compute the result. A classic script. It calls the page's function under
    `agentgate:` and the challenge's ID.
    """
    program, seconds_left = await issuer.program(call, query.challenge_id)
    # The worker fetches it a second time; it never changes.
    cached = ("cache-control", f"private, max-age={seconds_left}, immutable")
    return Reply(body=Text(program.encode(), SCRIPT), headers=(cached,))


async def redeem_private_token(call: Call, query: InstrumentQuery, issuer: ChallengeIssuer) -> PrivateTokenResult:
    """Accept a private token (Privacy Pass, RFC 9577) for a challenge.

    Without `Authorization` the response is 401 with a challenge for each issuer that the site trusts; browsers that
    support private tokens retry with a token. The token is optional evidence for a human.
    """
    return await issuer.redeem_private_token(call, query.challenge_id)


async def verify_challenge(call: Call, body: VerifyInput, verifier: ChallengeVerifier) -> VerifyResult:
    """Verify a page's solution; return a token or an interactive challenge.

    Every call uses up one of the challenge's four attempts. In monitor mode every visitor passes, and the enforce mode
    decision is recorded.
    """
    return await verifier.verify(call, body)
