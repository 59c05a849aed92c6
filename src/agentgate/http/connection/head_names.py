"""The headers that a check reads, for `head.py` and for its compiled form, which must not import each other."""

# Values that are part of the key. Of every other header the name is enough.
KEPT = (
    b"accept",
    b"accept-encoding",
    b"connection",
    b"content-length",
    b"content-type",
    b"expect",
    b"host",
    b"keep-alive",
    b"sec-ch-ua",
    b"sec-ch-ua-mobile",
    b"sec-ch-ua-platform",
    b"sec-fetch-dest",
    b"sec-fetch-mode",
    b"sec-fetch-site",
    b"te",
    b"trailer",
    b"transfer-encoding",
    b"upgrade",
    b"x-forwarded-method",
    b"x-http-method",
    b"x-http-method-override",
    b"x-ja4",
    b"x-method-override",
    b"x-original-method",
)
# Values that are returned with the key, in this order. The last two are used like the key's values, but visitors have
# so many combinations of them that each would be a separate key.
GIVEN = (
    b"authorization",
    b"x-agentgate-secret",
    b"x-original-url",
    b"x-original-address",
    b"x-agentgate-request",
    b"cookie",
    b"x-request-id",
    b"traceparent",
    b"user-agent",
    b"accept-language",
)
LONGEST_HEAD = 4096
