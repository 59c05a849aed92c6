"""API tokens in SQL."""

import json

from agentgate.lib.database import Repository, Row
from agentgate.lib.enums import ApiTokenScope
from agentgate.lib.moment import Moment
from agentgate.lib.records import optional_moment, to_json
from agentgate.people.accounts.records import ApiToken

_COLUMNS = "id, name, scopes, created_ms, created_by, expires_ms, revoked_ms, last_used_ms"


class ApiTokenStore(Repository):
    """API tokens; secrets are here as digests only."""

    async def add_token(self, account_id: str, token: ApiToken, secret_digest: bytes) -> None:
        """Keep a new token."""
        await self._session.run(
            """INSERT INTO api_token (id, account_id, name, scopes, secret_digest, created_ms, created_by, expires_ms)
                VALUES ($1, $2, $3, $4, $5, $6, $7, $8)""",
            token.id,
            account_id,
            token.name,
            to_json(token.scopes).decode(),
            secret_digest,
            token.created_at,
            token.created_by,
            token.expires_at or None,
        )

    async def find_token(self, account_id: str, token_id: str) -> ApiToken | None:
        """Return an account's token; None when the account has none of this ID, whoever else may."""
        row = await self._session.one(
            f"SELECT {_COLUMNS} FROM api_token WHERE account_id = $1 AND id = $2",  # noqa: S608
            account_id,
            token_id,
        )
        return _token(row) if row else None

    async def find_token_by_secret(self, secret_digest: bytes) -> tuple[str, ApiToken] | None:
        """Return the account and the token of a secret, revoked and expired ones included; None when there is none."""
        row = await self._session.one(
            f"SELECT account_id, {_COLUMNS} FROM api_token WHERE secret_digest = $1",  # noqa: S608
            secret_digest,
        )
        return (row[0], _token(row[1:])) if row else None

    async def list_tokens(self, account_id: str) -> list[ApiToken]:
        """Return an account's tokens, newest first."""
        rows = await self._session.all(
            f"SELECT {_COLUMNS} FROM api_token WHERE account_id = $1 ORDER BY created_ms DESC, id",  # noqa: S608
            account_id,
        )
        return [_token(row) for row in rows]

    async def revoke_token(self, account_id: str, token_id: str, now_ms: int) -> bool:
        """Revoke a token; False when it was revoked already."""
        revoked = await self._session.run(
            "UPDATE api_token SET revoked_ms = $3 WHERE account_id = $1 AND id = $2 AND revoked_ms IS NULL",
            account_id,
            token_id,
            now_ms,
        )
        return revoked == 1

    async def note_use(self, token_id: str, now_ms: int) -> None:
        """Note that a token was used."""
        await self._session.run(
            "UPDATE api_token SET last_used_ms = $2 WHERE id = $1 AND (last_used_ms IS NULL OR last_used_ms < $2)",
            token_id,
            now_ms,
        )


def _token(row: Row) -> ApiToken:
    token_id, name, scopes, created_ms, created_by, expires_ms, revoked_ms, last_used_ms = row
    return ApiToken(
        id=token_id,
        name=name,
        scopes=[ApiTokenScope(scope) for scope in json.loads(scopes)],
        created_at=Moment(created_ms),
        created_by=created_by,
        expires_at=optional_moment(expires_ms),
        revoked_at=optional_moment(revoked_ms),
        last_used_at=optional_moment(last_used_ms),
    )
