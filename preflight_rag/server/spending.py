"""What each user, and all of them together, may spend on the language model in a day.

A bucket of tokens that fills up again as the day goes by. It is kept in memory; a server that is started anew begins
with what the ledger says was spent in the day before. A call for which there is not enough is not made: the turn goes
on with what the documents say, which costs nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from preflight_rag.models.budget import Purse
from preflight_rag.server.access import LOCAL, Rates

DAY = 24 * 3600.0
SERVER = "server"


class Spending:
    """The buckets of one server.

    Args:
        user_tokens: Tokens a day for each user; 0 for no limit.
        server_tokens: Tokens a day for all users; 0 for no limit.
        before: Tokens of the day before, by the threads that they were spent on; asked once, at the first call.
        clock: Seconds that never go back; None for the machine's.
    """

    def __init__(
        self,
        user_tokens: int,
        server_tokens: int,
        before: Callable[[], Mapping[str, int]] = dict,
        clock: Callable[[], float] | None = None,
    ) -> None:
        given = {"clock": clock} if clock else {}
        self._users = Rates(user_tokens, seconds=DAY, **given)
        self._server = Rates(server_tokens, seconds=DAY, **given)
        self._before: Callable[[], Mapping[str, int]] | None = before
        self._lock = threading.Lock()

    def of(self, user: str) -> tuple[Purse, ...]:
        """Who pays for a user's calls."""
        limits = ((self._users, user, "your"), (self._server, SERVER, "this server's"))
        return tuple(_Bucket(self, rates, who, whose) for rates, who, whose in limits if rates.amount)

    def take(self, rates: Rates, who: str, tokens: int) -> float:
        """Take tokens; 0.0, or the seconds until there will be so many."""
        with self._lock:
            self._begin()
            return rates.take(who, tokens)

    def give(self, rates: Rates, who: str, tokens: int) -> None:
        """Give tokens back, or take them with a negative number: more than there are, as they have been spent."""
        with self._lock:
            rates.give(who, tokens)

    def _begin(self) -> None:
        """Count what was spent before the server was started."""
        if self._before is None:
            return
        for thread_id, tokens in self._before().items():
            owner, separator, _ = thread_id.partition("/")
            self._users.give(owner if separator else LOCAL, -tokens)
            self._server.give(SERVER, -tokens)
        self._before = None


@dataclass(frozen=True)
class _Bucket:
    """One bucket that pays for a call."""

    spending: Spending
    rates: Rates
    who: str
    whose: str

    def take(self, tokens: int) -> str:
        """Set tokens aside for a call; why there are none left, or ""."""
        wait = self.spending.take(self.rates, self.who, tokens)
        if not wait:
            return ""
        when = f"{wait / 3600:.0f} h" if wait > 5400 else f"{max(wait / 60, 1):.0f} min"
        return f"{self.whose} {self.rates.amount:,} tokens a day are used up; there will be enough again in {when}"

    def settle(self, taken: int, spent: int) -> None:
        """Count what the call has really spent."""
        self.spending.give(self.rates, self.who, taken - spent)
