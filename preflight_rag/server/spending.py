"""What each user, and all of them together, may spend on the language model in a day.

A bucket of tokens that fills up again as the day goes by, which all servers share. A call for which there is not enough
is not made: the turn goes on with what the documents say, which costs nothing.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from preflight_rag.models.budget import SharedBudget
from preflight_rag.server.shared import BucketLimit, SharedState
from preflight_rag.state.errors import PreflightError

log = logging.getLogger("preflight.server")
DAY = 24 * 3600.0


class TokenBuckets:
    """The buckets of tokens.

    Args:
        user_tokens: Tokens a day for each user; 0 for no limit.
        server_tokens: Tokens a day for all users; 0 for no limit.
        shared: Where the buckets are.
    """

    def __init__(self, user_tokens: int, server_tokens: int, shared: SharedState) -> None:
        self._user, self._server = BucketLimit(user_tokens, DAY), BucketLimit(server_tokens, DAY)
        self._shared = shared

    def of(self, user: str) -> tuple[SharedBudget, ...]:
        """Return the budget for a user's calls."""
        buckets = (
            Bucket(self._shared, f"tokens of {user}", self._user, "your"),
            Bucket(self._shared, "tokens", self._server, "this server's"),
        )
        return tuple(bucket for bucket in buckets if bucket.limit.amount)


@dataclass(frozen=True)
class Bucket:
    """One bucket that pays for a call."""

    shared: SharedState
    name: str
    limit: BucketLimit
    whose: str

    async def take(self, tokens: int) -> str:
        """Set tokens aside for a call; why there are none left, or ""."""
        wait = await self.shared.take(self.name, tokens, self.limit)
        if not wait:
            return ""
        when = f"{wait / 3600:.0f} h" if wait > 5400 else f"{max(wait / 60, 1):.0f} min"
        return f"{self.whose} {self.limit.amount:,} tokens a day are used up; there will be enough again in {when}"

    async def settle(self, taken: int, spent: int) -> None:
        """Count what the call has really spent."""
        try:
            await self.shared.give(self.name, taken - spent, self.limit)
        except PreflightError as error:  # the reply is there all the same, and what was set aside for it is counted
            log.warning("what a call has spent is counted by its prompt alone: %s", error)
