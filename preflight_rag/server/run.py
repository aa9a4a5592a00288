"""Running the server: the address is taken first, and Ctrl-C ends every turn so that it can be resumed."""

from __future__ import annotations

import errno
import logging
import socket
import sys
from collections.abc import Callable

import uvicorn

from preflight_rag.app import Preflight
from preflight_rag.server.app import create_app
from preflight_rag.server.gate import LOOPBACK
from preflight_rag.server.keys import KeyRing
from preflight_rag.server.options import ServerOptions
from preflight_rag.state.errors import UsageError

GRACE_SECONDS = 4
CONNECTIONS = 1000


def is_local(host: str) -> bool:
    """Whether only this machine can reach an address."""
    return host in LOOPBACK


def check_bind(host: str, keys: KeyRing) -> None:
    """Refuse to let a network in without a key.

    Raises:
        UsageError: The address is not this machine's own, and there is no key.
    """
    if not is_local(host) and not keys.any():
        raise UsageError(
            f"--host {host} lets others in, and the library has no key",
            help="Make one with `preflight keys add NAME --library DIR`, or leave out --host.",
        )


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens at the address.

    Raises:
        UsageError: The address cannot be used.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = found[0]
    except (OSError, UnicodeError, OverflowError) as error:
        raise UsageError(f"--host {host} --port {port} is no address: {error}", help="Use --host 127.0.0.1.") from None
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        if sys.platform != "win32":
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(2048)
    except OSError as error:
        made.close()
        if error.errno == errno.EADDRINUSE:
            raise UsageError(f"port {port} of {host} is in use", help="Choose another one with --port.") from None
        raise UsageError(f"{host}:{port} cannot be used: {error.strerror}", help="Choose another one.") from None
    return made


def serve(
    preflight: Preflight,
    *,
    host: str = "127.0.0.1",
    port: int = 8765,
    options: ServerOptions | None = None,
    access_log: bool = True,
    started: Callable[[str], None] = lambda _url: None,
) -> None:
    """Serve a library until Ctrl-C.

    Args:
        preflight: The application.
        host: An address of this machine; any other than its own needs a key.
        port: 0 for a free one.
        options: Limits, and who is let in.
        access_log: Whether each request is a line on standard error.
        started: Called with the address once it is open.

    Raises:
        UsageError: The address cannot be used, or there is no key for it.
    """
    keys = KeyRing(preflight.folder)
    try:
        check_bind(host, keys)
    finally:
        keys.close()
    with bind(host, port) as listening:
        config = uvicorn.Config(
            create_app(preflight, options),
            log_config=None,
            access_log=False,
            server_header=False,
            limit_concurrency=CONNECTIONS,
            timeout_graceful_shutdown=GRACE_SECONDS,
            ws="none",
        )
        _log(access_log)
        started(_url(host, listening))
        _Server(config).run(sockets=[listening])


class _Server(uvicorn.Server):
    """Stops running turns before it waits for their connections."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the turns, then the connections."""
        application = self.config.app
        application.state.service.running.stop_all()  # type: ignore[union-attr]
        await super().shutdown(sockets)


def _url(host: str, listening: socket.socket) -> str:
    port = listening.getsockname()[1]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _log(access: bool) -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%H:%M:%S"))
    for name, level in (("preflight.access", logging.INFO), ("preflight.server", logging.INFO), ("uvicorn", "WARNING")):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level if access or name != "preflight.access" else logging.CRITICAL)
