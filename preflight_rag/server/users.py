"""Who asks: the local user, or the name of a key, shown as a bearer token or by the page's session cookie."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie

from preflight_rag.server.errors import Refused
from preflight_rag.server.keys import LOCAL, Key, KeyRing
from preflight_rag.state.errors import UsageError

COOKIE = "preflight_session"
MOST_SESSIONS = 10_000


@dataclass(frozen=True)
class User:
    """Somebody who may ask. `prefix` stands before the ids of the user's threads in the ledger."""

    name: str
    prefix: str
    write: bool
    by_cookie: bool = False

    def thread(self, thread_id: str) -> str:
        """The id that one of the user's threads has in the ledger."""
        if self.prefix and len(thread_id) > 200 - len(self.prefix):
            raise UsageError(f"A thread id of {len(thread_id)} characters is too long", help="Use a shorter one.")
        return self.prefix + thread_id

    def shown(self, thread_id: str) -> str:
        """The id of a thread as the user knows it."""
        return thread_id.removeprefix(self.prefix)


LOCAL_USER = User(LOCAL, "", write=True)


class Sessions:
    """Sessions of the page, in memory: a restart of the server ends them. Tokens are kept as hashes."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._open: dict[str, tuple[str, float]] = {}

    def begin(self, key: Key) -> str:
        """A new session's token."""
        self._forget_old()
        token = secrets.token_urlsafe(32)
        self._open[_digest(token)] = (key.id, time.monotonic() + self.seconds)
        return token

    def key_id(self, token: str) -> str | None:
        """The id of the key that a session was opened with, or None."""
        id, until = self._open.get(_digest(token), ("", 0.0))
        return id if until > time.monotonic() else None

    def end(self, token: str) -> None:
        """End a session."""
        self._open.pop(_digest(token), None)

    def _forget_old(self) -> None:
        now = time.monotonic()
        self._open = {name: held for name, held in self._open.items() if held[1] > now}
        while len(self._open) >= MOST_SESSIONS:
            self._open.pop(next(iter(self._open)))


def user_of(headers: Mapping[str, str], keys: KeyRing, sessions: Sessions, *, required: bool) -> User:
    """Who sends a request.

    Raises:
        Refused: A key is needed and none, or a wrong one, is shown.
    """
    if not required:
        return LOCAL_USER
    scheme, _, shown = headers.get("authorization", "").partition(" ")
    if shown and scheme.lower() == "bearer":
        key = keys.find(shown.strip())
        if key is None:
            raise Refused(401, "this key is not known", help="`preflight keys add NAME` makes one.")
        return _user(key)
    token = session_token(headers)
    key_id = sessions.key_id(token) if token else None
    key = keys.by_id(key_id) if key_id else None
    if key is None:
        raise Refused(401, "a key is needed", help="Send it as `Authorization: Bearer KEY`.", code="key_needed")
    return _user(key, by_cookie=True)


def session_token(headers: Mapping[str, str]) -> str:
    """The session's token in a request's cookies, or ""."""
    try:
        held = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return held.value if held else ""


def _user(key: Key, *, by_cookie: bool = False) -> User:
    return User(key.name, f"{key.name}/", write=key.write, by_cookie=by_cookie)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
