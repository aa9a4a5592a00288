"""What a server is told at its start: whom it lets in, and its limits."""

from __future__ import annotations

from dataclasses import dataclass

MEGABYTE = 1024 * 1024


@dataclass(frozen=True)
class ServerOptions:
    """Limits and doors of a server.

    Attributes:
        require_keys: Every request needs a key, also while there is none. Without it a key is needed as soon as the
            library has one.
        cors: Origins whose pages may call the API with a key.
        offered: Models besides the server's own that people may choose for a turn.
        body_bytes: Longest JSON body.
        upload_bytes: Longest upload, all its files together.
        body_seconds: How long the next piece of a body may take.
        rate: Requests a minute for each user, or each address where nobody is known; 0 for no limit.
        turns: Turns at once; so many again, times four, may wait.
        turn_seconds: How long one turn may take in all.
        heartbeat_seconds: A silent stream is kept open with a comment this often.
        session_seconds: How long the page stays signed in.
    """

    require_keys: bool = False
    cors: tuple[str, ...] = ()
    offered: tuple[str, ...] = ()
    body_bytes: int = MEGABYTE
    upload_bytes: int = 200 * MEGABYTE
    body_seconds: float = 30.0
    rate: int = 600
    turns: int = 32
    turn_seconds: float = 900.0
    heartbeat_seconds: float = 15.0
    session_seconds: float = 12 * 3600.0
