# ruff: noqa: INP001 - beside the package, for `generate.py`
"""The page of the HTTP APIs, made from the OpenAPI documents, the roles and the limits."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from agentgate.lib.enums import AccountRole, ApiTokenScope, ConsolePermission
from agentgate.people.accounts.records import PERMISSIONS, Limits

APIS = {
    "public": "Siteverify, browser check, gateway check, agents and drop-in routes. Each call has its own credential.",
    "account": "Users: sign-in, invitations, passwords, two-factor authentication and sessions.",
    "console": "One account: members, sites, credentials, rules, traffic, API tokens and audit trail.",
    "admin": "All accounts, for operators, on the admin listener. Calls that the console API has as well are not repeated.",
}
# Error code of each limit of an account.
LIMIT_CODES = {
    "sites": "409 `site_limit`",
    "credentials_per_site": "409 `credential_limit`",
    "members": "409 `member_limit`",
    "tokens": "409 `token_limit`",
    "origins_per_site": "400 `origin_limit`",
}
# Assets and the documents themselves.
LEFT_OUT = {"web", "readiness"}
_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])|_")

_PAGE = """<!-- {notice} -->

# HTTP APIs

How to authenticate, call the APIs and handle errors, and a list of all calls. Each listener describes its own APIs with all
fields, errors and samples in curl, Python and Node under `/openapi/`.

| API | Listener | Description | OpenAPI 3.1 |
| --- | --- | --- | --- |
| public | public, `127.0.0.1:8080` | `/openapi/public` | [public.json](openapi/public.json) |
| account | public | `/openapi/account` | [account.json](openapi/account.json) |
| console | public | `/openapi/console` | [console.json](openapi/console.json) |
| admin | admin, `127.0.0.1:8081` | `/openapi/admin` | [admin.json](openapi/admin.json) |

`agentgate openapi console` prints a document. A test rejects a change that would break clients of the last release.

## Authentication

| API | Credential | Changes also need |
| --- | --- | --- |
| admin | header `X-Admin-Key` with the operator key, or cookie `ag_admin` from `POST /v1/admin/login` | with the cookie: `X-CSRF-Token` |
| account, console | cookie `ag_account` from `POST /v1/account/login` | `X-CSRF-Token` |
| console | header `Authorization: Bearer agt_...` with an API token | nothing |

Sessions end after 12 hours, or after 2 hours without a call. `GET /v1/account/session` and `GET /v1/admin/session` return
`csrfToken`. If a request has a token and a cookie, AgentGate uses the token.

All operators share one key. The audit trail shows the name given at sign-in, or `operator`. A new key ends all operator
sessions. The correct key is accepted even while wrong keys from the same address get 429 `rate_limited`.

The examples on this page run in their order against `agentgate serve --demo`. They need `jq`.

```sh
PUBLIC=http://127.0.0.1:8080
ADMIN=http://127.0.0.1:8081
KEY="$(cat data/admin.key)"
JSON="Content-Type: application/json"
curl -H "X-Admin-Key: $KEY" "$ADMIN/v1/admin/session"
```

## Sites

Create a site with the admin API. Only `name` is required:

```sh
curl -H "X-Admin-Key: $KEY" -H "$JSON" -d '{{
  "name": "Example shop",
  "siteKey": "site_example_shop",
  "customerName": "Example Ltd",
  "allowedOrigins": ["https://www.example.com"],
  "actions": {{"checkout": {{"browserRequired": true, "clearance": true}}}},
  "routes": [{{"method": "POST", "pathPrefix": "/checkout", "action": "checkout"}}]
}}' "$ADMIN/v1/admin/sites"
curl -H "X-Admin-Key: $KEY" -H "$JSON" -X PATCH -d '{{"mode": "enforce"}}' "$ADMIN/v1/admin/sites/site_example_shop"
```

