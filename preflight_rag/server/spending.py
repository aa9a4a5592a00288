"""Limits on the tokens that each user, and all users together, may spend on the language model in a day.

A limit is a bucket of tokens that refills continuously and is shared by all servers. A call for which there are not
enough is not made: the turn continues with the documents' own words, which cost nothing.
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
    """The token buckets that limit what users spend.

    Args:
        user_tokens: Tokens a day for each user; 0 for no limit.
        server_tokens: Tokens a day for all users; 0 for no limit.
        shared: Where the buckets are.
    """

    def __init__(self, user_tokens: int, server_tokens: int, shared: SharedState) -> None:
        self._user, self._server = BucketLimit(user_tokens, DAY), BucketLimit(server_tokens, DAY)
        self._shared = shared

    def of(self, user: str) -> tuple[SharedBudget, ...]:
        """Return the limited buckets from which a user's calls are paid."""
        buckets = (
            Bucket(self._shared, f"tokens of {user}", self._user, "your"),
            Bucket(self._shared, "tokens", self._server, "this server's"),
        )
        return tuple(bucket for bucket in buckets if bucket.limit.amount)


@dataclass(frozen=True)
class Bucket:
    """A token bucket from which the tokens of a call are taken."""

    shared: SharedState
    name: str
    limit: BucketLimit
    whose: str

    async def take(self, tokens: int) -> str:
        """Set tokens aside for a call; return why there are too few, or ""."""
        wait = await self.shared.take(self.name, tokens, self.limit)
        if not wait:
            return ""
        when = f"{wait / 3600:.0f} h" if wait > 5400 else f"{max(wait / 60, 1):.0f} min"
        return f"{self.whose} {self.limit.amount:,} tokens a day are used up; there will be enough again in {when}"

    async def settle(self, taken: int, spent: int) -> None:
        """Replace the tokens set aside for a call by those that it has used."""
        try:
            await self.shared.give(self.name, taken - spent, self.limit)
        except PreflightError as error:  # the reply is there all the same, and the tokens set aside for it stay counted
            log.warning("what a call has spent is counted by its prompt alone: %s", error)
