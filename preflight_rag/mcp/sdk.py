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
    """Return a server of the SDK's low level.

    Args:
        handlers: By the names of `REQUESTS`.
        name: What clients call the server.
        title: What they show to people, where the SDK passes it on.
        version: Of the server.
        instructions: For the model that uses it.
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
    """Return a handler for the second line, which passes the context."""

    async def answer(context: Any, params: Any) -> Any:
        async def report(count: int, note: str) -> None:
            await context.session.report_progress(count, None, note)

        return _result(request, await handle(CallContext(_user(context), report), _wire(params)))

    return answer


def _first(server: Any, request: str, handle: Handler) -> Callable[[Any], Awaitable[Any]]:
    """Return a handler for the first line, whose server knows the context of the call in hand."""

    async def answer(asked: Any) -> Any:
        context = server.request_context

        async def report(count: int, note: str) -> None:
            token = context.meta.progressToken if context.meta else None
            if token is not None:
                # Over HTTP a notification reaches the client on the stream of the request that it is about.
                related = str(context.request_id)
                await context.session.send_progress_notification(token, count, None, note, related_request_id=related)

        result = _result(request, await handle(CallContext(_user(context), report), _wire(asked.params)))
        return types.ServerResult(result)  # type: ignore[operator]

    return answer


def _wire(params: Any) -> dict[str, Any]:
    """Parameters as they came; what was left out is None."""
    values: dict[str, Any] = params.model_dump(mode="json", by_alias=True) if params else {}
    return values


def _result(request: str, values: dict[str, Any]) -> Any:
    return getattr(types, f"{REQUESTS[request]}Result").model_validate(values)


def _user(context: Any) -> str | None:
    user = getattr(context.request, "scope", {}).get("user")
    return user.username if user is not None and user.is_authenticated else None
