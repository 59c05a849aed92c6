"""Challenges in SQL. Each step is one statement, so that two at the same time cannot both take it."""

from msgspec import Struct

from agentgate.lib.database import RecordTable, Repository
from agentgate.lib.enums import WidgetMode


class Binding(Struct, frozen=True, kw_only=True):
    """The page and visitor that a challenge is bound to. No other caller can use it, nor use it up."""

    # The site's number.
    site: int
    action: str
    origin: str
    # The visitor's 16 hex digits.
    visitor: str


class StoredChallenge(Binding, frozen=True, kw_only=True):
    id: str
    # Random; the salts of the work and the program come from it.
    seed: bytes
    # The index of its level in `work.LEVELS`.
    level: int
    widget: WidgetMode
    c_data: str | None
    issued_ms: int
    expires_ms: int
    # How many verifications were begun.
    attempts: int = 0
    # When the current step-up was first required; None before that.
    stepped_ms: int | None = None
    # How many responses to step-ups were wrong.
    answers: int = 0
    # It has produced a token.
    used: bool = False

    @property
    def binding(self) -> Binding:
        """Its page and visitor."""
        return Binding(site=self.site, action=self.action, origin=self.origin, visitor=self.visitor)


_CHALLENGES = RecordTable("challenge", StoredChallenge)


class ChallengeStore(Repository):
    """Challenges. Each method is one statement, so that nothing can come between its parts."""

    async def add_challenge(self, challenge: StoredChallenge) -> None:
        await _CHALLENGES.add(self._session, challenge)

    async def find_challenge(self, challenge_id: str) -> StoredChallenge | None:
        """Return a challenge in any state; None if there is none or it was deleted."""
        return await _CHALLENGES.find(self._session, "id = $1", challenge_id)

    async def take_attempt(
        self, challenge_id: str, binding: Binding, *, most: int, now_ms: int
    ) -> StoredChallenge | None:
        """Use up one attempt and return the changed challenge; None, and no change, if no attempt is left."""
        row = await self._session.one(
            f"""UPDATE challenge SET attempts = attempts + 1
                WHERE id = $1 AND site = $2 AND action = $3 AND origin = $4 AND visitor = $5
                    AND used = 0 AND attempts < $6 AND expires_ms > $7
                RETURNING {_CHALLENGES.columns}""",  # noqa: S608 - a constant
            challenge_id,
            binding.site,
            binding.action,
            binding.origin,
            binding.visitor,
            most,
            now_ms,
        )
        return _CHALLENGES.read(row) if row else None

    async def note_step_up(self, challenge_id: str, now_ms: int) -> None:
        """Store when the interactive challenge was first required."""
        await _CHALLENGES.change(self._session, "id = $1 AND stepped_ms IS NULL", challenge_id, stepped_ms=now_ms)

    async def note_wrong_answer(self, challenge_id: str, now_ms: int) -> None:
        """Count a wrong response: the next step-up is another one, and its waiting time begins now."""
        await self._session.run(
            "UPDATE challenge SET answers = answers + 1, stepped_ms = $2 WHERE id = $1", challenge_id, now_ms
        )

    async def use_challenge(self, challenge_id: str) -> bool:
        """Mark a challenge as used; False if it already was. Of concurrent calls, one wins."""
        return await self._session.run("UPDATE challenge SET used = 1 WHERE id = $1 AND used = 0", challenge_id) == 1

    async def delete_challenges(self, before_ms: int, *, most: int) -> int:
        """Delete some rows that expired before a moment, the oldest first; return how many."""
        return await _CHALLENGES.delete_some(self._session, "expires_ms < $1 ORDER BY expires_ms", before_ms, most=most)
