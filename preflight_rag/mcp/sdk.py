"""The MCP SDK behind one face: handlers take and give what goes over the wire, as plain values.

Of the SDK there are two lines, and both are in use: langchain-mcp-adapters and Chainlit need the first, newer servers
and clients bring the second. They name fields, register handlers and report progress differently; only this file knows.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Any

from mcp import types
from mcp.server import Server

try:
    from mcp.shared.exceptions import MCPError
except ImportError:  # the first line
    from mcp.shared.exceptions import McpError as MCPError  # type: ignore[attr-defined, no-redef]

REQUESTS = {
    "list_tools": "ListTools",
    "call_tool": "CallTool",
    "list_resources": "ListResources",
    "list_resource_templates": "ListResourceTemplates",
    "read_resource": "ReadResource",
}
"""The requests that are answered here, as the SDK's types for them begin."""
INVALID_PARAMS, INTERNAL_ERROR = types.INVALID_PARAMS, types.INTERNAL_ERROR


@dataclass(frozen=True)
class CallContext:
    """A call's context for its handler, besides the parameters.

    Attributes:
        user: The user of the key, or None.
        report_progress: Sends a growing number and a sentence to a client that requested progress.
    """

    user: str | None
    report_progress: Callable[[int, str], Awaitable[None]]


Handler = Callable[[CallContext, dict[str, Any]], Awaitable[dict[str, Any]]]
"""Takes a request's parameters and returns its result, both as the protocol names their fields."""


def make_server(handlers: Mapping[str, Handler], *, name: str, title: str, version: str, instructions: str) -> Any:
    """Return a low-level server of the SDK.

    Args:
        handlers: The handlers, by the names of `REQUESTS`.
        name: The server's name for clients.
        title: The server's name for people, if the SDK passes it on.
        version: The server's version.
        instructions: Text for the client's model.
    """
    if "on_list_tools" in signature(Server).parameters:
        registered: dict[str, Any] = {f"on_{request}": _second(request, handle) for request, handle in handlers.items()}
        return Server(name, title=title, version=version, instructions=instructions, **registered)
    server: Any = Server(name, version=version, instructions=instructions)
    for request, handle in handlers.items():
        kind = getattr(types, f"{REQUESTS[request]}Request")
        server.request_handlers[kind] = _first(server, request, handle)
    return server


def protocol_error(code: int, message: str, data: Any = None) -> Exception:
    """Return the SDK's exception that becomes an error reply."""
    if "code" in signature(MCPError).parameters:
        return MCPError(code, message, data)
    return MCPError(types.ErrorData(code=code, message=message, data=data))  # type: ignore[call-arg, arg-type]


def _second(request: str, handle: Handler) -> Callable[[Any, Any], Awaitable[Any]]:
    """Return a handler for version 2 of the SDK, which passes the context to it."""

    async def answer(context: Any, params: Any) -> Any:
        """Handle a request."""

        async def report(count: int, note: str) -> None:
            """Send the progress to the client."""
            await context.session.report_progress(count, None, note)

        return _result(request, await handle(CallContext(_user(context), report), _wire(params)))

    return answer


def _first(server: Any, request: str, handle: Handler) -> Callable[[Any], Awaitable[Any]]:
    """Return a handler for version 1 of the SDK, whose server object holds the current call's context."""

    async def answer(asked: Any) -> Any:
        """Handle a request."""
        context = server.request_context

        async def report(count: int, note: str) -> None:
            """Send the progress to the client."""
            token = context.meta.progressToken if context.meta else None
            if token is not None:
                # Over HTTP a notification reaches the client on the stream of the request that it is about.
                related = str(context.request_id)
                await context.session.send_progress_notification(token, count, None, note, related_request_id=related)

        result = _result(request, await handle(CallContext(_user(context), report), _wire(asked.params)))
        return types.ServerResult(result)  # type: ignore[operator]

    return answer


def _wire(params: Any) -> dict[str, Any]:
    """Return the parameters as received, with None for omitted ones."""
    values: dict[str, Any] = params.model_dump(mode="json", by_alias=True) if params else {}
    return values


def _result(request: str, values: dict[str, Any]) -> Any:
    """Return values as a result of the SDK."""
    return getattr(types, f"{REQUESTS[request]}Result").model_validate(values)


def _user(context: Any) -> str | None:
    """Return the name of the authenticated user; None without one."""
    user = getattr(context.request, "scope", {}).get("user")
    return user.username if user is not None and user.is_authenticated else None