| Field | Default | Meaning |
| --- | --- | --- |
| `siteKey` | generated | public key of the site; cannot be changed |
| `customerId` | new customer | account of the site; `POST .../move` changes it |
| `allowedOrigins` | none | page origins, stored in lower case and without default ports |
| `actions` | `submit` with `browserRequired` | actions and their requirements |
| `routes` | none | method or `*`, `path` or `pathPrefix`, and action |
| `mode` | `monitor` | `monitor` records decisions, `enforce` applies them |
| `widgetMode` | `invisible` | `invisible`, `managed` or `interactive` |
| `formMethodOverride` | `true` | whether a POST may have another method in a field `_method`; `false` if your application ignores it |
| `clearanceWithoutScript` | `false` | whether browsers without JavaScript can pass by [waiting](challenge-page.md) |
| `wholeSite` | `false` | whether every path needs a clearance or verified identity |
| `openPaths`, `feeds` | none | [allowed paths](allow-webhooks.md) and declared feeds |
| `wantedPrograms` | none | program names or classes to allow, at most 50 |
| `tokenBinding` | `network` | who can redeem a token: `network`, `strict` or `none` |
| `privateTokenIssuers` | none | trusted [issuers](browser-check.md#private-access-tokens), at most 4 |

In `PATCH`, an omitted field keeps its value; a list or object replaces the old one. The console API has the same site calls
for one account; it generates the key and rejects `siteKey`, `customerId` and `customerName` with 400 `forbidden_field`.

## Credentials

Your servers authenticate with a site's credential. The secret appears only in the response that creates it. Rotation creates a
new credential and keeps the old one valid for `overlapSeconds` (default: 86,400; maximum: 604,800).

```sh
CREATED="$(curl -s -H "X-Admin-Key: $KEY" -H "$JSON" -d '{{"name": "Web servers"}}' \\
  "$ADMIN/v1/admin/sites/site_example_shop/credentials")"
ID="$(echo "$CREATED" | jq -r .credential.id)"
curl -H "X-Admin-Key: $KEY" -H "$JSON" -d '{{"overlapSeconds": 3600}}' \\
  "$ADMIN/v1/admin/sites/site_example_shop/credentials/$ID/rotate"
curl -H "X-Admin-Key: $KEY" -X POST "$ADMIN/v1/admin/sites/site_example_shop/credentials/$ID/revoke"
```

## Users and accounts

There is no open registration: an operator invites the owner of a new account, or approves a request made with
`POST /v1/account/request-access`. The admin API calls an account a customer. Invite links work once, for 7 days; password
reset links work once, for an hour. Set `PUBLIC_BASE_URL` first, because links start with it. Without a mail server, read links from
`GET /v1/admin/outbox`.

```sh
INVITED="$(curl -s -H "X-Admin-Key: $KEY" -H "$JSON" \\
  -d '{{"email": "ann@example.com", "name": "Ann", "customerName": "Example"}}' "$ADMIN/v1/admin/accounts")"
SECRET="$(echo "$INVITED" | jq -r .inviteUrl | cut -d'#' -f2)"
PASSWORD='brass lantern over quiet water'
jq -n --arg token "$SECRET" --arg password "$PASSWORD" '{{token: $token, password: $password}}' |
  curl -c cookies.txt -H "$JSON" -d @- "$PUBLIC/v1/account/invite/accept"
```

```json
{{"customerId":"acc_68a0415483aa642c","userId":"usr_af237b2ffa74594a","email":"ann@example.com",
 "inviteUrl":"http://127.0.0.1:8081/console/invite#PnupnG...","expiresAt":"2026-11-22T15:49:28.344Z"}}
```

If the user already has a password, the link sets none (409 `already_active`): the user signs in and accepts the invitation with
`POST /v1/account/invitations/{{id}}/accept`. Passwords have 12 to 128 characters and must not be common, numeric or contain the
email name.

To sign in, read the CSRF token and invite a colleague:

```sh
jq -n --arg password "$PASSWORD" '{{email: "ann@example.com", password: $password}}' |
  curl -s -c cookies.txt -H "$JSON" -d @- "$PUBLIC/v1/account/login"
CSRF="$(curl -s -b cookies.txt "$PUBLIC/v1/account/session" | jq -r .csrfToken)"
curl -b cookies.txt -H "X-CSRF-Token: $CSRF" -H "$JSON" -d '{{"email": "ben@example.com", "role": "member"}}' \\
  "$PUBLIC/v1/console/members"
```

- **Two-factor authentication:** `POST /v1/account/mfa/setup` returns a secret; `/mfa/enable` with a code returns ten recovery
  codes, once. Afterwards sign-in returns `{{"mfaRequired":true}}`; send the code to `/v1/account/login/mfa` within 5 minutes.
- **Failed sign-ins:** after 5 failures for one email address from your address, or 10 in total, within 15 minutes, the
  response is 429 `rate_limited` with `Retry-After`. During an attack, unknown devices must wait 60 seconds or send a browser
  check's token as `token`.
- **Several accounts:** a session works in one; `POST /v1/account/switch` changes it, the cookie and the CSRF token.

## Roles

| Permission | {roles} | API token |
| --- | {lines} | --- |
{permissions}

Only owners add, change or remove owners. An account keeps at least one owner (409 `last_owner`).

## API tokens

```sh
TOKEN="$(curl -s -b cookies.txt -H "X-CSRF-Token: $CSRF" -H "$JSON" \\
  -d '{{"name": "Reports", "scopes": ["sites:read", "audit:read"]}}' "$PUBLIC/v1/console/tokens" | jq -r .secret)"
curl -H "Authorization: Bearer $TOKEN" "$PUBLIC/v1/console/sites"
curl -b cookies.txt "$PUBLIC/v1/console/audit?action=member&limit=2"
```

A token belongs to the account, not to the user who created it. Default: it never expires; set `expiresAt` to limit it. It
works only under `/v1/console` (403 `token_not_allowed`). An unknown, revoked or expired token gets 401 `invalid_token`; a
missing scope gets 403 `forbidden`.

## Limits

| Limit per account | Default | Error |
| --- | ---: | --- |
{limits}

Operators can change them for each account. Lowering a limit does not delete anything.

## Lists, errors and compression

- Lists are newest first and take `limit`. If there are more entries, the response has `nextCursor`; send it as `cursor` with
  the same filter.
- Errors have a stable `error` and a `message` for people ([all codes](errors.md)):

```json
{{"error":"invalid_site","message":"name must have 1 to 100 visible characters on one line."}}
```

- AgentGate checks in this order: identity, CSRF token and origin, parameters and body, existence of the object, its state.
- Send bodies as `application/json`. Unknown, repeated or misspelled properties and query parameters are rejected.
- The admin listener accepts only the `Host` names in `AGENTGATE_ADMIN_HOSTS`.
- `X-Request-Id` of a response is also in the log line of the request.
- Responses of 1 KB or more to `GET` are compressed with gzip, except responses that contain a secret.

## All calls

{calls}
"""


def api_page(notice: str, documents: Mapping[str, Mapping[str, Any]]) -> str:
    """Return docs/http-apis.md."""
    in_console = {key.replace("/v1/console/", "/v1/admin/", 1) for key in _keys(documents["console"])}
    parts: list[str] = []
    for name, about in APIS.items():
        parts += [f"### {name.capitalize()} API", "", about, ""]
        by_tag: dict[str, list[str]] = defaultdict(list)
        for path, method, call in _calls(documents[name]):
            tag = call["tags"][0]
            if tag not in LEFT_OUT and not (name == "admin" and f"{method} {path}" in in_console):
                summary = call["summary"].replace("|", "\\|").rstrip(".")
                by_tag[tag].append(f"| `{method} {path}` | {summary} |")
        parts += ["| Call | Purpose |", "| --- | --- |", *(row for rows in by_tag.values() for row in rows), ""]
    roles = list(AccountRole)
    scopes = {each.value for each in ApiTokenScope}
    permissions = [
        f"| `{each.value}` | {' | '.join('yes' if each in PERMISSIONS[role] else '' for role in roles)}"
        f" | {'yes' if each.value in scopes else ''} |"
        for each in ConsolePermission
    ]
    limits = [f"| {_WORD.sub(' ', name)} | {getattr(Limits(), name)} | {code} |" for name, code in LIMIT_CODES.items()]
    return _PAGE.format(
        notice=notice,
        roles=" | ".join(each.value for each in roles),
        lines=" | ".join("---" for _ in roles),
        permissions="\n".join(permissions),
        limits="\n".join(limits),
        calls="\n".join(parts).rstrip(),
    )


def _calls(document: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for path, calls in document["paths"].items():
        for method, call in calls.items():
            if method != "parameters":
                yield path, method.upper(), call


def _keys(document: Mapping[str, Any]) -> set[str]:
    return {f"{method} {path}" for path, method, _ in _calls(document)}
