"""Limits of a server, and access to it."""

from __future__ import annotations

from dataclasses import dataclass

MEGABYTE = 1024 * 1024


@dataclass(frozen=True)
class ServerOptions:
    """Limits of a server, and access to it; the numbers are guesses for one machine and its users.

    Attributes:
        require_keys: Every request needs a key, even while there is none. Without it a key is needed as soon as the
            library has one.
        cors: Origins whose pages may call the API with a key.
        offered: Models besides the server's own that users may choose for a turn.
        wanted: The server's model, if the application had to be opened without it.
        problem: Why it had to be.
        body_bytes: Longest JSON body.
        upload_bytes: Longest upload, all its files together.
        kept_bytes: Most bytes of all stored uploads together.
        body_seconds: Timeout of the next piece of a body.
        rate: Requests a minute for each user, or each address without a user; 0 for no limit.
        user_tokens: Tokens a day that each user may spend on the language model; 0 for no limit.
        server_tokens: Tokens a day that all users together may spend; 0 for no limit.
        turns: Turns at once; four times as many may wait. A user with a key takes at most half of all places.
        turn_seconds: Timeout of one turn.
        heartbeat_seconds: A silent stream is kept open with a comment this often.
        session_seconds: How long the page stays signed in.
        libraries: Names of all libraries behind the address, including this one; none if it is the only one.
        fetch_from: Web addresses below which documents may be added by URL, such as "https://example.org/"; none: off.
        fetch_private: Whether these may be in a private network.
        entered: Whether a model that was connected on the page is used again, if there is no other.
    """

    require_keys: bool = False
    cors: tuple[str, ...] = ()
    offered: tuple[str, ...] = ()
    wanted: str | None = None
    problem: str | None = None
    body_bytes: int = MEGABYTE
    upload_bytes: int = 200 * MEGABYTE
    kept_bytes: int = 20_000 * MEGABYTE
    body_seconds: float = 30.0
    rate: int = 600
    user_tokens: int = 0
    server_tokens: int = 0
    turns: int = 32
    turn_seconds: float = 900.0
    heartbeat_seconds: float = 15.0
    session_seconds: float = 12 * 3600.0
    libraries: tuple[str, ...] = ()
    fetch_from: tuple[str, ...] = ()
    fetch_private: bool = False
    entered: bool = True
